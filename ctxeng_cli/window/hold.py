"""Hold a window under its budget before a request: what is tried first, what leaves, and what happens when that is not
enough (SPEC 3). The engine and a replay run this same code.

It decides and applies: each decision is handed to `record`, which folds it into the history before the next one is made.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ctxeng_cli.core.budget import Budget, Edit, Reason
from ctxeng_cli.core.events import Event, PartDefined, Source, WindowEdited
from ctxeng_cli.core.history import History
from ctxeng_cli.spec.policy import Policy, Summarize
from ctxeng_cli.window.cap import Rewritten, cap, newest_results
from ctxeng_cli.window.fit import overflow, squeeze
from ctxeng_cli.window.pins import Pins
from ctxeng_cli.window.pipeline import apply_step
from ctxeng_cli.window.summarize import Fetch, Wanted, absorbed

if TYPE_CHECKING:
    from ctxeng_cli.window.langchain4j import Memory


@dataclass(frozen=True, slots=True)
class Held:
    """How it went: messages that left, and by how much what must stay is still over the budget.

    `window` are the ids to send, in order, where they are not the history's own.
    """

    evicted: int
    over: int
    window: tuple[str, ...] | None = None


Holding = Generator[Wanted, str | None, Held]
"""A window being held: yields the summaries that it wants, is sent the hash of each or None, and returns how it went."""


def held(holding: Holding, fetch: Callable[[Wanted], str | None]) -> Held:
    """Run it to its end, with summaries from a plain function."""
    try:
        wanted = next(holding)
        while True:
            wanted = holding.send(fetch(wanted))
    except StopIteration as end:
        result: Held = end.value
        return result


def memory_of(policy: Policy, model: str) -> Memory | None:
    """Another framework's memory, where the policy is compatible with one."""
    if policy.compat is None:
        return None
    from ctxeng_cli.window.langchain4j import Memory

    return Memory(policy, model)


@dataclass(frozen=True, slots=True)
class Hold:
    """What the window of one agent is held with. `count` counts a text's tokens, `defined` are the texts of the log."""

    history: History
    policy: Policy
    record: Callable[[Event], object]
    count: Callable[[str], int]
    defined: Container[str]
    turn: int
    pins: Pins
    memory: Memory | None = None
    """Another framework's memory that holds the window instead (`compat`)."""

    def under(self, budget: Budget, *, fixed: int, first: bool) -> Holding:
        """Bring the window under a budget; `held` runs this to its end. `fixed` is what is sent besides it; `first` says that
        no tool has run in this turn.

        Raises Overflow before the first request of a turn where the policy says so, with nothing evicted.
        """
        if self.memory is not None:
            edits = self.memory.edits(self.history, self.turn)
            if edits:
                self.record(WindowEdited(edits=edits))
            return Held(sum(len(edit.messages) for edit in edits), 0, self.memory.sent(self.history))
        yield from self._pipeline(budget, fixed)
        edits, over = self._squeeze(budget, fixed)
        fate = self.policy.overflow if first else "truncate"
        if over and fate == "error":
            raise overflow(self.history, budget, over, fixed, self.pins.of(self.history))
        if edits:
            self.record(WindowEdited(edits=edits))
        if over and fate == "truncate":
            self._shorten(budget, over, first)
            over = self._squeeze(budget, fixed)[1]
            if over and first:
                raise overflow(self.history, budget, over, fixed, self.pins.of(self.history))
        return Held(sum(len(edit.messages) for edit in edits), over)

    def _squeeze(self, budget: Budget, fixed: int) -> tuple[tuple[Edit, ...], int]:
        return squeeze(self.history, budget, fixed=fixed, turn=self.turn, pinned=self.pins.of(self.history))

    def _pipeline(self, budget: Budget, fixed: int) -> Fetch:
        """What the policy tries before anything is evicted, step by step, once the window is full."""
        room, low = budget.room, budget.low
        if room is None or low is None or not self.policy.pipeline:
            return
        full = self._measured(budget, fixed) > room
        for step in self.policy.pipeline:
            over = self._measured(budget, fixed) - low
            if isinstance(step, Summarize):
                limit = room * step.over // 100
                if (full and over > 0) or self._measured(budget, fixed) > limit:
                    yield from self._summarize(budget, step, fixed, min(limit, room))
            elif full and over > 0 and budget.unit == "tokens":
                self._rewrite(apply_step(self.history, step, over, self.count, limit=low, turn=self.turn), "tool_result")

    def _measured(self, budget: Budget, fixed: int) -> int:
        return self.history.window_tokens + fixed if budget.unit == "tokens" else self.history.window_count

    def _summarize(self, budget: Budget, step: Summarize, fixed: int, limit: int) -> Fetch:
        """Ask for a summary of the older exchanges, and put it in their place when there is one."""
        ids = absorbed(self.history, step, self.pins.of(self.history))
        if not ids:
            return
        hash = yield Wanted(ids, self.history.summary)
        if hash is not None:
            reason = Reason("summarize", limit, self._measured(budget, fixed), self.turn)
            tokens = sum(self.history.tokens[id] for id in ids)
            self.record(WindowEdited(edits=(Edit("summarize", ids, tokens, reason, hash),)))

    def _shorten(self, budget: Budget, over: int, first: bool) -> None:
        """Shorten what is new in the window: the question before a turn's first request, results afterwards."""
        if budget.unit != "tokens" or not self.history.exchanges:
            return
        question = self.history.exchanges[-1].question
        ids = ([question] if question else []) if first else newest_results(self.history)
        room = budget.room or 0
        reason = Reason("window.overflow", room, room + over, self.turn)
        self._rewrite(cap(self.history, ids, over, self.count, reason), "user" if first else "tool_result")

    def _rewrite(self, items: Sequence[Rewritten], kind: str) -> None:
        """Record texts that stand in the place of messages, then the edits that put them there."""
        for item in items:
            hash = item.edit.text or ""
            if hash not in self.defined:
                source = Source(message=item.edit.messages[0])
                self.record(PartDefined(hash=hash, part=kind, source=source, text=item.text, tokens=self.count(item.text)))
        if items:
            self.record(WindowEdited(edits=tuple(item.edit for item in items)))
