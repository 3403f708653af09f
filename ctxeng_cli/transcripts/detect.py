"""Which format a recording has, by its structure; never a guess in silence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ctxeng_cli.core.codec import NotAnEvent, loads
from ctxeng_cli.core.errors import InputError
from ctxeng_cli.transcripts import anthropic, openai_chat, own
from ctxeng_cli.transcripts.recording import Recording

FORMATS = ("ctxeng", "anthropic", "openai-chat")


def read(data: bytes, name: str) -> Recording:
    """A recording out of a file's bytes. Raises InputError, with `name` before it, for what is not understood."""
    try:
        return _recording(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        where = f"byte {error.start:,} is {data[error.start]:#04x}"
        raise InputError(f"{name}: not understood. It is not UTF-8 text: {where}") from None
    except RecursionError:
        raise InputError(f"{name}: not understood. It is nested too deeply") from None
    except InputError as error:
        raise InputError(f"{name}: {error.message}") from None


def _recording(text: str) -> Recording:
    if not text.strip("\x00 \t\r\n"):
        raise InputError("the recording is empty")
    try:
        body = json.loads(text)
    except ValueError:
        return _lines(text)
    if isinstance(body, list):
        if body and not any(map(openai_chat.is_message, body)):
            raise InputError(_unknown())
        return openai_chat.recording({"messages": body})
    if isinstance(body, Mapping) and isinstance(body.get("messages"), list):
        return anthropic.recording(body) if anthropic.is_request(body) else openai_chat.recording(body)
    return _lines(text)


def _lines(text: str) -> Recording:
    """JSON lines: our own events, or one message on each line. A torn last line is left out, and said."""
    lines = [line.strip("\x00 \t\r") for line in text.split("\n")]
    lines = [line for line in lines if line]
    notes: list[str] = []
    bodies: list[Any] = []
    for number, line in enumerate(lines, 1):
        try:
            bodies.append(json.loads(line))
        except ValueError as error:
            if number < len(lines) or number == 1:
                raise InputError(f"not understood. Line {number} is no JSON: {error}") from None
            notes.append(f"the last line is torn; its {len(line):,} characters were left out")
    if any(isinstance(body, Mapping) and str(body.get("schema", "")).startswith("ctxeng.event/") for body in bodies[:20]):
        found = own.recording(_events(lines))
    elif all(map(openai_chat.is_message, bodies)):
        found = openai_chat.recording({"messages": bodies})
    else:
        raise InputError(_unknown())
    return replace(found, notes=(*found.notes, *notes))


def _events(lines: list[str]) -> list[Any]:
    entries = []
    for line in lines:
        try:
            entries.append(loads(line))
        except NotAnEvent:
            continue
    return entries


def _unknown() -> str:
    return (
        "not understood. It is no session of ctxeng's, no request of Anthropic's and holds no OpenAI chat messages; "
        "other formats can't be read yet"
    )
