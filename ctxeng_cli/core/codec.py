"""Events to JSON objects and back. What is written is read back equal; what is not known is kept as `Unknown`.

Messages have the contract's shape (`id, role, text, tool_calls, tool_call_id, name`); content that is more than one
plain text stands in `content` as a list of blocks besides. Fields that hold their default are left out where the field
is optional (None, empty list, false).
"""

from __future__ import annotations

import dataclasses
import json
import re
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from ctxeng_cli.core.events import EVENTS, SCHEMA, Entry, Event, RequestSent, SummaryMade, SummaryStarted, Unknown
from ctxeng_cli.core.messages import Block, Image, Message, Role, Text, Thinking, ToolCall, check_refs, expand

_RENAMED = {"part.defined": {"part": "kind"}}
_ENVELOPE = ("schema", "seq", "type", "turn", "agent", "at")


def renamed(kind: str) -> dict[str, str]:
    """Fields of an event whose name in the JSON is another: ours → theirs."""
    return _RENAMED.get(kind, {})


class NotAnEvent(ValueError):
    """A line is no entry of ours."""


# -- writing ---------------------------------------------------------------------------------------------------------


def to_json(entry: Entry, *, expanded: bool = False) -> dict[str, Any]:
    """One entry as a JSON object. `expanded` writes every message id of a window (for `--json`), not ranges."""
    event = entry.event
    kind, body = (event.name, dict(event.data)) if isinstance(event, Unknown) else (event.type, _object(event))
    for ours, theirs in _RENAMED.get(kind, {}).items():
        if ours in body:
            body[theirs] = body.pop(ours)
    if expanded and isinstance(event, RequestSent):
        body["window"] = list(expand(event.window))
        body["parts"] = list(expand(event.parts))
    elif expanded and isinstance(event, SummaryMade | SummaryStarted):
        body["messages"] = list(expand(event.messages))
    head = {"schema": SCHEMA, "seq": entry.seq, "type": kind, "turn": entry.turn, "agent": entry.agent, "at": entry.at}
    return {**head, **body}


def dumps(entry: Entry, *, expanded: bool = False) -> str:
    """One line without its newline. Readable Chinese; ASCII only where a text holds lone surrogates."""
    return json_line(to_json(entry, expanded=expanded))


def json_line(value: Any) -> str:
    """A JSON text that UTF-8 can always hold and that no terminal control character gets out of."""
    line = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    if line.isascii() and "\x7f" not in line:
        return line
    if any("\x7f" <= c <= "\x9f" or "\ud800" <= c <= "\udfff" or c in "\u2028\u2029" for c in line):
        return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=str).replace("\x7f", "\\u007f")
    return line


def _object(value: Any) -> dict[str, Any]:
    body = {}
    for f in _fields(value.__class__):
        item = getattr(value, f.name)
        if f.default is not _NO_DEFAULT and (item is None or item is False or item == () or item == {}) and item == f.default:
            continue
        body[f.name] = plain(item)
    return body


def plain(value: Any) -> Any:
    if isinstance(value, Message):
        return message_json(value)
    if dataclasses.is_dataclass(value):
        return _object(value)
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value


def message_json(message: Message) -> dict[str, Any]:
    """A message in the contract's shape."""
    body: dict[str, Any] = {"id": message.id, "role": message.role, "text": message.text}
    if message.content and not (len(message.content) == 1 and isinstance(message.content[0], Text)):
        body["content"] = [_block(block) for block in message.content]
    if message.tool_calls:
        body["tool_calls"] = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in message.tool_calls]
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    if message.name is not None:
        body["name"] = message.name
    if message.is_error:
        body["is_error"] = True
    if message.extra:
        body["extra"] = dict(message.extra)
    return body


def _block(block: Block) -> dict[str, Any]:
    kind = {Text: "text", Image: "image", Thinking: "thinking"}[type(block)]
    return {"type": kind, **{k: v for k, v in dataclasses.asdict(block).items() if v is not None}}


# -- reading ---------------------------------------------------------------------------------------------------------


def loads(line: str | bytes) -> Entry:
    """Read one line. Raises NotAnEvent for what is no entry; a type that is not known becomes `Unknown`."""
    try:
        body = json.loads(line)
    except ValueError as error:
        raise NotAnEvent(str(error)) from None
    return from_json(body)


def from_json(body: Any) -> Entry:
    """Read one JSON object. Raises NotAnEvent."""
    if not isinstance(body, dict) or not str(body.get("schema", "")).startswith("ctxeng.event/"):
        raise NotAnEvent("no ctxeng.event")
    try:
        seq, kind, turn = int(body["seq"]), str(body["type"]), int(body.get("turn", 0))
        data = {key: value for key, value in body.items() if key not in _ENVELOPE}
        event = _event(kind, data)
        return Entry(seq, str(body.get("at", "")), turn, str(body.get("agent", "")), event)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise NotAnEvent(f"{body.get('type')}: {error!r}") from None


