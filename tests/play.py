"""Turns as plays: an agent wired to scripted replies and to tools in memory, its events collected."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxeng_cli.agent import Agent, Outcome, Summarizer, Wires, take_turn
from ctxeng_cli.assembly import parse
from ctxeng_cli.core.events import Entry, Event, RequestSent
from ctxeng_cli.core.history import History
from ctxeng_cli.core.messages import ToolCall
from ctxeng_cli.core.ports import Model
from ctxeng_cli.core.redact import Redactor
from ctxeng_cli.core.tokens import Counter
from ctxeng_cli.core.view import rebuild
from ctxeng_cli.lint import check
from ctxeng_cli.models.scripted import Reply, Scripted
from ctxeng_cli.session.journal import Journal, NoLines
from ctxeng_cli.spec import AgentSpec, ModelSpec, TextSource, parse_policy
from ctxeng_cli.tools import PythonTool

CLOCK = "2026-12-01T09:30:00.000+01:00"


def call(name: str, arguments: str = "{}", id: str = "c1") -> ToolCall:
    return ToolCall(id, name, arguments)


def says(text: str = "", *calls: ToolCall, error: str | None = None, delay_s: float = 0.0) -> Reply:
    return Reply(text, calls, error, delay_s)


@dataclass
class Play:
    """A wired agent. `say` takes a turn; `entries` is what was recorded, signals included."""

    agent: Agent
    journal: Journal
    wires: Wires
    entries: list[Entry] = field(default_factory=list)

    def say(self, text: str, **inputs: Any) -> Outcome:
        return asyncio.run(take_turn(self.agent, text, inputs, self.wires))

    @property
    def history(self) -> History:
        return self.wires.history(self.agent)

    def events(self, kind: type[Event]) -> list[Any]:
        return [e.event for e in self.entries if isinstance(e.event, kind)]

    def types(self) -> list[str]:
        return [e.event.type for e in self.entries if e.event.kind != "signal"]

    def window(self) -> list[str]:
        """Role and text of what the window holds."""
        return [f"{self.history.messages[id].role}: {self.history.messages[id].text}" for id in self.history.window()]


def play(
    *replies: Reply,
    window: str = "unlimited",
    system: str | None = None,
    user: str | None = None,
    tools: Iterable[Callable[..., Any]] = (),
    timeout_s: float = 5.0,
    max_rounds: int = 20,
    model: Model | None = None,
    environ: Mapping[str, str] | None = None,
    summaries: Iterable[Reply] | None = None,
    summary_room: int = 4000,
    limit: Callable[..., Any] | None = None,
) -> Play:
    """An agent on a stage of its own: no file, a clock that stands still."""

    def source(text: str | None, name: str) -> TextSource | None:
        return None if text is None else TextSource(text, name)

    spec = AgentSpec(
        "a", ModelSpec("scripted:play"), system=source(system, "system.md"), user=source(user, "user.md"),
        policy=parse_policy(window), max_rounds=max_rounds,
    )  # fmt: skip
    wired = {tool.definition.name: tool for tool in (PythonTool(f, timeout_s) for f in tools)}
    agent = Agent(
        spec, model or Scripted(replies), wired, Counter("o200k_base", True),
        parse(spec.system) if spec.system else None, parse(spec.user) if spec.user else None,
    )  # fmt: skip
    agent.limit = limit
    if summaries is not None:
        agent.summarizer = Summarizer(Scripted(summaries), "writer", "Summarize.", {"model": "writer"}, summary_room)
    entries: list[Entry] = []
    journal = Journal(NoLines(), [], lambda: CLOCK, Redactor(environ or {}), [entries.append])
    ticks = itertools.count()
    wires = Wires(
        lambda event: journal.record(event, "a"), journal.state, lambda: CLOCK, environ or {}, lambda: next(ticks) / 1000
    )
    journal.observers.append(lambda entry: _net(journal, entry))
    return Play(agent, journal, wires, entries)


def _net(journal: Journal, entry: Entry) -> None:
    """The net over the suite: every request that a test sends is legal and can be rebuilt from the log."""
    if isinstance(entry.event, RequestSent):
        request = rebuild(journal.state, entry.agent, entry.event)
        faults = [f for f in check(request) if f.severity == "error"]
        if faults or request.fingerprint != entry.event.fingerprint:
            journal.observers.clear()
            raise SystemExit(f"request {entry.event.request}: {faults or 'the log rebuilds another request'}")
        assert sum(entry.event.tokens.values()) == entry.event.budget["used_tokens"]
