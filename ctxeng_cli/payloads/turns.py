"""What a body is made of: turns of blocks, each of which knows the message that it comes from."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, NamedTuple, TypeVar

from ctxeng_cli.core.messages import Message

T = TypeVar("T", bound=Hashable)


class Block(NamedTuple):
    """A piece of a turn, in the provider's shape, and the id of its message. `type` is the body's, where it has one."""

    body: Mapping[str, Any]
    message: str
    type: str = ""


@dataclass(slots=True)
class Turn:
    """Blocks of one role, in order. `messages` are the ids of those that were put into it."""

    role: str
    blocks: list[Block] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)


class Remembered(Generic[T]):
    """The blocks of messages, made once: a window holds nearly the same messages as the one before it.

    A cache and no state: the same messages give the same blocks. It keeps those of the last window alone, by the message
    itself, since one with what an import kept can't be a key. What a message's blocks depend on besides is its `hint`.
    """

    def __init__(self, make: Callable[[Message, T], list[Block]]) -> None:
        self._make = make
        self._last: dict[int, tuple[Message, T, list[Block]]] = {}

    def of(self, messages: Iterable[tuple[Message, T]]) -> list[tuple[Message, T, list[Block]]]:
        """Each message with its hint and its blocks; callers must not change them."""
        last = self._last
        made = []
        for message, hint in messages:
            found = last.get(id(message))
            if found is None or found[0] is not message or found[1] != hint:
                found = message, hint, self._make(message, hint)
            made.append(found)
        self._last = {id(found[0]): found for found in made}
        return made


@lru_cache(maxsize=4096)
def arguments(text: str) -> Mapping[str, Any]:
    """A call's arguments as an object, for reading only; text that is none stays under one key, so that nothing is lost."""
    try:
        value = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        return {"arguments": text}
    return value if isinstance(value, dict) else {"arguments": value}


def in_call_order(messages: Sequence[Message]) -> list[Message]:
    """The messages, the results right behind a call in the order of its calls: results of parallel calls come as they end.

    Calls that share an id are answered in order; a result that answers none of them stands behind the others.
    """
    ordered: list[Message] = []
    at = 0
    while at < len(messages):
        ordered.append(messages[at])
        wanted = [call.id for call in messages[at].tool_calls]
        at += 1
        results = []
        while at < len(messages) and messages[at].role == "tool":
            results.append(messages[at])
            at += 1
        for id in wanted:
            found = next((m for m in results if m.tool_call_id == id), None)
            if found is not None:
                results.remove(found)
                ordered.append(found)
        ordered += results
    return ordered
