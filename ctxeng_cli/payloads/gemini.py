"""Gemini's generateContent: `systemInstruction`, contents of user and model, calls and responses as parts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxeng_cli.core.messages import Image, Message, Text
from ctxeng_cli.core.request import Request
from ctxeng_cli.payloads.turns import Block, Turn, arguments, in_call_order

_ROLES = {"assistant": "model", "tool": "user", "user": "user", "system": "user"}


def turns(request: Request) -> list[Turn]:
    """The contents. Messages of one role that follow each other are one content; responses stand in one of their own.

    The responses of one call stand in call order (Gemini pairs them by place).
    """
    made: list[Turn] = []
    names: dict[str, str] = {}
    before: Message | None = None
    for message in in_call_order(request.messages):
        if message.role == "system":
            continue
        names |= {call.id: call.name for call in message.tool_calls}
        role = _ROLES[message.role]
        apart = before is None or (before.role == "tool") != (message.role == "tool") or _recorded_apart(before, message)
        if not made or made[-1].role != role or apart:
            made.append(Turn(role))
        made[-1].messages.append(message.id)
        made[-1].blocks += [Block(part, message.id) for part in _parts(message, names)]
        before = message
    return made


def _recorded_apart(before: Message, message: Message) -> bool:
    """Whether a recording holds them in two contents."""
    places = before.extra.get("content_number"), message.extra.get("content_number")
    return message.role == "tool" and None not in places and places[0] != places[1]


def body(request: Request) -> dict[str, Any]:
    """The body of a request."""
    instructions = [{"text": m.text} for m in request.messages if m.role == "system"]
    made: dict[str, Any] = {}
    if instructions:
        made["systemInstruction"] = {"parts": instructions}
    made["contents"] = [{"role": turn.role, "parts": [dict(block.body) for block in turn.blocks]} for turn in turns(request)]
    if request.tools:
        declared = [{"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in request.tools]
        made["tools"] = [{"functionDeclarations": declared}]
    return made


def _parts(message: Message, names: dict[str, str]) -> Iterator[dict[str, Any]]:
    if message.role == "tool":
        name = message.name or names.get(message.tool_call_id or "", "")
        key = "error" if message.is_error else "result"
        yield {"functionResponse": {"name": name, "response": {key: message.text}}}
        return
    for block in message.content:
        if isinstance(block, Text):
            yield {"text": block.text}
        elif isinstance(block, Image):
            yield _image(block)
    signatures = list(message.extra.get("thought_signatures") or ())
    for number, call in enumerate(message.tool_calls):
        signed = signatures[number] if number < len(signatures) else None
        part: dict[str, Any] = {"functionCall": {"name": call.name, "args": arguments(call.arguments)}}
        yield {**part, "thoughtSignature": signed} if signed else part
    yield from (block for block in message.extra.get("content") or () if isinstance(block, dict))


def _image(image: Image) -> dict[str, Any]:
    if image.url.startswith("data:"):
        kind, _, data = image.url[5:].partition(";base64,")
        return {"inlineData": {"mimeType": kind, "data": data}}
    return {"fileData": {"fileUri": image.url}}
