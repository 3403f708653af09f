"""LangChain4j's two window memories, quirks included, for `compat: langchain4j`. Nothing of it leaks elsewhere.

What is different from ours (shared/reference/langchain4j.md 2): messages leave one by one and by their place, the results
behind a call leave with it whatever their ids, a changed system message goes to the end unless it is kept first, a system
message is safe only while it stands first, a read trims a copy, and a turn's first request holds one message more than
the memory, since the question is put behind it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ctxeng_cli.core.budget import Edit, Reason
from ctxeng_cli.core.errors import CtxengError
from ctxeng_cli.core.history import History
from ctxeng_cli.core.messages import Message, Text
from ctxeng_cli.core.tokens import count_text, counter_for
from ctxeng_cli.spec.policy import Policy


class Refused(CtxengError, ValueError):
    """What the framework throws, in its words."""


Messages = tuple[Message, ...]
Weigh = Callable[[Sequence[Message]], int]
"""What a list of messages weighs, in the unit of the limit."""


# -- the window ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Limit:
    """How much a memory may hold. `of_one` weighs one message, `of_all` a list: they may differ by an overhead."""

    most: int
    of_one: Callable[[Message], int] = lambda message: 1
    of_all: Weigh = len
    tokens: bool = False


def evicted(messages: Sequence[Message], limit: Limit) -> Messages:
    """What is left once messages have left, the oldest first, until the rest fits.

    The first one leaves, or the second where a system message stands first; with a call that leaves go the results that
    stand right behind it. A list is weighed once; then the weight of each message that leaves is taken off.
    """
    kept = list(messages)
    total = limit.of_all(kept)
    while kept and total > limit.most:
        at = 1 if kept[0].role == "system" else 0
        if at == len(kept):
            break  # only a system message is left
        first = kept.pop(at)
        total -= limit.of_one(first)
        while first.tool_calls and at < len(kept) and kept[at].role == "tool":
            total -= limit.of_one(kept.pop(at))
    return tuple(kept)


def joined(messages: Messages, new: Message, *, keep_system_first: bool = False) -> Messages:
    """The list with a message added. A system message that is there already is not added; another one replaces it, and goes
    to the end unless it is kept first."""
    if new.role != "system":
        return (*messages, new)
    old = next((at for at, message in enumerate(messages) if message.role == "system"), None)
    if old is not None:
        if messages[old].content == new.content:
            return messages
        messages = (*messages[:old], *messages[old + 1 :])
    return (new, *messages) if keep_system_first else (*messages, new)


def added(messages: Messages, new: Message, limit: Limit, *, keep_system_first: bool = False) -> Messages:
    """What a memory holds once a message was added: trimmed before and after."""
    before = evicted(messages, limit)
    after = joined(before, new, keep_system_first=keep_system_first)
    return before if after is before else evicted(after, limit)


# -- the memory with its store ---------------------------------------------------------------------------------------


class Store(Protocol):
    """Where a memory keeps its messages: always the whole window, so that what has left is lost from it."""

    def get_messages(self, id: str) -> Sequence[Message]: ...

    def update_messages(self, id: str, messages: Sequence[Message]) -> None: ...

    def delete_messages(self, id: str) -> None: ...


class SingleSlot:
    """A store for one memory. Raises Refused for another id."""

    def __init__(self, id: str) -> None:
        self._id = id
        self._messages: Messages = ()

    def _check(self, id: str) -> None:
        if id != self._id:
            asked = f"an operation has been requested on a memory with id: {id}"
            raise Refused(f"This chat memory has id: {self._id} but {asked}")

    def get_messages(self, id: str) -> Messages:
        self._check(id)
        return self._messages

    def update_messages(self, id: str, messages: Sequence[Message]) -> None:
        self._check(id)
        self._messages = tuple(messages)

    def delete_messages(self, id: str) -> None:
        self._check(id)
        self._messages = ()


class ChatMemory:
    """A window memory over a store. `most` is a number or a function of the memory's id, asked each time.

    `estimator` makes it a window of tokens. Raises Refused with the framework's words for a limit that can't be.
    """

    def __init__(
        self,
        most: int | Callable[[str], int | None] | None,
        *,
        id: str = "default",
        store: Store | None = None,
        keep_system_first: bool = False,
        estimator: Estimator | None = None,
    ) -> None:
        self._most, self._id, self._estimator = most, id, estimator
        self._store: Store = SingleSlot(id) if store is None else store
        self._keep = keep_system_first
        self._limit()

    def _limit(self) -> Limit:
        name = "maxMessages" if self._estimator is None else "maxTokens"
        most = self._most(self._id) if callable(self._most) else self._most
        if most is None:
            raise Refused(f"{name} cannot be null")
        if most <= 0:
            raise Refused(f"{name} must be greater than zero, but is: {most}")
        return Limit(most) if self._estimator is None else token_limit(most, self._estimator)

    def add(self, *messages: Message) -> None:
        """Add messages, each with a read of the store and at most one write."""
        for message in messages:
            before = evicted(self._store.get_messages(self._id), limit := self._limit())
            after = joined(before, message, keep_system_first=self._keep)
            if after is not before:
                self._store.update_messages(self._id, evicted(after, limit))

    def messages(self) -> Messages:
        """What a request is made of. Trims a copy: the store keeps what it has."""
        return evicted(self._store.get_messages(self._id), self._limit())

    def set(self, messages: Sequence[Message]) -> None:
        """Put a list in the place of all, trimmed, without a look at system messages."""
        self._store.update_messages(self._id, evicted(tuple(messages), self._limit()))

    def clear(self) -> None:
        self._store.delete_messages(self._id)


# -- the estimator ---------------------------------------------------------------------------------------------------


class Estimator(Protocol):
    def message(self, message: Message) -> int: ...

    def request(self, messages: Sequence[Message]) -> int: ...


def token_limit(most: int, estimator: Estimator) -> Limit:
    return Limit(most, estimator.message, estimator.request, tokens=True)


class OpenAiEstimator:
    """`OpenAiTokenCountEstimator`: the framework's formula, kept as it is, the one for several calls too.

    Tool definitions and thinking are counted nowhere. Raises Refused for a model without a known encoding, for arguments of
    one of several calls that are no JSON object, and for an image of a user (`Unknown content type`).
    """

    def __init__(self, model: str) -> None:
        # `offline` begins with an o and is none of the o-series: models of ours are counted as gpt-4o.
        ours = model == "offline" or model.startswith("scripted:")
        self._model = "gpt-4o" if ours else model.removeprefix("openai/")
        counter = counter_for(model)
        if not counter.exact:
            raise Refused(f"Model '{model}' is unknown to the estimator")
        self._encoding = counter.name

    def text(self, text: str) -> int:
        return count_text(text, self._encoding)

    def message(self, message: Message) -> int:
        unknown = [type(block).__name__.lower() for block in message.content if not isinstance(block, Text)]
        if message.role == "user" and unknown:
            raise Refused(f"Unknown content type: {unknown[0]}")
        tokens = 1 + 3 + self.text(message.text)
        if message.role == "user" and message.name:
            tokens += 1 + self.text(message.name)
        if message.role == "assistant":
            tokens += 2 if self._model.startswith("o4") else 0
            tokens += self._calls(message)
        return tokens

    def _calls(self, message: Message) -> int:
        calls = message.tool_calls
        if not calls:
            return 0
        if len(calls) == 1:
            return 6 - 1 + 2 * self.text(calls[0].name) + self.text(calls[0].arguments)
        return 6 + 15 + sum(7 + self.text(call.name) + self._arguments(call.arguments) for call in calls)

    def _arguments(self, arguments: str) -> int:
        if not arguments.strip():
            return 0
        try:
            body = json.loads(arguments, parse_constant=int)  # NaN is no JSON, and no int
            written = {key: as_java(value) for key, value in body.items()} if isinstance(body, dict) else None
        except (ValueError, RecursionError):  # a model may write anything, and nest it as deep as it likes
            written = None
        if written is None:
            raise Refused(f"The arguments of a call are no JSON object: {arguments[:80]}")
        return sum(2 + self.text(key) + self.text(value) for key, value in written.items())

    def request(self, messages: Sequence[Message]) -> int:
        return 3 + sum(map(self.message, messages)) - (1 if self._model.startswith("o") else 0)


def as_java(value: Any) -> str:
    """A JSON value as Java's `String.valueOf` writes it."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}={as_java(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_java, value)) + "]"
    return _java_double(value) if isinstance(value, float) else str(value)


