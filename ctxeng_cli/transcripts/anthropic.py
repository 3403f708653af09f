"""Requests of Anthropic's Messages: `system`, `messages` of content blocks, `tools` with an `input_schema`.

A user message that holds tool results becomes one tool message for each, in order, and a user message for what else it
holds: results are no turn of a person's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.messages import Block, Image, Message, Text, Thinking, ToolCall
from ctxeng_cli.core.request import ToolDefinition
from ctxeng_cli.transcripts.recording import Recording, recorded

_KINDS = {"tool_use", "tool_result", "thinking", "redacted_thinking"}


def is_request(body: Mapping[str, Any]) -> bool:
    """Whether a body with `messages` is one of Anthropic's: a `system` beside them, blocks or cache marks that OpenAI has not,
    or one of its models."""
    contents = [m.get("content") for m in body.get("messages") or () if isinstance(m, Mapping)]
    blocks = [block for content in contents if isinstance(content, list) for block in content if isinstance(block, Mapping)]
    named = str(body.get("model") or "").startswith("claude")
    return named or "system" in body or any(block.get("type") in _KINDS or "cache_control" in block for block in blocks)


def recording(body: Mapping[str, Any]) -> Recording:
    """A request as a recording. Raises InputError with the place of what is no message."""
    found = [message for number, item in enumerate(body["messages"], 1) for message in messages(item, number)]
    system = _system(body.get("system"))
    said = [*([system] if system else []), *found]
    tools = tuple(_tool(item, number) for number, item in enumerate(_listed(body.get("tools") or (), "tools"), 1))
    return recorded(
        "anthropic",
        said,
        request="max_tokens" in body,
        tools=tools,
        model=str(body.get("model") or ""),
        provider="anthropic",
        parameters={key: body[key] for key in ("thinking",) if key in body},
    )


def _system(value: Any) -> Message | None:
    if value is None or value == "" or value == []:
        return None
    extra: dict[str, Any] = {}
    return Message("system", tuple(_blocks(value, "system", extra)), extra=extra)


def messages(body: Any, number: int) -> Iterator[Message]:
    """The messages that one of Anthropic's holds: results apart from what else a user said. Raises InputError."""
    where = f"message {number}"
    if not isinstance(body, Mapping) or body.get("role") not in ("user", "assistant", "system"):
        raise InputError(f"{where} has no role of user or assistant")
    extra = {key: value for key, value in body.items() if key not in ("role", "content")}
    content = body.get("content")
    rest: Any
    if body["role"] == "system":
        yield Message("system", tuple(_blocks(content, where, extra)), extra=extra)
    elif body["role"] == "assistant":
        calls = [block for block in content if _is(block, "tool_use")] if isinstance(content, list) else []
        rest = [block for block in content if not _is(block, "tool_use")] if isinstance(content, list) else content
        for number, block in enumerate(calls):
            if block.get("cache_control"):
                extra.setdefault("cache_control", {})[str(len(rest) + number)] = block["cache_control"]
        made = tuple(_call(block, where) for block in calls)
        yield Message("assistant", tuple(_blocks(rest, where, extra)), tool_calls=made, extra=extra)
    else:
        results = [block for block in content if _is(block, "tool_result")] if isinstance(content, list) else []
        rest = [block for block in content if not _is(block, "tool_result")] if isinstance(content, list) else content
        for block in results:
            yield _result(block, where)
        if rest or not results:
            if results and isinstance(content, list) and not _is(content[0], "tool_result"):
                extra["before_results"] = True
            yield Message("user", tuple(_blocks(rest, where, extra)), extra=extra)


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, Mapping) and block.get("type") == kind


def _call(block: Mapping[str, Any], where: str) -> ToolCall:
    if not isinstance(block.get("name"), str):
        raise InputError(f"{where} has a tool_use without a name")
    return ToolCall(str(block.get("id") or ""), block["name"], json.dumps(block.get("input", {}), ensure_ascii=False))


def _result(block: Mapping[str, Any], where: str) -> Message:
    extra: dict[str, Any] = {"cache_control": {"0": block["cache_control"]}} if block.get("cache_control") else {}
    content = tuple(_blocks(block.get("content"), where, extra))
    id = str(block.get("tool_use_id") or "")
    return Message("tool", content, tool_call_id=id, is_error=bool(block.get("is_error", False)), extra=extra)


def _blocks(content: Any, where: str, extra: dict[str, Any]) -> Iterator[Block]:
    """Content as blocks of ours; what is not understood goes to `extra`."""
    if content is None:
        return
    if isinstance(content, str):
        if content:
            yield Text(content)
        return
    for number, block in enumerate(_listed(content, f"{where}: content")):
        if isinstance(block, Mapping) and block.get("cache_control"):
            extra.setdefault("cache_control", {})[str(number)] = block["cache_control"]
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "text" and isinstance(block.get("text"), str):
            yield Text(block["text"])
        elif kind == "thinking" and isinstance(block.get("thinking"), str):
            signature = block.get("signature")
            yield Thinking(block["thinking"], signature if isinstance(signature, str) else None)
        elif kind == "image" and isinstance(source := block.get("source"), Mapping):
            data = f"data:{source.get('media_type')};base64,{source.get('data')}" if source.get("type") == "base64" else ""
            yield Image(str(source.get("url") or data))
        else:
            extra.setdefault("content", []).append(block)


def _tool(body: Any, number: int) -> ToolDefinition:
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
        raise InputError(f"tool {number} has no name")
    schema = body.get("input_schema")
    parameters = dict(schema) if isinstance(schema, Mapping) else {"type": "object", "properties": {}}
    extra = {"cache_control": body["cache_control"]} if body.get("cache_control") else {}
    return ToolDefinition(body["name"], str(body.get("description") or ""), parameters, extra)


def _listed(value: Any, what: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise InputError(f"{what} is no list")
    return value
