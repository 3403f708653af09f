"""A recording under policies: a row for each request that was recorded, and what they come to.

The recording is read once for all policies, and each message is counted once. What a window has let go keeps a line in an
index and no text, so that a long recording needs the memory of its windows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ctxeng_cli.core.budget import Edit
from ctxeng_cli.core.errors import Overflow
from ctxeng_cli.core.events import (
    Entry,
    Event,
    Finding,
    HookAnswered,
    MessageAdded,
    PartDefined,
    PolicyRow,
    ReplayRequest,
    RequestSent,
    Source,
    SummaryMade,
    WindowEdited,
)
from ctxeng_cli.core.history import History, State
from ctxeng_cli.core.messages import Message
from ctxeng_cli.core.request import Request, ToolDefinition, text_hash
from ctxeng_cli.core.tokens import PRIMING, Counter
from ctxeng_cli.core.view import Context, context
from ctxeng_cli.lint import check
from ctxeng_cli.spec import Policy
from ctxeng_cli.spec.policy import Offload
from ctxeng_cli.transcripts import Asked, Recording
from ctxeng_cli.window import Hold, Pins, Wanted, budgets_of, memory_of, shown, start
from ctxeng_cli.window import held as run
from ctxeng_cli.window.langchain4j import Refused
from ctxeng_cli.window.offload import READ
from ctxeng_cli.window.summarize import summarizing, summary_of

AGENT = ""
_EVICTED = ("evict", "drop", "replace")
_OUTSIDE = ("command.", "turn.", "system.")
"""Rules of edits that no window policy made: a person's, or a failed turn's. They hold under any policy."""
ROOM = 6000
"""What a request of the simulated summarizer may hold, in tokens."""
_LEFT = Message("user")
"""Stands in the history of a simulation for a message that has left the window."""

Limit = Callable[[Mapping[str, Any]], int]
"""Answers the limit of a turn, in tokens, from what a function may ask for (`agent.limit`)."""


@dataclass(frozen=True, slots=True)
class Run:
    """What a recording is put through: a policy, and what is known of the model behind it.

    `limit` answers for a policy of kind `python` where the recording does not hold what the function answered.
    """

    policy: Policy
    name: str = ""
    context_window: int | None = None
    max_output: int | None = None
    limit: Limit | None = None
    image_tokens: int | None = None
    """What an image counts, where the policy is an agent's."""
    holds: int | None = None
    """What the model takes: more is told by the lint, whether it bounds the policy or not."""

    def __str__(self) -> str:
        return self.name or str(self.policy)


@dataclass(frozen=True, slots=True)
class Row:
    """A request under one policy. `simulated`: a summary in its window was written by the offline model."""

    run: int
    """Which of the policies, from 0."""
    turn: int
    request: ReplayRequest
    simulated: bool = False
    sent: Sequence[Message] = ()
    """The messages as the model would see them."""


def simulate(recording: Recording, runs: Sequence[Run], counter: Counter, provider: str = "openai") -> Iterator[Row]:
    """Each recorded request under each policy, in the order of the recording.

    Costs what is new in a request and the window that it holds. Raises InputError where the recording can't be read on.
    """
    simulations = [_Simulation(one, recording, counter, provider) for one in runs]
    for item in recording:
        if isinstance(item, Message):
            tokens = counter.message(item)
            for simulation in simulations:
                simulation.add(item, tokens)
        elif isinstance(item, Asked):
            for number, simulation in enumerate(simulations):
                yield Row(number, simulation.turn, simulation.request(item), simulation.simulated, simulation.sent_messages)
                simulation.forget()
        else:
            for simulation in simulations:
                simulation.recorded(item)