def _event(kind: str, data: dict[str, Any]) -> Event:
    cls = EVENTS.get(kind)
    if cls is None:
        return Unknown(name=kind, data=data)
    for ours, theirs in _RENAMED.get(kind, {}).items():
        data[ours] = data.pop(theirs)
    event = typing.cast(Event, _build(cls, data))
    if isinstance(event, SummaryMade | SummaryStarted):
        check_refs(event.messages)
    if isinstance(event, RequestSent):
        check_refs((*event.window, *event.parts))
        for key, value in event.budget.items():
            if value is not None:
                (_text if key == "unit" else _integer)(value)
    return event


def _build(cls: type, data: Mapping[str, Any]) -> Any:
    data = _mapping(data)
    return cls(**{f.name: f.read(data[f.name]) for f in _fields(cls) if f.name in data})


def message_from_json(body: Mapping[str, Any]) -> Message:
    """Undo `message_json`. Raises ValueError or TypeError for what is no message."""
    blocks = body.get("content")
    content: tuple[Block, ...]
    if blocks is None:
        content = (Text(_text(body["text"])),) if body.get("text") else ()
    else:
        kinds: dict[str, type[Text] | type[Image] | type[Thinking]] = {"text": Text, "image": Image, "thinking": Thinking}
        content = tuple(_build(kinds[block["type"]], block) for block in blocks)
    calls = tuple(_build(ToolCall, call) for call in body.get("tool_calls", ()))
    if not _ID.fullmatch(_text(body["id"])):
        raise ValueError(f"no message id: {body['id']!r}")
    return Message(
        _choice(typing.get_args(Role))(body["role"]),
        content,
        id=body["id"],
        tool_calls=calls,
        tool_call_id=_maybe_text(body.get("tool_call_id")),
        name=_maybe_text(body.get("name")),
        is_error=bool(body.get("is_error", False)),
        extra=_mapping(body.get("extra", {})),
    )


# -- how a field is read, from its annotation ------------------------------------------------------------------------


_NO_DEFAULT = dataclasses.MISSING


@dataclasses.dataclass(frozen=True, slots=True)
class _Field:
    name: str
    default: Any
    read: Callable[[Any], Any]


@cache
def _fields(cls: type) -> tuple[_Field, ...]:
    hints = typing.get_type_hints(cls)
    return tuple(
        _Field(
            f.name,
            f.default_factory() if f.default_factory is not dataclasses.MISSING else f.default,
            _reader(hints[f.name]),
        )
        for f in dataclasses.fields(cls)
    )


def _reader(hint: Any) -> Callable[[Any], Any]:
    """How a value of that annotation is read from JSON. Raises ValueError or TypeError for a value of another type: a fold
    never fails, so what it folds is checked here."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Message:
        return message_from_json
    if hint in _PLAIN:
        return _PLAIN[hint]
    if dataclasses.is_dataclass(hint):
        return lambda value: _build(typing.cast(type, hint), value)
    if origin is typing.Literal:
        return _choice(args)
    if origin in (types.UnionType, typing.Union):
        inner = _reader(next(a for a in args if a is not type(None)))
        return lambda value: None if value is None else inner(value)
    if origin is tuple:
        item = _reader(args[0])
        return lambda value: tuple(item(v) for v in _list(value))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        item = _reader(args[1])
        return lambda value: {k: item(v) for k, v in _mapping(value).items()}
    return lambda value: value


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"no text: {value!r}")
    return value


def _maybe_text(value: Any) -> str | None:
    return None if value is None else _text(value)


def _integer(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or abs(value) > _LARGEST:
        raise TypeError(f"no whole number: {value!r}")
    return value


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= _LARGEST:
        raise TypeError(f"no number: {value!r}")
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"neither true nor false: {value!r}")
    return value


def _list(value: Any) -> Any:
    if not isinstance(value, list | tuple):
        raise TypeError(f"no list: {value!r}")
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError(f"no object: {value!r}")
    return value


def _choice(words: tuple[Any, ...]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if value not in words:
            raise ValueError(f"{value!r} is none of {words}")
        return value

    return read


_ID = re.compile("m[1-9][0-9]{0,8}")
_LARGEST = 2**53
"""What JSON's readers agree on."""
_PLAIN: dict[Any, Callable[[Any], Any]] = {str: _text, int: _integer, float: _number, bool: _truth}
