"""OpenAI's Responses: a list of items. What a recording held of a model's answer stands as it was, reasoning included."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxeng_cli.core.messages import Image, Message, Text, Thinking
from ctxeng_cli.core.request import Request
from ctxeng_cli.payloads.turns import Block

_OTHERS = ("model", "messages", "max_tokens")


def items(request: Request) -> list[Block]:
    """The input, item by item. The first system message is `instructions` and none of them, unless it was recorded as one."""
    return [Block(item, message.id, str(item.get("type", "message"))) for message in _input(request) for item in _items(message)]


def _input(request: Request) -> tuple[Message, ...]:
    instructed = any(message.role == "system" and "items" not in message.extra for message in request.messages[:1])
    return request.messages[1:] if instructed else request.messages


def body(request: Request) -> dict[str, Any]:
    """The body of a request."""
    made: dict[str, Any] = {"model": str(request.parameters.get("model", "")).removeprefix("openai/")}
    made |= {key: value for key, value in request.parameters.items() if key not in _OTHERS}
    if "max_tokens" in request.parameters:
        made["max_output_tokens"] = request.parameters["max_tokens"]
    if len(_input(request)) < len(request.messages):
        made["instructions"] = request.messages[0].text
    made["input"] = [dict(block.body) for block in items(request)]
    if request.tools:
        made["tools"] = [
            {"type": "function", "name": t.name, "description": t.description, "parameters": dict(t.parameters)}
            for t in request.tools
        ]
    return made


def _items(message: Message) -> Iterator[Mapping[str, Any]]:
    recorded = message.extra.get("items")
    if recorded:
        yield from _recorded(message, recorded)
    elif message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.tool_call_id or "", "output": message.text}
    elif any(not isinstance(piece, Thinking) for piece in message.content) or not (message.tool_calls or message.content):
        yield {"type": "message", "role": message.role, "content": _content(message)}
    for call in () if recorded else message.tool_calls:
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}


def _recorded(message: Message, items: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """The items of a recording. Ids, arguments and texts are those of the message, which an edit or a repair may have changed."""
    told = [piece.text for piece in message.content if isinstance(piece, Text)]
    changed = told != [text for item in items for text in _texts(item)]
    calls = iter(message.tool_calls)
    for item in items:
        kind = str(item.get("type", "message"))
        if kind.endswith("_output"):
            yield {**item, "call_id": message.tool_call_id or "", **({"output": message.text} if changed else {})}
        elif kind == "function_call" or (kind.endswith("_call") and "call_id" in item):
            call = next(calls)  # as many as items that call
            said = {"name": call.name, "arguments": call.arguments, "input": call.arguments}
            yield {**item, "call_id": call.id, **{key: said[key] for key in said if isinstance(item.get(key), str)}}
        elif kind != "message" or not changed:
            yield item
        elif told:
            yield {**item, "content": _content(message)}
            told = []


def _texts(item: Mapping[str, Any]) -> list[str]:
    """The texts of an item that says something or answers a call."""
    kind = str(item.get("type", "message"))
    content = item.get("content") if kind == "message" else item.get("output") if kind.endswith("_output") else None
    if isinstance(content, str):
        return [content] if content else []
    parts = content if isinstance(content, list) else [content]
    return [part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)]


def _content(message: Message) -> list[dict[str, Any]]:
    kind = "output_text" if message.role == "assistant" else "input_text"
    return [
        {"type": kind, "text": piece.text} if isinstance(piece, Text) else {"type": "input_image", "image_url": piece.url}
        for piece in message.content
        if isinstance(piece, Text | Image)
    ]
