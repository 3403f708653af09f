"""OpenAI's Responses: a list of items. What a recording held of a model's answer stands as it was, reasoning included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxeng_cli.core.messages import Image, Message, Text
from ctxeng_cli.core.request import Request
from ctxeng_cli.payloads.turns import Block

_OTHERS = ("model", "messages", "max_tokens")


def items(request: Request) -> list[Block]:
    """The input, item by item. The first system message is `instructions` and none of them."""
    return [Block(item, message.id, str(item.get("type", "message"))) for message in _input(request) for item in _items(message)]


def _input(request: Request) -> tuple[Message, ...]:
    first = request.messages[:1]
    return request.messages[1:] if first and first[0].role == "system" else request.messages


def body(request: Request) -> dict[str, Any]:
    """The body of a request."""
    made: dict[str, Any] = {"model": request.parameters.get("model", "")}
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


def _items(message: Message) -> Iterator[dict[str, Any]]:
    recorded = message.extra.get("items")
    if recorded:
        yield from (item for item in recorded if isinstance(item, dict))
        return
    if message.role == "tool":
        yield {"type": "function_call_output", "call_id": message.tool_call_id or "", "output": message.text}
        return
    if message.content or not message.tool_calls:
        kind = "output_text" if message.role == "assistant" else "input_text"
        content = [
            {"type": kind, "text": block.text} if isinstance(block, Text) else {"type": "input_image", "image_url": block.url}
            for block in message.content
            if isinstance(block, Text | Image)
        ]
        yield {"type": "message", "role": message.role, "content": content}
    for call in message.tool_calls:
        yield {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments}