def look(
    recording: Recording,
    one: Run,
    counter: Counter,
    provider: str = "openai",
    *,
    request: int | None = None,
    turn: int | None = None,
) -> Context | None:
    """The window of one request under a policy: of the last one, of the last of a turn, or of the one asked for. None where
    the recording has no such request."""
    fits = [
        row.request.request
        for row in simulate(recording, (one,), counter, provider)
        if request in (None, row.request.request) and turn in (None, row.turn)
    ]
    simulation = _Simulation(one, recording, counter, provider)
    for item in recording if fits else ():
        if isinstance(item, Message):
            simulation.add(item, counter.message(item))
        elif isinstance(item, Asked):
            row = simulation.request(item)
            if row.request == fits[-1]:
                view = context(simulation.state, AGENT, simulation.sent(row), simulation.turn, counter)
                return replace(view, model=recording.model, provider=provider)
        else:
            simulation.recorded(item)
    return None


class _Simulation:
    def __init__(self, one: Run, recording: Recording, counter: Counter, provider: str) -> None:
        self.run, self.policy, self.counter, self.provider = one, one.policy, counter, provider
        policy = Policy() if one.policy.kind == "python" else one.policy
        self.budgets = budgets_of(policy, one.context_window, one.max_output, provider)
        self.limited = one.policy.kind != "python"
        self.verbatim = one.policy.kind == "as-recorded" and recording.format != "ctxeng"
        """Whether each request is shown as it stands in a recording of another tool's, message for message."""
        self.order: list[str] = []
        self.said_tokens = 0
        self.offloads = any(isinstance(step, Offload) for step in one.policy.pipeline)
        self.recording = recording
        self.parameters = {**({"model": recording.model} if recording.model else {}), **recording.parameters}
        self.state, self.turn, self.seq, self.number = State(), 0, 0, 0
        self.sent_messages: list[Message] = []
        self.evicted: list[str] = []
        self.left: list[str] = []
        """What has left since the last request, summarized messages among it."""
        self.made = 0
        self.before: list[str] = []
        self.weighed = 0
        """Tokens of what the last request named."""
        self.pins = Pins(one.policy.pin)
        model = recording.model if counter.exact and recording.model else "gpt-4o"
        self.memory = memory_of(one.policy, model)
        self.shown: dict[str, Message] = {}
        """Messages with the texts that stand in, by their reference."""
        self.simulated = False
        self.summaries: dict[tuple[tuple[str, ...], str | None], SummaryMade] = {}
        """Those that the recording holds."""
        self.weights: dict[str, int] = {}
        """Tokens of tool definitions by hash."""
        self.tools: tuple[ToolDefinition, ...] = ()
        self.refs: list[str] = []
        self.fixed = self.unnamed = PRIMING
        """What a request weighs besides messages, and the part of it that no reference names."""
        self.set_tools(recording.tools)

    @property
    def history(self) -> History:
        return self.state.history(AGENT)

    def record(self, event: Event) -> None:
        if isinstance(event, WindowEdited):
            self.evicted += [id for edit in event.edits if edit.op in _EVICTED for id in edit.messages]
            self.left += [id for edit in event.edits if edit.op in (*_EVICTED, "summarize") for id in edit.messages]
            self.made += sum(edit.op == "summarize" for edit in event.edits)
        self.seq += 1
        self.state.apply(Entry(self.seq, "", self.turn, AGENT, event))

    # -- what the recording holds --

    def add(self, message: Message, tokens: int) -> None:
        if message.role == "user":
            self.turn += 1
            self.state.unsummarized = False
            self.limited = self.policy.kind != "python"
            edits = start(self.history, self.policy, self.turn)
            if edits:
                self.record(WindowEdited(edits=edits))
        if self.verbatim:
            self.order.append(message.id)
            self.said_tokens += tokens
        self.record(MessageAdded(message=message, tokens=tokens))

    def recorded(self, event: SummaryMade | HookAnswered | WindowEdited | PartDefined) -> None:
        """Take in what the recording tells besides messages: answers from outside; under `as-recorded` what was decided."""
        if self.policy.kind == "as-recorded":
            self.record(event)
        elif isinstance(event, SummaryMade):
            self.summaries[event.messages, event.absorbs] = event
        elif isinstance(event, HookAnswered):
            if event.function == self.policy.function and isinstance(event.value, int) and event.value > 0:
                self.set_limit(event.value)
        elif isinstance(event, WindowEdited):
            edits = tuple(edit for edit in event.edits if edit.reason.rule.startswith(_OUTSIDE) and self._applies(edit))
            self._bring_back({id for edit in edits if edit.op == "restore" for id in edit.messages})
            if edits:
                self.record(WindowEdited(edits=edits))

    def _applies(self, edit: Edit) -> bool:
        """Whether an edit from outside says something here: a summary that left may never have been made."""
        return bool(edit.messages) or edit.text == self.history.summary

    def _bring_back(self, ids: set[str]) -> None:
        """Read messages again whose texts were let go: somebody has restored them. Another pass, for what is rare."""
        left = {id for id in ids if self.history.messages.get(id) is _LEFT}
        if left:
            for item in replace(self.recording).source(replace(self.recording)):
                if isinstance(item, Message) and item.id in left:
                    self.history.messages[item.id] = item

    def set_tools(self, tools: tuple[ToolDefinition, ...]) -> None:
        own = tools
        if self.policy.kind != "as-recorded":  # the tool that reads back comes and goes with the policy
            own = tuple(tool for tool in tools if tool.name != READ.name)
            own = (*own, READ) if self.offloads else own
        if own == self.tools:
            return
        self.tools, self.refs = own, [text_hash(_body(tool)) for tool in own]
        for ref, tool in zip(self.refs, own, strict=True):
            if ref not in self.weights:
                self.weights[ref] = self.counter.tool(tool)
        self.unnamed = self.counter.tools_overhead(own) + PRIMING
        self.fixed = sum(self.weights[ref] for ref in self.refs) + self.unnamed

    def set_limit(self, limit: int) -> None:
        self.limited = True
        self.budgets = budgets_of(self.policy.limited(limit), self.run.context_window, self.run.max_output, self.provider)

    # -- a request --

    def request(self, asked: Asked) -> ReplayRequest:
        if asked.tools is not None:
            self.set_tools(asked.tools)
        if not self.limited and self.run.limit is not None:
            holds = self.run.context_window
            left = None if holds is None else holds - self.history.window_tokens
            self.set_limit(self.run.limit({"session": "", "inputs": {}, "model": self.recording.model, "tokens_left": left}))
        self.number += 1
        history, tools, fixed, why = self.history, self.tools, self.fixed, None
        first = not history.exchanges or not history.exchanges[-1].rounds
        window = tuple(self.order) if self.verbatim else None
        hold = Hold(history, self.policy, self.record, self.counter.text, self.state.texts, self.turn, self.pins, self.memory)
        for budget in self.budgets if self.policy.kind != "as-recorded" else ():
            try:
                held = run(hold.under(budget, fixed=fixed, first=first), self._summary)
            except (Overflow, Refused) as error:
                why = error.message
                continue
            window = held.window
            if held.over and first:
                why = f"{held.over:,} {budget.unit} over the limit, sent all the same (overflow=keep)"
            elif held.over:
                still = held.over - (fixed - PRIMING if budget.unit == "tokens" else 0)
                tools, fixed = (), PRIMING
                if still > 0:
                    why = f"{still:,} {budget.unit} over the limit: what a tool has answered must stay"
        sent, refs = shown(history, self.state.texts, self.shown, window)
        self.sent_messages = sent
        rewritten = frozenset(ref.partition("=")[0] for ref in refs if "=" in ref) if history.overrides else frozenset()
        refs = [*self.refs, *refs] if tools else refs
        tokens = (self.said_tokens if self.verbatim else history.window_tokens) + fixed
        row = ReplayRequest(
            policy=str(self.run),
            request=self.number,
            pending=asked.pending,
            window=history.window() if window is None else window,
            tokens=tokens,
            evicted=tuple(self.evicted),
            stable_prefix_tokens=self._stable(refs),
            lint=check(
                Request(tuple(sent), tools, None, self.parameters),
                provider=self.provider,
                tokens=tokens,
                context_window=self.run.holds,
                rewritten=rewritten,
            ),
            overflow=why,
            summarized=self.made,
            recorded_input=asked.recorded.input if asked.recorded else None,
        )
        self.made = 0
        self.before, self.weighed = refs, row.tokens - (self.unnamed if tools else PRIMING)
        return row

    def forget(self) -> None:
        """Let go of the texts of what has left since the last request: nothing but their place is needed any more."""
        history = self.history
        for id in self.left:
            if id in history.ghosts:
                history.messages[id] = _LEFT
                self.shown.pop(f"{id}={history.overrides.get(id)}", None)
        self.evicted, self.left = [], []

    def _summary(self, wanted: Wanted) -> str | None:
        """The recorded summary of these messages, else one that the offline model writes: a replay asks no model."""
        state = self.state
        if wanted.key in state.summaries:
            return state.summaries[wanted.key]
        if state.unsummarized:
            return None
        made = self.summaries.get(wanted.key)
        if made is None:
            self.simulated = True
            text = written(summarizing(self.history, state.texts, wanted, ROOM, self.counter.text))
            made = summary_of(self.history, wanted, text, "simulated", self.counter)
        self.record(made)
        return made.hash

    def _stable(self, refs: list[str]) -> int:
        """Tokens of the longest prefix that this request shares with the one before."""
        if self.before and refs[: len(self.before)] == self.before:
            return self.weighed
        total, tokens = 0, self.history.tokens
        for before, now in zip(self.before, refs, strict=False):
            if before != now:
                break
            if now[0] == "#":
                total += self.weights.get(now, self.history.summary_tokens)
            else:
                total += tokens[now.partition("=")[0]]
        return total

    def sent(self, row: ReplayRequest) -> RequestSent:
        """The request that was just answered, as an event of a session: what a look into its window needs."""
        for tool, hash in zip(self.tools, self.refs, strict=True):
            source = Source(key=f"tools.{tool.name}")
            self.record(PartDefined(hash=hash, part="tools", source=source, text=_body(tool), tokens=self.weights[hash]))
        budget, count = self.budgets[0], self.history.window_count
        used = row.tokens if budget.unit == "tokens" else count
        free = None if budget.room is None else budget.room - used
        with_tools = any(ref in self.weights for ref in self.before)
        overhead = PRIMING + (self.counter.tools_overhead(self.tools) if with_tools else 0)
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
            parameters=self.parameters,
            fingerprint="",
            lint=row.lint,
        )  # fmt: skip


