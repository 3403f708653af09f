"""The recorder: append and flush, fold, then tell the observers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Protocol

from ctxeng_cli.core.codec import dumps, loads
from ctxeng_cli.core.events import Entry, Event, MessageAdded, RequestSent, SummaryMade, TurnFailed, TurnFinished, TurnStarted
from ctxeng_cli.core.history import State, fold
from ctxeng_cli.core.ports import Observer
from ctxeng_cli.core.redact import Redactor


class Lines(Protocol):
    """Where a journal writes."""

    def append(self, line: str) -> None: ...

    def sync(self) -> None: ...


class NoLines:
    """A journal that keeps nothing, for what is only looked at."""

    def append(self, line: str) -> None:
        pass

    def sync(self) -> None:
        pass


def _stored(event: Event) -> Event:
    """An event without the exact bodies that it carries for `--payload`: they can be built again."""
    if isinstance(event, RequestSent) and event.payload:
        return replace(event, payload=None)
    return replace(event, payloads=()) if isinstance(event, SummaryMade) and event.payloads else event


class Journal:
    """Gives events their envelope, message ids and turn numbers; keeps the state that they fold into.

    A signal passes the observers and is not written. Secrets are taken out before anything is written, folded or shown,
    so that log, screen and request agree.
    """

    def __init__(
        self,
        lines: Lines,
        entries: Iterable[Entry],
        clock: Callable[[], str],
        redact: Redactor,
        observers: Iterable[Observer] = (),
    ) -> None:
        self.lines, self._clock, self._redact = lines, clock, redact
        self.state: State = fold(entries)
        self.observers: list[Observer] = list(observers)

    def record(self, event: Event, agent: str) -> Entry:
        """Record one event for an agent. Raises SessionError when it can't be written; then nothing has changed."""
        state = self.state
        turn = state.turn + 1 if isinstance(event, TurnStarted) else state.turn
        if isinstance(event, MessageAdded) and not event.message.id:
            event = replace(event, message=event.message.with_id(f"m{state.last_message + 1}"))
        entry = Entry(state.seq + 1, self._clock(), turn, agent, event)
        if event.kind == "signal":
            state.seq = entry.seq
        else:
            line = dumps(replace(entry, event=_stored(event)))
            clean = self._redact(line)
            if clean != line:
                entry = loads(clean)
            self.lines.append(clean)
            state.apply(entry)
            if isinstance(event, TurnFinished | TurnFailed):
                self.lines.sync()
        self._tell(entry)
        return entry

    def _tell(self, entry: Entry) -> None:
        for observer in list(self.observers):
            try:
                observer(entry)
            except BrokenPipeError:
                raise
            except Exception as error:  # an observer can't hurt the turn
                self.observers.remove(observer)
                sys.stderr.write(f"ctxeng: a view was detached: {type(error).__name__}: {error}\n")