def _java_double(value: float) -> str:
    """The shortest digits, as in Python, but with an exponent below 0.001 and from ten million on: 2.0, 1.0E7, 1.5E-4."""
    from decimal import Decimal

    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    digits, exponential, exponent = f"{Decimal(repr(value)).normalize():E}".partition("E")
    if not exponential:
        return digits  # Infinity
    return f"{digits}{'' if '.' in digits else '.0'}E{int(exponent)}"


# -- in a session of ours --------------------------------------------------------------------------------------------


class Memory:
    """What such a memory would hold of a history, message after message; looks at each once."""

    def __init__(self, policy: Policy, model: str) -> None:
        self._keep = policy.keep_system_first
        most = policy.limit or 1
        self._limit = token_limit(most, _Kept(OpenAiEstimator(model))) if policy.kind == "tokens" else Limit(most)
        self._seen = 0
        self._held: Messages = ()
        self._first: Messages = ()

    def window(self, history: History) -> tuple[str, ...]:
        """The ids that a request shows, in order. Right behind a question it stands behind what the memory held before it."""
        if any(self._is_dropped(history, message) for message in (*self._held, *self._first)):
            self._seen, self._held, self._first = 0, (), ()  # a turn was taken back
        for message in history.newest(self._seen):
            self._seen += 1
            if self._is_dropped(history, message):
                continue
            before = evicted(self._held, self._limit)
            self._held = added(self._held, message, self._limit, keep_system_first=self._keep)
            self._first = (*before, message) if message.role == "user" else ()
        return tuple(message.id for message in self._first or evicted(self._held, self._limit))

    def sent(self, history: History) -> tuple[str, ...]:
        """The ids to send. Raises Refused where none is left: the framework throws then, and no provider takes it."""
        window = self.window(history)
        if not window:
            raise Refused("messages cannot be null or empty: the window has evicted all of them")
        return window

    @staticmethod
    def _is_dropped(history: History, message: Message) -> bool:
        return message.id in history.ghosts and history.ghosts[message.id].op == "drop"

    def edits(self, history: History, turn: int) -> tuple[Edit, ...]:
        """What turns the window as it stands into this one: messages leave, and may come back."""
        wanted, now = self.window(history), history.window()
        gone = tuple(id for id in now if id not in set(wanted))
        back = tuple(id for id in wanted if id in history.ghosts)
        kind = "tokens" if self._limit.tokens else "messages"
        measured = self._limit.of_all([history.messages[id] for id in now])
        reason = Reason(f"langchain4j.{kind}", self._limit.most, measured, turn)
        both = (("evict", gone), ("restore", back))
        return tuple(Edit(op, ids, sum(history.tokens[id] for id in ids), reason) for op, ids in both if ids)  # type: ignore[arg-type]


@dataclass(slots=True)
class _Kept:
    """An estimator that weighs a message once."""

    inner: OpenAiEstimator
    known: dict[str, int] = field(default_factory=dict)

    def message(self, message: Message) -> int:
        if message.id not in self.known:
            self.known[message.id] = self.inner.message(message)
        return self.known[message.id]

    def request(self, messages: Sequence[Message]) -> int:
        return self.inner.request(()) + sum(map(self.message, messages))
