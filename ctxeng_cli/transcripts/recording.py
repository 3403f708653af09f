"""What an importer yields: a conversation as a stream of messages, and of the places where a model was asked.

A recording may be read as often as one likes; each time the file is read anew, line by line where its format has lines,
so that a long one needs little memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxeng_cli.core.events import HookAnswered, PartDefined, SummaryMade, Usage, WindowEdited
from ctxeng_cli.core.messages import Message
from ctxeng_cli.core.request import ToolDefinition


@dataclass(frozen=True, slots=True)
class Asked:
    """A model was asked here. `tools` are those of the request where they differ from the recording's; `pending`: the
    recording holds no answer to it. `recorded` is the usage that the answer came with."""

    pending: bool = False
    tools: tuple[ToolDefinition, ...] | None = None
    recorded: Usage | None = None


UNDERSTOOD = {
    "role", "cache_control", "layout", "before_results", "arguments_not_text", "content_null", "items", "content_number",
    "thought_signatures",
}  # fmt: skip
"""What importers keep beside a message for the sake of the payload or of a lint rule."""


def foreign(body: Mapping[str, Any], read: Container[str]) -> dict[str, Any]:
    """The fields of a message that are not read, to be kept beside it; none of them passes for one of `UNDERSTOOD`."""
    return {f"{key}_" if key in UNDERSTOOD else key: value for key, value in body.items() if key not in read}


Item = Message | Asked | SummaryMade | HookAnswered | WindowEdited | PartDefined
"""Messages have the ids `m1`, `m2`, … in their order. Events stand in recordings of our own sessions: what was answered
from outside, and what left the window by which rule."""


def cache_mark(body: Any) -> Mapping[str, Any] | None:
    """The mark for the provider's prompt cache at a block, a message or a tool."""
    mark = body.get("cache_control") if isinstance(body, Mapping) else None
    return mark if isinstance(mark, Mapping) else None


@dataclass(slots=True)
class Recording:
    """A recorded conversation; iterating over it reads it. The counts and the notes are whole once it was read to its end."""

    format: str
    source: Callable[[Recording], Iterable[Item]]
    tools: tuple[ToolDefinition, ...] = ()
    model: str = ""
    provider: str = "openai"
    """Whose protocol rules it follows."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What its requests carried besides, where a rule of the provider's looks at it."""
    counts: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What the format does not say, and what was not understood."""

    def __iter__(self) -> Iterator[Item]:
        self.counts, self.notes = {"messages": 0, "requests": 0, "kept": 0, "calls": 0, "system": 0}, []
        counts = self.counts
        for item in self.source(self):
            if isinstance(item, Message):
                counts["messages"] += 1
                counts["kept"] += bool(item.extra) and not item.extra.keys() <= UNDERSTOOD
                counts["calls"] += bool(item.tool_calls)
                counts["system"] += item.role == "system"
            elif isinstance(item, Asked):
                counts["requests"] += 1
            yield item
        self.notes = [*self._lacks(), *self.notes]

    def _lacks(self) -> Iterator[str]:
        if self.format == "ctxeng":
            return
        if not self.counts["system"]:
            yield "no system message is recorded"
        if not self.tools and self.counts["calls"]:
            yield "no tool definitions are recorded, so none are counted"
        if self.counts["kept"]:
            yield f"{self.counts['kept']} messages hold fields that are kept and not understood"

    # -- the whole of it at once, for short ones --

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(item for item in self if isinstance(item, Message))

    @property
    def asked(self) -> tuple[int, ...]:
        """How many messages stood before each request."""
        found: list[int] = []
        count = 0
        for item in self:
            count += isinstance(item, Message)
            if isinstance(item, Asked):
                found.append(count)
        return tuple(found)

    @property
    def pending(self) -> bool:
        """Whether the recording holds no answer to its last request."""
        return sum(isinstance(item, Asked) and item.pending for item in self) > 0


def numbered(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages with ids in their order."""
    return (message.with_id(f"m{number}") for number, message in enumerate(messages, 1))


def asked_before_answers(messages: Iterable[Message], *, request: bool = False) -> Iterator[Item]:
    """Where a bare list of messages implies requests: one before each assistant message, and one more where it ends with a
    question or with tool results (SPEC 8). What is known to be a `request` was sent as a whole, whatever it ends with."""
    last: Message | None = None
    for message in messages:
        if message.role == "assistant" and last is not None:
            yield Asked()
        yield message
        last = message
    if last is not None and (request or last.role in ("user", "tool")):
        yield Asked(pending=True)


def recorded(format: str, messages: Iterable[Message], *, request: bool = False, **known: Any) -> Recording:
    """A recording of messages that are there already, asked as a bare list is; `known` are further fields of it."""
    kept = tuple(numbered(messages))
    return Recording(format, lambda _: asked_before_answers(kept, request=request), **known)


def json_object(line: str) -> Mapping[str, Any] | None:
    """A line as a JSON object; None for one that is torn, or something else."""
    try:
        body = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, Mapping) else None


def figure(value: Any) -> int:
    """A count of tokens that somebody recorded; 0 for what is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else 0
