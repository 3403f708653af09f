"""The fold: from the log's entries to what each agent's window holds, what left it, and why.

The laws kept here (SPEC 3): an *exchange* is a user message with all that answers it; a *round* is an assistant message
that calls tools, with all its results. A result belongs to the nearest earlier unanswered call with its id, since ids are
not unique in real recordings. The system message is unique and comes first; a newer one replaces it.

A fold never fails: events are facts. What it can't place is counted in `State.unknown`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from ctxeng_cli.core.budget import Edit, Reason
from ctxeng_cli.core.events import (
    Entry,
    MessageAdded,
    ModelAnswered,
    PartDefined,
    RequestSent,
    SessionOpened,
    Source,
    SpecChanged,
    StageFinished,
    SummaryMade,
    ToolCalled,
    ToolReturned,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    Unknown,
    WindowEdited,
)
from ctxeng_cli.core.messages import Message, ToolCall, number

RESTORED = "command.restore"
"""The rule of what a person brought back."""


@dataclass(slots=True)
class Round:
    """A call of one or more tools with its results: what leaves together inside an exchange."""

    ids: list[str]
    open: list[ToolCall]
    """Calls that have no result yet, in call order."""
    tokens: int = 0


@dataclass(slots=True)
class Exchange:
    """A user message with all that answers it. `question` is None for what stands before the first user message."""

    question: str | None
    ids: list[str] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Ghost:
    """A message that is not in the window any more."""

    op: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class Calibration:
    """How the counts of requests compare with the input tokens that a model reported for them."""

    calls: int = 0
    counted: int = 0
    reported: int = 0

    @property
    def ratio(self) -> float:
        """What a counted token weighs in reported ones; 1 before anything was reported."""
        return self.reported / self.counted if self.counted else 1.0

    def with_call(self, counted: int, reported: int) -> Calibration:
        return Calibration(self.calls + 1, self.counted + counted, self.reported + reported)


UNCALIBRATED = Calibration()


@dataclass(slots=True)
class History:
    """One agent's messages and its window over them. `apply` costs amortised constant time."""

    messages: dict[str, Message] = field(default_factory=dict)
    """All of them, in log order, ghosts included."""
    tokens: dict[str, int] = field(default_factory=dict)
    """By message id; with an override the tokens of the text that stands in."""
    sources: dict[str, Source] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)
    partial: set[str] = field(default_factory=set)
    ghosts: dict[str, Ghost] = field(default_factory=dict)
    overrides: dict[str, str] = field(default_factory=dict)
    """Message id → hash of the text that is sent in its place."""
    capped: dict[str, Ghost] = field(default_factory=dict)
    restored: set[str] = field(default_factory=set)
    """Messages that a person brought back: they stay."""
    system: str | None = None
    summary: str | None = None
    """The hash of the text that stands for older exchanges, behind the system message."""
    summary_tokens: int = 0
    exchanges: deque[Exchange] = field(default_factory=deque)
    requests: int = 0
    last_request: RequestSent | None = None
    calibration: Calibration = UNCALIBRATED
    """Of the session's model; begun anew with another one."""
    stages: list[StageFinished] = field(default_factory=list)
    """Of the running turn, or of the last one."""
    window_tokens: int = 0
    window_count: int = 0

    def window(self) -> tuple[str, ...]:
        """The ids of the messages that the window holds, in the order in which they are sent. A summary is none of them."""
        ids = [self.system] if self.system else []
        for exchange in self.exchanges:
            ids += exchange.ids
        return tuple(ids)

    def newest(self, seen: int) -> list[Message]:
        """The messages behind the first `seen`, in log order. Costs those alone."""
        return list(islice(reversed(self.messages.values()), len(self.messages) - seen))[::-1]

    def open_calls(self) -> list[ToolCall]:
        """Calls in the window that no result has answered yet, in call order."""
        return [call for exchange in self.exchanges for round in exchange.rounds for call in round.open]

    def cut_off(self, turn: int) -> Message | None:
        """What a turn's last answer had said when it was cut off, where it was."""
        last = next(reversed(self.messages.values()), None)
        return last if last and last.id in self.partial and self.turns[last.id] == turn else None

    # -- the fold ------------------------------------------------------------------------------------------------

    def add(self, event: MessageAdded, turn: int) -> None:
        message = event.message
        id = message.id
        self.messages[id] = message
        self.tokens[id] = event.tokens
        self.turns[id] = turn
        if event.source:
            self.sources[id] = event.source
        if event.partial:
            self.partial.add(id)
        if message.role == "system":
            if self.system is not None and self.system not in self.ghosts:
                self.ghosts[self.system] = Ghost("replace", Reason("system.changed", None, None, turn))
                self._weigh(self.system, -1)
            self.system = id
            self._weigh(id, +1)
        else:
            self._place(message)

    def _weigh(self, id: str, sign: int) -> None:
        self.window_tokens += sign * self.tokens[id]
        self.window_count += sign

    def _place(self, message: Message) -> None:
        id, tokens = message.id, self.tokens[message.id]
        self._weigh(id, +1)
        if message.role == "user" or not self.exchanges:
            self.exchanges.append(Exchange(id if message.role == "user" else None))
        exchange = self.exchanges[-1]
        if message.role == "tool":
            round = next((r for r in reversed(exchange.rounds) if any(c.id == message.tool_call_id for c in r.open)), None)
            if round is not None:
                call = next(c for c in round.open if c.id == message.tool_call_id)
                round.open.remove(call)
                round.ids.append(id)
                round.tokens += tokens
        elif message.tool_calls:
            exchange.rounds.append(Round([id], list(message.tool_calls), tokens))
        exchange.ids.append(id)
        exchange.tokens += tokens

    def edit(self, edit: Edit, texts: Mapping[str, PartDefined]) -> None:
        """Take an edit in. `texts` are the defined ones: what a summary weighs stands there."""
        ghost = Ghost(edit.op, edit.reason)
        if edit.text is not None and edit.op in ("summarize", "restore"):
            if edit.text in texts:  # a log with holes may have lost it
                self._summarize(edit.text, texts[edit.text].tokens)
        elif edit.text is not None and edit.text == self.summary:
            self._summarize(None, 0)
        known = [id for id in edit.messages if id in self.messages]
        if edit.op in ("cap", "clear", "offload"):
            for id in known:
                self.capped[id] = ghost
                if edit.text in texts:
                    self.overrides[id] = edit.text or ""
                self._reweigh(id, edit.tokens)
        elif edit.op == "restore":
            for id in known:
                self.ghosts.pop(id, None)
            if edit.reason.rule == RESTORED:
                self.restored.update(known)
            systems = [id for id, m in self.messages.items() if m.role == "system" and id not in self.ghosts]
            self.system = systems[-1] if systems else None
            self.rebuild()
        else:
            gone = [id for id in known if id not in self.ghosts]
            for id in gone:
                self.ghosts[id] = ghost
            if not self._pop(gone):
                self.rebuild()

    def _summarize(self, summary: str | None, tokens: int) -> None:
        """Another summary stands for older exchanges, or none."""
        self.window_tokens += tokens - self.summary_tokens
        self.window_count += (summary is not None) - (self.summary is not None)
        self.summary, self.summary_tokens = summary, tokens

    def _pop(self, gone: list[str]) -> bool:
        """Take off whole exchanges, or units of them, looking from the oldest on only as far as it must; False when the edit
        is of another kind."""
        left = set(gone)
        kept: list[Exchange] = []
        while left and self.exchanges:
            exchange = self.exchanges.popleft()
            if left.issuperset(exchange.ids):
                left.difference_update(exchange.ids)
                for id in exchange.ids:
                    self._weigh(id, -1)
                continue
            left -= self._trim(exchange, left, oldest=not kept)
            kept.append(exchange)
        self.exchanges.extendleft(reversed(kept))
        return not left

    def _trim(self, exchange: Exchange, gone: set[str], *, oldest: bool) -> set[str]:
        """Take whole rounds and single messages out of an exchange; answers what it took. The question goes with the oldest
        exchange alone: elsewhere what is left would belong to the exchange before it."""
        stay = [round for round in exchange.rounds if not gone.issuperset(round.ids)]
        held = {id for round in stay for id in round.ids}
        out = {id for id in exchange.ids if id in gone and id not in held}
        if not out or (exchange.question in out and not oldest):
            return set()
        exchange.ids = [id for id in exchange.ids if id not in out]
        exchange.rounds = stay
        if exchange.question in out:
            exchange.question = None
        for id in out:
            exchange.tokens -= self.tokens[id]
            self._weigh(id, -1)
        return out

    def _reweigh(self, id: str, tokens: int) -> None:
        """Another text stands in a message's place. Looks through the window, newest first."""
        more = tokens - self.tokens[id]
        self.tokens[id] = tokens
        if id in self.ghosts:
            return
        if id == self.system:
            self.window_tokens += more
        for exchange in reversed(self.exchanges):
            if id in exchange.ids:
                self.window_tokens += more
                exchange.tokens += more
                for round in exchange.rounds:
                    round.tokens += more if id in round.ids else 0
                return

    def rebuild(self) -> None:
        """Place the window's messages anew. Linear in the session; only for edits that are not the ordinary slide."""
        self.exchanges.clear()
        self.window_tokens, self.window_count = self.summary_tokens, int(self.summary is not None)
        if self.system in self.ghosts:
            self.system = None
        if self.system is not None:
            self._weigh(self.system, +1)
        for id, message in self.messages.items():
            if message.role != "system" and id not in self.ghosts:
                self._place(message)


