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
from ctxeng_cli.transcripts.recording import Recording, cache_mark, foreign, recorded

_KINDS = {"tool_use", "tool_result", "thinking", "redacted_thinking"}
_OPENAIS = {"tool", "function", "developer"}


def is_request(body: Mapping[str, Any]) -> bool:
    """Whether a body with `messages` is one of Anthropic's: a `system` beside them, blocks or cache marks that OpenAI has not,
    or one of its models, with nothing in them that only OpenAI has: others carry marks and models of Anthropic's in that
    shape."""
    if "system" in body:
        return True
    said = [message for message in body.get("messages") or () if isinstance(message, Mapping)]
    roles = [str(message.get("role")) for message in said]
    if any(message.get("tool_calls") for message in said) or _OPENAIS.intersection(roles) or roles[:1] == ["system"]:
        return False
    contents = [message.get("content") for message in said]
    blocks = [block for content in contents if isinstance(content, list) for block in content if isinstance(block, Mapping)]
    named = str(body.get("model") or "").startswith("claude")
    return named or any(str(block.get("type")) in _KINDS or "cache_control" in block for block in blocks)


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
        parameters={key: body[key] for key in ("max_tokens", "thinking") if key in body},
    )


def _system(value: Any) -> Message | None:
    if value is None or value == "" or value == []:
        return None
    extra = _kept(value if isinstance(value, list) else [])
    return Message("system", tuple(_blocks(value, "system", extra)), extra=extra)


def messages(body: Any, number: int) -> Iterator[Message]:
    """The messages that one of Anthropic's holds: results apart from what else a user said. Raises InputError."""
    where = f"message {number}"
    if not isinstance(body, Mapping) or body.get("role") not in ("user", "assistant", "system"):
        raise InputError(f"{where} has no role of user or assistant")
    extra = foreign(body, {"role", "content"})
    content = body.get("content")
    blocks = content if isinstance(content, list) else []
    if body["role"] == "assistant":
        calls = tuple(_call(block, where) for block in blocks if _is(block, "tool_use"))
        extra |= _kept(blocks)
        rest: Any = [block for block in blocks if not _is(block, "tool_use")] if blocks else content
        yield Message("assistant", tuple(_blocks(rest, where, extra)), tool_calls=calls, extra=extra)
        return
    results = [at for at, block in enumerate(blocks) if _is(block, "tool_result")] if body["role"] == "user" else []
    yield from (_result(blocks[at], where) for at in results)
    if not results:
        extra |= _kept(blocks)
        yield Message(body["role"], tuple(_blocks(content, where, extra)), extra=extra)
    elif rest := [block for at, block in enumerate(blocks) if at not in results]:
        behind = sum(at > blocks.index(rest[0]) for at in results)
        extra |= {**_kept(rest), **({"before_results": behind} if behind else {})}
        yield Message("user", tuple(_blocks(rest, where, extra)), extra=extra)


def _is(block: Any, kind: str) -> bool:
    return isinstance(block, Mapping) and block.get("type") == kind


def _call(block: Mapping[str, Any], where: str) -> ToolCall:
    if not isinstance(block.get("name"), str):
        raise InputError(f"{where} has a tool_use without a name")
    return ToolCall(str(block.get("id") or ""), block["name"], json.dumps(block.get("input", {}), ensure_ascii=False))


def _result(block: Mapping[str, Any], where: str) -> Message:
    extra = _kept([block])
    content = tuple(_blocks(block.get("content"), where, extra))
    id = str(block.get("tool_use_id") or "")
    return Message("tool", content, tool_call_id=id, is_error=bool(block.get("is_error", False)), extra=extra)


def _kept(blocks: Sequence[Any]) -> dict[str, Any]:
    """What our message has no place for: cache marks by the number of their block, and the order of the blocks where it is
    not content, calls, and then what is not understood."""
    marks = {str(at): mark for at, block in enumerate(blocks) if (mark := cache_mark(block))}
    layout = ["call" if _is(block, "tool_use") else "content" if _block(block) else "other" for block in blocks]
    moved = layout != sorted(layout, key=("content", "call", "other").index)
    return {**({"cache_control": marks} if marks else {}), **({"layout": layout} if moved else {})}


def _blocks(content: Any, where: str, extra: dict[str, Any]) -> Iterator[Block]:
    """Content as blocks of ours; what is not understood goes to `extra`."""
    if content is None or content == "":
        return
    if isinstance(content, str):
        yield Text(content)
        return
    for item in _listed(content, f"{where}: content"):
        block = _block(item)
        if block is not None:
            yield block
        else:
            extra.setdefault("content", []).append(item)


def _block(item: Any) -> Block | None:
    """A block of ours, where there is one. Thinking that has lost its signature has an empty one."""
    kind = item.get("type") if isinstance(item, Mapping) else None
    if kind == "text" and isinstance(item.get("text"), str):
        return Text(item["text"])
    if kind == "thinking" and isinstance(item.get("thinking"), str):
        return Thinking(item["thinking"], str(item.get("signature") or ""))
    source = item.get("source") if kind == "image" else None
    if isinstance(source, Mapping) and source.get("type") in ("base64", "url"):
        data = f"data:{source.get('media_type')};base64,{source.get('data')}"
        return Image(data if source["type"] == "base64" else str(source.get("url")))
    return None


def _tool(body: Any, number: int) -> ToolDefinition:
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
        raise InputError(f"tool {number} has no name")
    schema = body.get("input_schema")
    parameters = dict(schema) if isinstance(schema, Mapping) else {"type": "object", "properties": {}}
    extra = {"cache_control": mark} if (mark := cache_mark(body)) else {}
    return ToolDefinition(body["name"], str(body.get("description") or ""), parameters, extra)


def _listed(value: Any, what: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise InputError(f"{what} is no list")
    return value
