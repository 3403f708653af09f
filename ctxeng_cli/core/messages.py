"""Messages as the log keeps them, whatever the provider. OpenAI's chat roles, ids of our own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Role = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Text:
    """A run of text."""

    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image by reference: a URL, a data URL or a file name. Its tokens are a configured figure."""

    url: str
    detail: str | None = None


@dataclass(frozen=True, slots=True)
class Thinking:
    """A model's thinking. The signature belongs to exactly this text: both are kept byte for byte or leave together."""

    text: str
    signature: str | None = None


Block = Text | Image | Thinking


@dataclass(frozen=True, slots=True)
class ToolCall:
    """What a model asked for. `arguments` is the text that the model wrote, JSON or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One message. `id` is `m1`, `m2`, … in log order and is given by the recorder; a new value carries an empty one."""

    role: Role
    content: tuple[Block, ...] = ()
    id: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    name: str | None = None
    is_error: bool = False
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What an import did not understand, by its own key."""

    @property
    def text(self) -> str:
        """The visible text: all text blocks, one after the other."""
        return "".join(block.text for block in self.content if isinstance(block, Text))

    def with_id(self, id: str) -> Message:
        return replace(self, id=id)

    def with_text(self, text: str) -> Message:
        """The same message with its text blocks replaced by one; images and thinking stay."""
        others = tuple(block for block in self.content if not isinstance(block, Text))
        return replace(self, content=(*others, Text(text)) if text else others)


def _body(text: str) -> tuple[Block, ...]:
    return (Text(text),) if text else ()


def system(text: str) -> Message:
    return Message("system", _body(text))


def user(text: str) -> Message:
    return Message("user", _body(text))


def assistant(text: str, tool_calls: tuple[ToolCall, ...] = ()) -> Message:
    return Message("assistant", _body(text), tool_calls=tool_calls)


def tool_result(call: ToolCall, text: str, *, is_error: bool = False) -> Message:
    """The answer to one call. Every call in a history has exactly one."""
    return Message("tool", _body(text), tool_call_id=call.id, name=call.name, is_error=is_error)


def summary(text: str) -> Message:
    """The message that a summary is sent as. It is no message of the history and starts no exchange."""
    return Message("user", _body(text), id="summary")


def number(id: str) -> int:
    """The number in a message id: `m12` → 12."""
    return int(id[1:])


def ranges(ids: tuple[str, ...]) -> tuple[str, ...]:
    """Write runs of consecutive message ids short: `m1 m3 m4 m5 #ab` → `m1 m3..m5 #ab`. Other references pass as they are."""
    short: list[str] = []
    first = last = 0
    for ref in ids:
        n = number(ref) if ref[:1] == "m" and ref[1:].isdigit() else 0
        if n and last and n == last + 1:
            last = n
            short[-1] = f"m{first}..m{last}"
            continue
        first = last = n
        short.append(ref)
    return tuple(short)


def expand(refs: tuple[str, ...]) -> tuple[str, ...]:
    """Undo `ranges`."""
    long: list[str] = []
    for ref in refs:
        first, dots, last = ref.partition("..")
        if dots:
            long += [f"m{n}" for n in range(number(first), number(last) + 1)]
        else:
            long.append(ref)
    return tuple(long)


_REF = re.compile(r"m([1-9]\d{0,8})(?:\.\.m([1-9]\d{0,8}))?|(?:m[1-9]\d{0,8}=)?#[0-9a-f]{1,64}")
_LONGEST = 10_000_000
"""Messages that a range of a log may stand for: one of a hostile log must not fill the memory."""


def check_refs(refs: tuple[str, ...]) -> None:
    """Raises ValueError for what `expand` could not read, or would unfold to more than any session holds."""
    total = 0
    for ref in refs:
        found = _REF.fullmatch(ref)
        if found is None:
            raise ValueError(f"no reference to a message or a text: {ref!r}")
        if found[2]:
            total += int(found[2]) - int(found[1])
            if int(found[2]) <= int(found[1]) or total > _LONGEST:
                raise ValueError(f"no range of messages: {ref!r}")
