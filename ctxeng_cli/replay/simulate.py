"""One recording under one policy: a row for each request that was recorded, and what they come to."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ctxeng_cli.core.errors import Overflow
from ctxeng_cli.core.events import (
    Entry,
    Event,
    Finding,
    MessageAdded,
    PartDefined,
    PolicyRow,
    ReplayRequest,
    RequestSent,
    Source,
    WindowEdited,
)
from ctxeng_cli.core.history import History, State
from ctxeng_cli.core.messages import Message
from ctxeng_cli.core.request import Request, text_hash
from ctxeng_cli.core.tokens import PRIMING, Counter
from ctxeng_cli.core.view import Context, context
from ctxeng_cli.lint import check
from ctxeng_cli.spec import Policy
from ctxeng_cli.transcripts import Recording
from ctxeng_cli.window import Hold, Pins, budgets_of, start

AGENT = ""
_GONE = ("evict", "drop", "replace", "summarize")


@dataclass(frozen=True, slots=True)
class Counted:
    """A recording with the tokens of its messages and tools: counted once, however many policies it is put through."""

    recording: Recording
    counter: Counter
    messages: tuple[int, ...]
    tools: tuple[int, ...]

    @property
    def fixed(self) -> int:
        """What each request holds besides messages."""
        return sum(self.tools) + self.counter.tools_overhead(self.recording.tools) + PRIMING


def counted(recording: Recording, counter: Counter) -> Counted:
    return Counted(recording, counter, tuple(map(counter.message, recording.messages)), tuple(map(counter.tool, recording.tools)))


def simulate(
    counted: Counted, policy: Policy, *, context_window: int | None = None, max_output: int | None = None
) -> Iterator[tuple[int, ReplayRequest]]:
    """Each recorded request with its turn. Costs what is new in a request and the window that it holds."""
    return _Simulation(counted, policy, context_window, max_output).run()


def look(counted: Counted, policy: Policy, *, request: int | None = None, turn: int | None = None) -> Context | None:
    """The window of one request under a policy: of the last one, of the last of a turn, or of the one asked for. None where
    the recording has no such request."""
    fits = [row.request for at, row in simulate(counted, policy) if request in (None, row.request) and turn in (None, at)]
    simulation = _Simulation(counted, policy, None, None)
    for at, row in simulation.run():
        if fits and row.request == fits[-1]:
            view = context(simulation.state, AGENT, simulation.sent(row), at, counted.counter)
            return replace(view, model=counted.recording.model)
    return None


class _Simulation:
    def __init__(self, counted: Counted, policy: Policy, context_window: int | None, max_output: int | None) -> None:
        self.counted, self.policy = counted, policy
        self.budgets = budgets_of(policy, context_window, max_output)
        self.state, self.turn, self.seq = State(), 0, 0
        self.evicted: list[str] = []
        self.before: list[str] = []
        self.pins = Pins(policy.pin)
        self.shown: dict[str, Message] = {}
        """Messages with the texts that stand in, by their reference."""
        bodies = ({"name": t.name, "description": t.description, "parameters": t.parameters} for t in counted.recording.tools)
        self.tools = [text_hash(json.dumps(body, ensure_ascii=False)) for body in bodies]
        self.weights = dict(zip(self.tools, counted.tools, strict=True))

    @property
    def history(self) -> History:
        return self.state.history(AGENT)

    def record(self, event: Event) -> None:
        if isinstance(event, WindowEdited):
            self.evicted += [id for edit in event.edits if edit.op in _GONE for id in edit.messages]
        self.seq += 1
        self.state.apply(Entry(self.seq, "", self.turn, AGENT, event))

    def run(self) -> Iterator[tuple[int, ReplayRequest]]:
        recording = self.counted.recording
        asked = iter(recording.asked)
        due = next(asked, None)
        number = 0
        for at in range(len(recording.messages) + 1):
            while due == at:
                number += 1
                due = next(asked, None)
                yield self.turn, self._request(number, recording.pending and due is None)
            if at < len(recording.messages):
                self._add(recording.messages[at], self.counted.messages[at])

    def _add(self, message: Message, tokens: int) -> None:
        if message.role == "user":
            self.turn += 1
            edits = start(self.history, self.policy, self.turn)
            if edits:
                self.record(WindowEdited(edits=edits))
        self.record(MessageAdded(message=message, tokens=tokens))

    def _request(self, number: int, pending: bool) -> ReplayRequest:
        history, tools, fixed, why = self.history, self.counted.recording.tools, self.counted.fixed, None
        first = not history.exchanges or not history.exchanges[-1].rounds
        hold = Hold(history, self.policy, self.record, self.counted.counter.text, self.state.texts, self.turn, self.pins)
        for budget in self.budgets:
            try:
                held = hold.under(budget, fixed=fixed, first=first)
            except Overflow as error:
                why = error.message
                continue
            if held.over and first:
                why = f"{held.over:,} {budget.unit} over the limit, sent all the same (overflow=keep)"
            elif held.over:
                still = held.over - (fixed - PRIMING if budget.unit == "tokens" else 0)
                tools, fixed = (), PRIMING
                if still > 0:
                    why = f"{still:,} {budget.unit} over the limit: what a tool has answered must stay"
        window = history.window()
        sent, refs = [history.messages[id] for id in window], list(window)
        for at, id in enumerate(window) if history.overrides else ():
            if id in history.overrides:
                refs[at] = ref = f"{id}={history.overrides[id]}"
                if ref not in self.shown:
                    self.shown[ref] = sent[at].with_text(self.state.texts[history.overrides[id]].text)
                sent[at] = self.shown[ref]
        refs = [*self.tools, *refs] if tools else refs
        row = ReplayRequest(
            policy=str(self.policy),
            request=number,
            pending=pending,
            window=window,
            tokens=history.window_tokens + fixed,
            evicted=tuple(self.evicted),
            stable_prefix_tokens=self._stable(refs),
            lint=check(Request(tuple(sent), tools)),
            overflow=why,
        )
        self.evicted, self.before = [], refs
        return row

    def sent(self, row: ReplayRequest) -> RequestSent:
        """The request that was just answered, as an event of a session: what a look into its window needs."""
        for tool, hash in zip(self.counted.recording.tools, self.tools, strict=True):
            body = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            text, tokens = json.dumps(body, ensure_ascii=False), self.weights[hash]
            self.record(PartDefined(hash=hash, part="tools", source=Source(key=f"tools.{tool.name}"), text=text, tokens=tokens))
        budget, count = self.budgets[0], len(row.window)
        used = row.tokens if budget.unit == "tokens" else count
        free = None if budget.room is None else budget.room - used
        with_tools = any(ref in self.weights for ref in self.before)
        overhead = PRIMING + (self.counted.counter.tools_overhead(self.counted.recording.tools) if with_tools else 0)
        return RequestSent(
            request=row.request,
            round=0,
            window=row.window,
            parts=tuple(self.before),
            tokens={"overhead": overhead},
            budget={
                "unit": budget.unit, "limit": budget.limit, "reserve": budget.reserve, "used": used, "free": free,
                "used_tokens": row.tokens,
            },
            fingerprint="",
            lint=row.lint,
        )  # fmt: skip

    def _stable(self, refs: list[str]) -> int:
        """Tokens of the longest prefix that this request shares with the one before."""
        total, tokens, tools = 0, self.history.tokens, len(self.tools)
        for at, (before, now) in enumerate(zip(self.before, refs, strict=False)):
            if before != now:
                break
            total += self.weights[now] if at < tools and now in self.weights else tokens[now.partition("=")[0]]
        return total


def summary(policy: Policy, rows: Iterable[ReplayRequest]) -> PolicyRow:
    """What the requests of a recording come to under one policy."""
    requests = peak = tokens = evicted = illegal = stable = overflows = 0
    for row in rows:
        requests += 1
        peak = max(peak, row.tokens)
        tokens += row.tokens
        evicted += len(row.evicted)
        illegal += is_illegal(row.lint)
        stable += row.stable_prefix_tokens
        overflows += row.overflow is not None
    share = round(stable / tokens, 4) if tokens else 0.0
    return PolicyRow(str(policy), requests, peak, tokens, evicted, 0, illegal, share, overflows)


def is_illegal(lint: Iterable[Finding]) -> bool:
    return any(finding.severity == "error" for finding in lint)