def _body(tool: ToolDefinition) -> str:
    kept = {"extra": tool.extra} if tool.extra else {}
    body = {"name": tool.name, "description": tool.description, "parameters": tool.parameters, **kept}
    return json.dumps(body, ensure_ascii=False)


def written(writing: Generator[str, str, str], write: Callable[[str], str] | None = None) -> str:
    """The summary that `write` makes out of what it is asked with; without one, the offline model."""
    from ctxeng_cli.models.offline.digest import digest

    try:
        body = next(writing)
        while True:
            body = writing.send((write or digest)(body))
    except StopIteration as end:
        text: str = end.value
        return text


class Summary:
    """What the requests of a recording come to under one policy, row after row."""

    def __init__(self, one: Run) -> None:
        self.row = PolicyRow(str(one), 0, 0, 0, 0, 0, 0, 0.0)
        self._stable = 0

    def add(self, row: Row) -> None:
        was, new = self.row, row.request
        self._stable += new.stable_prefix_tokens
        tokens = was.input_tokens + new.tokens
        self.row = replace(
            was,
            requests=was.requests + 1,
            peak_tokens=max(was.peak_tokens, new.tokens),
            input_tokens=tokens,
            evicted_messages=was.evicted_messages + len(new.evicted),
            summaries=was.summaries + new.summarized,
            illegal_requests=was.illegal_requests + is_illegal(new.lint),
            overflows=was.overflows + (new.overflow is not None),
            stable_prefix_share=round(self._stable / tokens, 4) if tokens else 0.0,
            label="summaries: simulated" if row.simulated else was.label,
        )


def summary(one: Run, rows: Iterable[Row]) -> PolicyRow:
    """What the requests of a recording come to under one policy."""
    whole = Summary(one)
    for row in rows:
        whole.add(row)
    return whole.row


def is_illegal(lint: Iterable[Finding]) -> bool:
    return any(finding.severity == "error" for finding in lint)
