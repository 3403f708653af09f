"""Gemini's generateContent: `systemInstruction`, contents of user and model, calls and responses as parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ctxeng_cli.core.messages import Image, Message, Text
from ctxeng_cli.core.request import Request
from ctxeng_cli.payloads.turns import Block, Remembered, Turn, arguments, in_call_order

CALL, RESPONSE = "functionCall", "functionResponse"
_ROLES = {"assistant": "model", "tool": "user", "user": "user"}
_SETTINGS = {"temperature": "temperature", "max_tokens": "maxOutputTokens"}


def turns(request: Request) -> list[Turn]:
    """The contents. Messages of one role that follow each other are one content; responses stand in one of their own, since
    text beside them is taken for the end of a turn (vellum-assistant #39495).

    The responses of one turn stand in call order: Gemini pairs them by place. A message that only thinks has no place.
    """
    made: list[Turn] = []
    before: Message | None = None
    for message, _, blocks in _REMEMBERED.of(_named(in_call_order(request.messages))):
        if not blocks and message.content:
            continue
        role = _ROLES[message.role] if message.role == "tool" else str(message.extra.get("role") or _ROLES[message.role])
        if not made or made[-1].role != role or (before is not None and _apart(before, message)):
            made.append(Turn(role))
        made[-1].messages.append(message.id)
        made[-1].blocks += blocks
        before = message
    return made


def _named(messages: Iterable[Message]) -> Iterator[tuple[Message, str]]:
    """The messages but for the system's, results with the name of what they answer."""
    names: dict[str, str] = {}
    for message in messages:
        for call in message.tool_calls:
            names[call.id] = call.name
        if message.role != "system":
            yield message, message.name or names.get(message.tool_call_id or "", "")


def _apart(before: Message, message: Message) -> bool:
    """Whether two messages of one role stand in two contents: responses and a text, or responses that a recording holds so."""
    if before.role != "tool" or message.role != "tool":
        return before.role == "tool" or message.role == "tool"
    places = before.extra.get("content_number"), message.extra.get("content_number")
    return None not in places and places[0] != places[1]


def body(request: Request) -> dict[str, Any]:
    """The body of a request. The model stands in the address, not in it."""
    instructions = [
        {"text": piece.text} for m in request.messages if m.role == "system" for piece in m.content if isinstance(piece, Text)
    ]
    made: dict[str, Any] = {"systemInstruction": {"parts": instructions}} if instructions else {}
    made["contents"] = [{"role": turn.role, "parts": [dict(block.body) for block in turn.blocks]} for turn in turns(request)]
    if request.tools:
        declared = [{"name": t.name, "description": t.description, "parameters": dict(t.parameters)} for t in request.tools]
        made["tools"] = [{"functionDeclarations": declared}]
    settings = {name: request.parameters[key] for key, name in _SETTINGS.items() if key in request.parameters}
    if settings:
        made["generationConfig"] = settings
    return made


def _blocks(message: Message, name: str) -> list[Block]:
    if message.role == "tool":
        return [Block({RESPONSE: {"name": name, "response": _answer(message)}}, message.id, RESPONSE)]
    blocks = [Block(part, message.id, next(iter(part))) for part in _parts(message)]
    signatures = message.extra.get("thought_signatures", ())
    for number, call in enumerate(message.tool_calls):
        part: dict[str, Any] = {CALL: {"name": call.name, "args": arguments(call.arguments)}}
        if number < len(signatures) and signatures[number]:
            part["thoughtSignature"] = signatures[number]
        blocks.append(Block(part, message.id, CALL))
    return blocks


_REMEMBERED = Remembered(_blocks)


def _parts(message: Message) -> Iterator[dict[str, Any]]:
    """What a message holds besides calls."""
    for block in message.content:
        if isinstance(block, Text):
            yield {"text": block.text}
        elif isinstance(block, Image):
            yield _image(block)
    for part in message.extra.get("content", ()):
        if isinstance(part, dict) and part:
            yield part


def _answer(message: Message) -> Mapping[str, Any]:
    """A result as the object that a response holds."""
    text = message.text
    if text.startswith("{"):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = None
        if isinstance(value, dict):
            return value
    return {"error" if message.is_error else "result": text}


def _image(image: Image) -> dict[str, Any]:
    if image.url.startswith("data:"):
        kind, _, data = image.url[5:].partition(";base64,")
        return {"inlineData": {"mimeType": kind, "data": data}}
    return {"fileData": {"fileUri": image.url}}
