"""Requests of OpenAI's Responses: `input` as a text or a list of items, `instructions`, `tools`.

What a model answered with (reasoning, a message, calls) is one assistant message; its items are kept as they were beside
it, since reasoning and what it produced need each other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.messages import Block, Image, Message, Role, Text, Thinking, ToolCall, system, user
from ctxeng_cli.core.request import ToolDefinition
from ctxeng_cli.transcripts.recording import Recording, recorded

_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
_MODELS = ("reasoning", "compaction", "item_reference", "mcp_list_tools", "mcp_approval_request")


def is_request(body: Mapping[str, Any]) -> bool:
    """Whether a body is a request of this interface."""
    return isinstance(body.get("input"), str | list) and "messages" not in body


def recording(body: Mapping[str, Any]) -> Recording:
    """A request as a recording. Raises InputError with the place of what is no item."""
    instructions = body.get("instructions")
    said = [system(instructions)] if isinstance(instructions, str) and instructions else []
    given = body["input"]
    said += [user(given)] if isinstance(given, str) else _messages(given)
    tools = tuple(tool for item in _listed(body.get("tools")) if (tool := _tool(item)) is not None)
    return recorded(
        "openai-responses",
        said,
        request="model" in body,
        tools=tools,
        model=str(body.get("model") or ""),
        provider="openai-responses",
        parameters={key: body[key] for key in ("previous_response_id",) if body.get(key)},
    )


def _messages(items: Sequence[Any]) -> Iterator[Message]:
    held: list[Mapping[str, Any]] = []
    for number, item in enumerate(items, 1):
        if not isinstance(item, Mapping):
            raise InputError(f"item {number} is no object")
        if is_answer(item):
            held.append(item)
            continue
        if held:
            yield answer(held)
            held = []
        message = said(item)
        if message is None:
            raise InputError(f"item {number} has the role {item.get('role')!r}; roles are {', '.join(_ROLES)}")
        yield message
    if held:
        yield answer(held)


def is_answer(item: Mapping[str, Any]) -> bool:
    """Whether an item is a model's."""
    kind = str(item.get("type", "message"))
    return kind in _MODELS or (kind == "message" and item.get("role") == "assistant") or kind.endswith("_call")


def said(item: Mapping[str, Any]) -> Message | None:
    """An item that is no model's as a message; None where its role is not known."""
    kind = str(item.get("type", "message"))
    if kind.endswith("_output"):
        return _output(item)
    return _said(item) if kind == "message" else Message("user", extra={"items": [dict(item)]})


def answer(items: Sequence[Mapping[str, Any]]) -> Message:
    """What a model answered with, as one message that keeps its items."""
    blocks: list[Block] = []
    calls: list[ToolCall] = []
    for item in items:
        kind = str(item.get("type", "message"))
        if kind == "reasoning":
            blocks += [Thinking(str(part.get("text", ""))) for part in _listed(item.get("summary")) if isinstance(part, Mapping)]
        elif kind == "function_call" or (kind.endswith("_call") and "call_id" in item):
            calls.append(_call(item, kind))
        elif kind == "message":
            blocks += _content(item.get("content"))
    return Message("assistant", tuple(blocks), tool_calls=tuple(calls), extra={"items": [dict(item) for item in items]})


def _call(item: Mapping[str, Any], kind: str) -> ToolCall:
    """A call of a function, of a custom tool (`input`), or of one of the provider's own that a program answers (`action`)."""
    given = next((item[key] for key in ("arguments", "input", "action") if item.get(key) is not None), "")
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return ToolCall(str(item.get("call_id") or ""), str(item.get("name") or kind.removesuffix("_call")), text)


def _output(item: Mapping[str, Any]) -> Message:
    given = item.get("output")
    content = tuple(_content(given))
    return Message("tool", content, tool_call_id=str(item.get("call_id") or ""), extra={"items": [dict(item)]})


def _said(item: Mapping[str, Any]) -> Message | None:
    role = item.get("role")
    if not isinstance(role, str) or role not in _ROLES:
        return None
    extra: dict[str, Any] = {"items": [dict(item)]}
    if role == "developer":
        extra["role"] = role
    return Message(_ROLES[role], tuple(_content(item.get("content"))), extra=extra)


def _content(content: Any) -> Iterator[Block]:
    if isinstance(content, str):
        if content:
            yield Text(content)
        return
    for part in [content] if isinstance(content, Mapping) else _listed(content):
        if isinstance(part, Mapping) and isinstance(part.get("text"), str):
            yield Text(part["text"])
        elif isinstance(part, Mapping) and part.get("type") == "input_image":
            yield Image(str(part.get("image_url") or part.get("file_id") or ""))


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _tool(body: Any) -> ToolDefinition | None:
    """A function's definition; None for a tool of the provider's own, which has no schema."""
    if not isinstance(body, Mapping) or not isinstance(body.get("name"), str):
        return None
    parameters = body.get("parameters")
    schema = dict(parameters) if isinstance(parameters, Mapping) else {"type": "object", "properties": {}}
    return ToolDefinition(body["name"], str(body.get("description") or ""), schema)
