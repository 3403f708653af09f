"""OpenAI chat messages: a bare list, a request with `messages` and `tools`, or JSON lines of single messages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.messages import Block, Image, Message, Role, Text, ToolCall
from ctxeng_cli.core.request import ToolDefinition
from ctxeng_cli.transcripts.recording import Recording, cache_mark, foreign, recorded

ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "tool", "function": "tool",
}  # fmt: skip
_READ = {"role", "content", "tool_calls", "tool_call_id", "name", "function_call", "refusal", "cache_control"}


def is_message(body: Any) -> bool:
    """Whether a JSON value looks like one message."""
    return isinstance(body, Mapping) and isinstance(body.get("role"), str) and body["role"] in ROLES


def recording(body: Mapping[str, Any]) -> Recording:
    """A request, or a list of messages as `{"messages": […]}`. Raises InputError with the place of what is no message."""
    messages = [message(item, number) for number, item in enumerate(_listed(body["messages"], "messages"), 1)]
    tools = tuple(tool(item, number) for number, item in enumerate(_listed(body.get("tools") or (), "tools"), 1))
    return recorded("openai-chat", messages, tools=tools, model=str(body.get("model") or ""))


def message(body: Any, number: int) -> Message:
    """One message. Raises InputError that names it by its number."""
    if not isinstance(body, Mapping):
        raise InputError(f"message {number} is no object")
    role = body.get("role")
    if not isinstance(role, str) or role not in ROLES:
        raise InputError(f"message {number} has the role {role!r}; roles are {', '.join(ROLES)}")
    extra = foreign(body, _READ)
    if role in ("developer", "function"):
        extra["role"] = role
    if body.get("refusal"):
        extra["refusal"] = body["refusal"]
    listed = _listed(body.get("tool_calls") or (), f"message {number}: tool_calls")
    calls = [_call(item, number) for item in listed]
    wrong = [
        call.id for call, item in zip(calls, listed, strict=True) if not isinstance(item["function"].get("arguments", ""), str)
    ]
    if wrong:
        extra["arguments_not_text"] = wrong
    if body.get("content", "") is None and not (
        role == "assistant" and (calls or body.get("function_call") or body.get("refusal"))
    ):
        extra["content_null"] = True
    if isinstance(legacy := body.get("function_call"), Mapping):
        calls.append(ToolCall("", str(legacy.get("name", "")), _arguments(legacy.get("arguments"))))
    if marks := _marks(body, len(calls)):
        extra["cache_control"] = marks
    name = body.get("name")
    call_id = body.get("tool_call_id")
    return Message(
        ROLES[role],
        _content(body.get("content"), number, extra),
        tool_calls=tuple(calls),
        tool_call_id=(str(call_id) if call_id is not None else "") if ROLES[role] == "tool" else None,
        name=name if isinstance(name, str) else None,
        extra=extra,
    )


def _marks(body: Mapping[str, Any], calls: int) -> dict[str, Any]:
    """Cache marks as litellm takes them, by the number of their block: at a part, or at the message, behind all of it."""
    parts = body["content"] if isinstance(body.get("content"), list) else [None] if body.get("content") else []
    marks = {str(at): mark for at, part in enumerate(parts) if (mark := cache_mark(part))}
    whole = cache_mark(body)
    return {**marks, str(max(len(parts) + calls - 1, 0)): whole} if whole else marks


def _content(content: Any, number: int, extra: dict[str, Any]) -> tuple[Block, ...]:
    if content is None:
        return ()
    if isinstance(content, str):
        return (Text(content),) if content else ()
    blocks: list[Block] = []
    for part in _listed(content, f"message {number}: content"):
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind in ("text", "input_text", "output_text") and isinstance(part.get("text"), str):
            blocks.append(Text(part["text"]))
        elif kind == "image_url":
            image = part.get("image_url")
            url, detail = (image.get("url"), image.get("detail")) if isinstance(image, Mapping) else (image, None)
            blocks.append(Image(str(url or ""), str(detail) if detail else None))
        else:
            extra.setdefault("content", []).append(part)
    return tuple(blocks)


def _call(body: Any, number: int) -> ToolCall:
    function = body.get("function") if isinstance(body, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise InputError(f"message {number} has a tool call without a function's name")
    return ToolCall(str(body.get("id") or ""), function["name"], _arguments(function.get("arguments")))


def _arguments(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def tool(body: Any, number: int) -> ToolDefinition:
    """One tool's definition. Raises InputError that names it by its number."""
    function = body.get("function", body) if isinstance(body, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise InputError(f"tool {number} has no name")
    parameters = function.get("parameters")
    mark = cache_mark(body) or cache_mark(function)
    return ToolDefinition(
        function["name"],
        str(function.get("description") or ""),
        dict(parameters) if isinstance(parameters, Mapping) else {"type": "object", "properties": {}},
        {"cache_control": mark} if mark else {},
    )


def _listed(value: Any, what: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise InputError(f"{what} is no list")
    return value
