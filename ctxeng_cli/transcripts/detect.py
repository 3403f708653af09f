"""Which format a recording has, by its structure; never a guess in silence."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, BinaryIO, TypeVar

from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.messages import Message
from ctxeng_cli.transcripts import anthropic, claude_code, codex, gemini, openai_chat, openai_responses, own
from ctxeng_cli.transcripts.recording import Item, Recording, asked_before_answers, numbered

FORMATS = ("ctxeng", "anthropic", "claude-code", "codex", "gemini", "openai-chat", "openai-responses")
_HEAD = 65_536
"""Bytes of a file that are looked at to tell its format."""
_BOM = b"\xef\xbb\xbf"
Open = Callable[[], BinaryIO]
T = TypeVar("T")


def read(source: bytes | Open, name: str) -> Recording:
    """A recording out of bytes, or out of a file that can be opened again and again. Raises InputError, with `name` before
    it, for what is not understood; so does reading the recording, where it is read line by line."""
    opened: Open = source if callable(source) else lambda: io.BytesIO(source)
    found = _told(name, lambda: _recording(opened))
    inner = found.source
    found.source = lambda recording: _items(name, inner(recording))
    return found


def _items(name: str, items: Iterable[Item]) -> Iterator[Item]:
    iterator = iter(items)
    while True:
        item = _told(name, lambda: next(iterator, None))
        if item is None:
            return
        yield item


def _told(name: str, act: Callable[[], T]) -> T:
    try:
        return act()
    except UnicodeDecodeError as error:
        where = f"byte {error.start:,} is {error.object[error.start]:#04x}"
        raise InputError(f"{name}: not understood. It is not UTF-8 text: {where}") from None
    except RecursionError:
        raise InputError(f"{name}: not understood. It is nested too deeply") from None
    except InputError as error:
        raise InputError(f"{name}: {error.message}") from None


def _recording(opened: Open) -> Recording:
    with opened() as file:
        head = file.read(_HEAD)
        more = len(head) == _HEAD
    if own.MARK in head:
        return own.recording(_Lines(opened), islice(_Lines(opened), 20))
    first = next((line for line in head.removeprefix(_BOM).split(b"\n") if line.strip(b"\x00 \t\r")), b"")
    if not first and not more:
        raise InputError("the recording is empty")
    if openai_chat.is_message(_json(first)):
        return Recording("openai-chat", lambda recording: _messages(_Lines(opened), recording))
    for is_line, recording, model_of in _BY_LINE:
        if is_line(_json(first)):
            bodies = [_json(line.encode("utf-8", "surrogatepass")) for _, line in islice(_Lines(opened), 50)]
            return recording(_Lines(opened), model_of(bodies))
    return _whole(opened)


_BY_LINE = (
    (codex.is_line, codex.recording, codex.model_of),
    (claude_code.is_line, claude_code.recording, claude_code.model_of),
)


def _json(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _whole(opened: Open) -> Recording:
    """One JSON value."""
    with opened() as file:
        text = file.read().decode("utf-8-sig")
    try:
        body = json.loads(text)
    except ValueError as error:
        raise InputError(f"not understood. Line {getattr(error, 'lineno', 1)} is no JSON: {error}") from None
    if isinstance(body, list):
        if body and not any(map(openai_chat.is_message, body)):
            raise InputError(_unknown())
        return openai_chat.recording({"messages": body})
    if isinstance(body, Mapping) and isinstance(body.get("messages"), list):
        return anthropic.recording(body) if anthropic.is_request(body) else openai_chat.recording(body)
    if isinstance(body, Mapping) and openai_responses.is_request(body):
        return openai_responses.recording(body)
    if isinstance(body, Mapping) and gemini.is_request(body):
        return gemini.recording(body)
    raise InputError(_unknown())


class _Lines:
    """The lines of a file that hold something, with their numbers; the file is opened anew for each pass."""

    def __init__(self, opened: Open) -> None:
        self._opened = opened

    def __iter__(self) -> Iterator[tuple[int, str]]:
        start = 0
        with self._opened() as file:
            for number, raw in enumerate(file, 1):
                line = raw.removeprefix(_BOM) if number == 1 else raw
                try:
                    text = line.strip(b"\x00 \t\r\n").decode()
                except UnicodeDecodeError as error:
                    at = start + len(raw) - len(raw.lstrip(b"\x00 \t\r\n")) + error.start
                    where = f"byte {at:,} is {error.object[error.start]:#04x}"
                    raise InputError(f"not understood. It is not UTF-8 text: {where}") from None
                start += len(raw)
                if text:
                    yield number, text


def _messages(lines: Iterable[tuple[int, str]], recording: Recording) -> Iterator[Item]:
    """One OpenAI message on each line. A torn last line is left out, and said."""
    return asked_before_answers(numbered(_read(lines, recording)))


def _read(lines: Iterable[tuple[int, str]], recording: Recording) -> Iterator[Message]:
    torn: tuple[int, str, ValueError] | None = None
    for count, (number, line) in enumerate(lines, 1):
        if torn is not None:
            break
        try:
            yield openai_chat.message(json.loads(line), count)
        except ValueError as error:
            torn = (number, line, error)
    else:
        if torn is not None:
            recording.notes.append(f"the last line is torn; its {len(torn[1]):,} characters were left out")
        return
    raise InputError(f"not understood. Line {torn[0]} is no JSON: {torn[2]}")


def _unknown() -> str:
    return (
        "not understood. It is no session of ctxeng's, Claude Code's or Codex', no request of Anthropic's, Gemini's or OpenAI's "
        "Responses, and holds no OpenAI chat messages; other formats can't be read yet"
    )
