"""Requests of Gemini's generateContent: `contents` of user and model, `systemInstruction`, `tools`.

Gemini pairs calls and responses by place and name; here each call gets an id, and a response the one of the nearest
earlier unanswered call of its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.messages import Block, Image, Message, Text, ToolCall, system
from ctxeng_cli.core.request import ToolDefinition
from ctxeng_cli.transcripts.recording import Recording, recorded


def is_request(body: Mapping[str, Any]) -> bool:
    """Whether a body is a request of this interface."""
    return isinstance(body.get("contents"), list)


def recording(body: Mapping[str, Any]) -> Recording:
    """A request as a recording. Raises InputError with the place of what is no content."""
    instruction = body.get("systemInstruction") or body.get("system_instruction")
    said = [system(text)] if (text := _texts(instruction)) else []
    said += _Reader().messages(body["contents"])
    model = str(body.get("model") or "").removeprefix("models/")
    tools = tuple(tool for entry in body.get("tools") or () for tool in _tools(entry))
    return recorded("gemini", said, request=True, tools=tools, model=model, provider="gemini")


class _Reader:
    """Gives calls their ids, and finds them again for responses."""

    def __init__(self) -> None:
        self._open: list[ToolCall] = []
        self._count = 0

    def messages(self, contents: Sequence[Any]) -> Iterator[Message]:
        for number, content in enumerate(contents, 1):
            parts = content.get("parts") if isinstance(content, Mapping) else None
            if not isinstance(parts, list):
                raise InputError(f"content {number} has no parts")
            role = content.get("role", "user")
            if role not in ("user", "model", "function"):
                raise InputError(f"content {number} has the role {role!r}; roles are user and model")
            if role == "model":
                yield self._answer(parts)
                continue
            responses = [part for part in parts if isinstance(part, Mapping) and "functionResponse" in part]
            for part in responses:
                yield self._response(part["functionResponse"], number)
            rest = [part for part in parts if part not in responses]
            if rest or not responses:
                extra: dict[str, Any] = {}
                yield Message("user", tuple(_blocks(rest, extra)), extra=extra)

    def _answer(self, parts: Sequence[Any]) -> Message:
        calls, signatures, rest = [], [], []
        for part in parts:
            call = part.get("functionCall") if isinstance(part, Mapping) else None
            if not isinstance(call, Mapping):
                rest.append(part)
                continue
            self._count += 1
            id = str(call.get("id") or f"call_{self._count}")
            calls.append(ToolCall(id, str(call.get("name") or ""), json.dumps(call.get("args") or {}, ensure_ascii=False)))
            signatures.append(part.get("thoughtSignature"))
        self._open += calls
        extra: dict[str, Any] = {"thought_signatures": signatures} if any(signatures) else {}
        return Message("assistant", tuple(_blocks(rest, extra)), tool_calls=tuple(calls), extra=extra)

    def _response(self, body: Any, number: int) -> Message:
        given: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
        name, id = str(given.get("name") or ""), given.get("id")
        fits = [call for call in self._open if (call.id == id if id else call.name == name)]
        if fits:
            self._open.remove(fits[0])
        answer = given.get("response")
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        call_id = fits[0].id if fits else str(id or "")
        extra = {"content_number": number}
        return Message("tool", (Text(text),), tool_call_id=call_id, name=name or None, extra=extra)


def _blocks(parts: Sequence[Any], extra: dict[str, Any]) -> Iterator[Block]:
    for part in parts:
        inline = part.get("inlineData") if isinstance(part, Mapping) else None
        file = part.get("fileData") if isinstance(part, Mapping) else None
        if isinstance(part, Mapping) and isinstance(part.get("text"), str):
            yield Text(part["text"])
        elif isinstance(inline, Mapping):
            yield Image(f"data:{inline.get('mimeType')};base64,{inline.get('data')}")
        elif isinstance(file, Mapping):
            yield Image(str(file.get("fileUri") or ""))
        else:
            extra.setdefault("content", []).append(part)


def _texts(instruction: Any) -> str:
    parts = instruction.get("parts") if isinstance(instruction, Mapping) else None
    listed = parts if isinstance(parts, list) else [parts]
    return "\n".join(str(part["text"]) for part in listed if isinstance(part, Mapping) and part.get("text"))


def _tools(entry: Any) -> Iterator[ToolDefinition]:
    declared = entry.get("functionDeclarations") or entry.get("function_declarations") if isinstance(entry, Mapping) else None
    for body in declared if isinstance(declared, list) else ():
        if isinstance(body, Mapping) and isinstance(body.get("name"), str):
            parameters = body.get("parameters")
            schema = dict(parameters) if isinstance(parameters, Mapping) else {"type": "object", "properties": {}}
            yield ToolDefinition(body["name"], str(body.get("description") or ""), schema)
