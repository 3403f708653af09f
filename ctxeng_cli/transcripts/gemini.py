"""Requests of Gemini's generateContent: `contents` of user and model, `systemInstruction`, `tools`.

Gemini pairs calls and responses by place and name; here each call gets an id, and a response the one of the nearest
earlier unanswered call of its name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.messages import Block, Image, Message, Text, Thinking, ToolCall
from ctxeng_cli.core.request import ToolDefinition
from ctxeng_cli.transcripts.recording import Recording, recorded


def is_request(body: Mapping[str, Any]) -> bool:
    """Whether a body is a request of this interface."""
    return isinstance(body.get("contents"), list)


def recording(body: Mapping[str, Any]) -> Recording:
    """A request as a recording. Raises InputError with the place of what is no content."""
    instruction = _field(body, "systemInstruction")
    extra: dict[str, Any] = {}
    told = tuple(_blocks(_parts(instruction), extra))
    said = [Message("system", told, extra=extra)] if told else []
    said += _Reader().messages(body["contents"])
    model = str(body.get("model") or "").removeprefix("models/")
    given = body.get("tools")
    tools = tuple(tool for entry in (given if isinstance(given, list) else ()) for tool in _tools(entry))
    return recorded("gemini", said, request=True, tools=tools, model=model, provider="gemini")


def _field(body: Any, name: str) -> Any:
    """A field by its name, or by the one that Python's client writes: `functionCall`, `function_call`."""
    if not isinstance(body, Mapping):
        return None
    return body.get(name, body.get(re.sub(r"(?=[A-Z])", "_", name).lower()))


def _parts(content: Any) -> list[Any]:
    parts = content.get("parts") if isinstance(content, Mapping) else None
    return parts if isinstance(parts, list) else [] if parts is None else [parts]


class _Reader:
    """Gives calls their ids, and finds them again for responses."""

    def __init__(self) -> None:
        self._open: list[list[ToolCall]] = []
        self._count = 0

    def messages(self, contents: Sequence[Any]) -> Iterator[Message]:
        """The messages of the contents; a role that is none of Gemini's stays beside a user's message."""
        for number, content in enumerate(contents, 1):
            if not isinstance(content, Mapping):
                raise InputError(f"content {number} is no object")
            parts, role = _parts(content), content.get("role", "user")
            if role == "model":
                yield self._answer(parts)
                continue
            responses = [part for part in parts if _field(part, "functionResponse") is not None]
            for part in responses:
                yield self._response(_field(part, "functionResponse"), number)
            rest = [part for part in parts if part not in responses]
            if rest or not responses:
                extra: dict[str, Any] = {} if role in ("user", "function") else {"role": str(role)}
                yield Message("user", tuple(_blocks(rest, extra)), extra=extra)

    def _answer(self, parts: Sequence[Any]) -> Message:
        calls, signatures, rest = [], [], []
        for part in parts:
            call = _field(part, "functionCall")
            if not isinstance(call, Mapping):
                rest.append(part)
                continue
            self._count += 1
            id = str(call.get("id") or f"call_{self._count}")
            calls.append(ToolCall(id, str(call.get("name") or ""), json.dumps(call.get("args") or {}, ensure_ascii=False)))
            signatures.append(_field(part, "thoughtSignature"))
        self._open.append(list(calls))
        extra: dict[str, Any] = {"thought_signatures": signatures} if any(signatures) else {}
        return Message("assistant", tuple(_blocks(rest, extra)), tool_calls=tuple(calls), extra=extra)

    def _response(self, body: Any, number: int) -> Message:
        given: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
        name, id = str(given.get("name") or ""), given.get("id")
        fits = [(turn, call) for turn in reversed(self._open) for call in turn if (call.id == id if id else call.name == name)]
        if fits:
            fits[0][0].remove(fits[0][1])
        answer = given.get("response")
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)
        call_id = fits[0][1].id if fits else str(id or "")
        extra = {"content_number": number}
        return Message("tool", (Text(text),), tool_call_id=call_id, name=name or None, extra=extra)


def _blocks(parts: Sequence[Any], extra: dict[str, Any]) -> Iterator[Block]:
    for part in parts:
        inline, file = _field(part, "inlineData"), _field(part, "fileData")
        if isinstance(part, Mapping) and isinstance(part.get("text"), str):
            yield Thinking(part["text"]) if part.get("thought") else Text(part["text"])
        elif isinstance(inline, Mapping):
            yield Image(f"data:{_field(inline, 'mimeType')};base64,{inline.get('data')}")
        elif isinstance(file, Mapping):
            yield Image(str(_field(file, "fileUri") or ""))
        else:
            extra.setdefault("content", []).append(part)


def _tools(entry: Any) -> Iterator[ToolDefinition]:
    declared = _field(entry, "functionDeclarations")
    for body in declared if isinstance(declared, list) else ():
        if isinstance(body, Mapping) and isinstance(body.get("name"), str):
            parameters = body.get("parameters")
            schema = dict(parameters) if isinstance(parameters, Mapping) else {"type": "object", "properties": {}}
            yield ToolDefinition(body["name"], str(body.get("description") or ""), schema)