@dataclass(slots=True)
class State:
    """The whole session as folded so far."""

    session: SessionOpened | None = None
    spec: SessionOpened | SpecChanged | None = None
    agents: dict[str, History] = field(default_factory=dict)
    texts: dict[str, PartDefined] = field(default_factory=dict)
    """Defined parts by hash."""
    summaries: dict[tuple[tuple[str, ...], str | None], str] = field(default_factory=dict)
    """The hash of a summary, by the messages that it stands for and the older summary that it takes in."""
    results: dict[str, ToolReturned] = field(default_factory=dict)
    """Results of the running round whose message is not in the history yet, by call id."""
    seq: int = 0
    turn: int = 0
    last_message: int = 0
    running: bool = False
    """A turn has started and neither finished nor failed."""
    turn_messages: list[str] = field(default_factory=list)
    turn_edits: list[Edit] = field(default_factory=list)
    turn_summary: str | None = None
    """The summary that stood when the turn began."""
    unsummarized: bool = False
    """A summary has failed in this turn."""
    answered: bool = False
    """A model has answered in the running turn."""
    unknown: int = 0

    def history(self, agent: str) -> History:
        found = self.agents.get(agent)
        if found is None:
            found = self.agents[agent] = History()
        return found

    def apply(self, entry: Entry) -> None:
        """Take one entry in. Never raises."""
        event = entry.event
        self.seq = max(self.seq, entry.seq)
        self.turn = max(self.turn, entry.turn)
        if isinstance(event, SessionOpened):
            self.session = self.spec = event
        elif isinstance(event, SpecChanged):
            known = self.spec and (self.spec.model, self.spec.tokenizer)
            if known != (event.model, event.tokenizer):
                self.history(entry.agent).calibration = UNCALIBRATED
            self.spec = event
        elif isinstance(event, TurnStarted):
            self.running, self.answered = True, False
            self.turn_messages, self.turn_edits = [], []
            self.results.clear()
            history = self.history(entry.agent)
            history.stages, self.turn_summary, self.unsummarized = [], history.summary, False
        elif isinstance(event, StageFinished):
            self.history(entry.agent).stages.append(event)
        elif isinstance(event, MessageAdded):
            self.last_message = max(self.last_message, number(event.message.id))
            self.turn_messages.append(event.message.id)
            self.history(entry.agent).add(event, entry.turn)
            if event.message.tool_call_id:
                self.results.pop(event.message.tool_call_id, None)
            if event.message.role == "assistant":
                self.answered = True
        elif isinstance(event, PartDefined):
            self.texts[event.hash] = event
        elif isinstance(event, WindowEdited):
            for edit in event.edits:
                self.history(entry.agent).edit(edit, self.texts)
            self.turn_edits += event.edits
        elif isinstance(event, SummaryMade):
            self._summary(event)
        elif isinstance(event, RequestSent):
            history = self.history(entry.agent)
            history.requests, history.last_request = event.request, event
        elif isinstance(event, ToolReturned):
            if event.message is None:
                self.results[event.id] = event
        elif isinstance(event, TurnFinished | TurnFailed):
            self.running = False
        elif isinstance(event, Unknown):
            self.unknown += 1
        elif isinstance(event, ModelAnswered):
            self._calibrate(self.history(entry.agent), event)
        elif isinstance(event, ToolCalled):
            pass

    @staticmethod
    def _calibrate(history: History, event: ModelAnswered) -> None:
        sent = history.last_request
        counted = int(sent.budget.get("used_tokens") or sum(sent.tokens.values())) if sent else 0
        if counted > 0 and event.usage.input > 0:
            history.calibration = history.calibration.with_call(counted, event.usage.input)

    def _summary(self, event: SummaryMade) -> None:
        if event.hash is None:
            self.unsummarized = True
            return
        source = Source(key="memory.pipeline.summarize", message=" ".join(event.messages))
        self.texts[event.hash] = PartDefined(hash=event.hash, part="summary", source=source, text=event.text, tokens=event.tokens)
        self.summaries[event.messages, event.absorbs] = event.hash


def fold(entries: Iterable[Entry]) -> State:
    """The state after all entries."""
    state = State()
    for entry in entries:
        state.apply(entry)
    return state
