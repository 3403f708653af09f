"""The fold from entries to things to draw. Chat, replay and plain output share it; it knows no rich and no width.

Texts in here are as they came: whoever draws makes them safe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxeng_cli.core.budget import Edit
from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.events import (
    Entry,
    Event,
    HookAnswered,
    MessageAdded,
    ModelAnswered,
    ModelDelta,
    ModelRetried,
    RequestSent,
    SessionHealed,
    SessionOpened,
    SpecChanged,
    SummaryMade,
    SummaryStarted,
    ToolCalled,
    ToolReturned,
    TurnCancelled,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    Unknown,
    WindowEdited,
)
from ctxeng_cli.core.history import History, State
from ctxeng_cli.core.messages import ranges
from ctxeng_cli.core.tokens import Counter, counter_for, counter_named
from ctxeng_cli.core.view import context
from ctxeng_cli.screen.drawables import (
    AnswerDone,
    Answered,
    AnswerPiece,
    Asked,
    Drawable,
    EditedMessage,
    Evictions,
    Notice,
    Opened,
    ToolTrip,
    Window,
)

PREVIEW = 400


def evictions(
    history: History, edits: tuple[Edit, ...], agent: str, turn: int, before: Mapping[str, int] | None = None
) -> Evictions:
    """The edits with the messages that they name. `history` is the one after the edits, `before` the counts before them."""

    def row(id: str) -> EditedMessage:
        message = history.messages[id]
        calls = " ".join(f"{call.name}({call.arguments[:PREVIEW]})" for call in message.tool_calls[:8])
        text = " ".join(part for part in (message.text[:PREVIEW], calls) if part)
        return EditedMessage(id, message.role, (before or history.tokens).get(id, history.tokens.get(id, 0)), text)

    rows = tuple((edit, tuple(row(id) for id in edit.messages if id in history.messages)) for edit in edits)
    return Evictions(agent, turn, rows, history.window_tokens)


@dataclass(slots=True)
class _Voice:
    """What an agent has said since its last request, and which of its tools run."""

    streamed: list[str] = field(default_factory=list)
    trips: list[ToolTrip] = field(default_factory=list)


class Board:
    """Entries in, drawables out. It folds a state of its own, or reads one that is folded before each `apply`.

    With `windows` false no window is assembled, which saves its cost where nobody looks. `unknown` counts events of a
    newer version.
    """

    def __init__(self, *, state: State | None = None, counter: Counter | None = None, windows: bool = True) -> None:
        self.state = State() if state is None else state
        self.counter = counter
        self.windows = windows
        self.unknown = 0
        self._owned = state is None
        self._voices: dict[str, _Voice] = {}

    def absorb(self, entry: Entry) -> None:
        """Take an entry in without drawing it: what happened before one looks."""
        if self._owned:
            self.state.apply(entry)

    def apply(self, entry: Entry) -> list[Drawable]:
        """What one entry gives to draw. Never raises over what an event holds."""
        event = entry.event
        before: dict[str, int] | None = None
        if isinstance(event, WindowEdited) and self._owned:
            tokens = self.state.history(entry.agent).tokens
            before = {id: tokens[id] for edit in event.edits for id in edit.messages if id in tokens}
        self.absorb(entry)
        if isinstance(event, WindowEdited):
            return [evictions(self.state.history(entry.agent), event.edits, entry.agent, entry.turn, before)]
        draw = _DRAW.get(type(event))
        return [] if draw is None else draw(self, entry, event)

    def voice(self, agent: str) -> _Voice:
        return self._voices.setdefault(agent, _Voice())

    def _message(self, entry: Entry, event: MessageAdded) -> list[Drawable]:
        message = event.message
        if message.role == "user":
            return [Asked(entry.agent, entry.turn, message.id, message.text)]
        if message.role != "assistant":
            return []
        voice = self.voice(entry.agent)
        said, voice.streamed = "".join(voice.streamed), []
        if not said and not message.text:
            return []
        streamed = bool(said) and (said.strip() == message.text.strip() or event.partial)
        return [AnswerDone(entry.agent, message.id, message.text, streamed, event.partial, bool(message.tool_calls))]

    def _sent(self, entry: Entry, event: RequestSent) -> list[Drawable]:
        self.voice(entry.agent).streamed = []
        if not self.windows:
            return []
        spec = self.state.spec
        counter = self.counter or (counter_named(spec.tokenizer, spec.exact) if spec else counter_for("offline"))
        try:
            return [Window(context(self.state, entry.agent, event, entry.turn, counter))]
        except InputError as error:  # a log with holes: say so, go on
            return [Notice("warning", str(error))]

    def _called(self, entry: Entry, event: ToolCalled) -> list[Drawable]:
        trip = ToolTrip(entry.agent, event.id, event.name, event.arguments)
        self.voice(entry.agent).trips.append(trip)
        return [trip]

    def _returned(self, entry: Entry, event: ToolReturned) -> list[Drawable]:
        trips = self.voice(entry.agent).trips
        called = next((trip for trip in trips if trip.id == event.id), None)
        if called is not None:
            trips.remove(called)
        message = self.state.history(entry.agent).messages.get(event.message or "")
        whole = event.text if event.text is not None else message.text if message is not None else None
        text = event.preview if whole is None else whole
        arguments = called.arguments if called else ""
        figures = (event.is_error, event.duration_s, event.tokens)
        return [ToolTrip(entry.agent, event.id, event.name, arguments, text, whole is not None, *figures)]

    def _ended(self, entry: Entry) -> list[Drawable]:
        """Close what a turn that ends left open: a half streamed answer, tools that never came back."""
        voice = self._voices.pop(entry.agent, _Voice())
        said = "".join(voice.streamed)
        open: list[Drawable] = [AnswerDone(entry.agent, "", said, True, True)] if said else []
        return [*open, *(Notice("warning", f"{trip.name} did not come to its end") for trip in voice.trips)]

    def _failed(self, entry: Entry, event: TurnFailed) -> list[Drawable]:
        ids = ", ".join(ranges(event.kept))
        kept = f"Kept in the history: {ids}." if event.kept else "The history is as it was before the turn."
        if event.error == "cancelled":
            return [*self._ended(entry), Notice("info", f"turn {entry.turn} has no answer. {kept}")]
        why = f"turn {entry.turn} failed ({event.error}): {event.message}"
        return [*self._ended(entry), Notice("error", why), Notice("info", kept)]

    def _finished(self, entry: Entry, event: TurnFinished) -> list[Drawable]:
        drawn = self._ended(entry)
        if event.limit:
            drawn.append(Notice("warning", f"turn {entry.turn} ended at the limit {event.limit}"))
        return drawn

    def _delta(self, entry: Entry, event: ModelDelta) -> list[Drawable]:
        self.voice(entry.agent).streamed.append(event.text)
        return [AnswerPiece(entry.agent, event.text)]

    def _retried(self, entry: Entry, event: ModelRetried) -> list[Drawable]:
        drawn: list[Drawable] = []
        voice = self.voice(entry.agent)
        if voice.streamed:
            drawn.append(AnswerDone(entry.agent, "", "".join(voice.streamed), True, True))
            voice.streamed = []
        return [*drawn, Notice("warning", f"attempt {event.attempt} failed: {event.reason}; again in {event.wait_s:,.1f} s")]

    def _healed(self, entry: Entry, event: SessionHealed) -> list[Drawable]:
        what = {
            "torn_line": f"the last line of the log was torn; {event.bytes:,} bytes were cut off",
            "unreadable_lines": f"{event.bytes:,} bytes of the log could not be read; they stay in the file",
            "open_turn": "the last turn had not ended; it was closed",
        }.get(event.what, event.what)
        return [Notice("warning", what + (f": {event.detail}" if event.detail else ""))]

    def _changed(self, entry: Entry, event: SpecChanged) -> list[Drawable]:
        pairs = [(key, pair) for key, pair in event.difference.items() if len(pair) == 2]
        changes = ", ".join(_change(key, before, after) for key, (before, after) in pairs)
        return [Notice("info", f"the spec changed. {changes}" if changes else "the spec changed.")]

    def _unknown(self, entry: Entry, event: Unknown) -> list[Drawable]:
        self.unknown += 1
        return [Notice("info", f"event {entry.seq}: {event.name}, of a newer version; kept, not understood")]

    def _summarized(self, entry: Entry, event: SummaryMade) -> list[Drawable]:
        what = " ".join(event.messages) + (" and the summary before them" if event.absorbs else "")
        if event.error is not None:
            return [Notice("warning", f"no summary of {what}: {event.error}. Nothing was deleted for it.")]
        cost = f", ${event.cost:,.4f}" if event.cost is not None else ""
        return [Notice("info", f"{event.model} summarized {what} in {event.tokens:,} tokens, {event.duration_s:,.1f} s{cost}")]

    def _started(self, entry: Entry, event: TurnStarted) -> list[Drawable]:
        self._voices.pop(entry.agent, None)
        return []

    def _answered(self, entry: Entry, event: ModelAnswered) -> list[Drawable]:
        return [Answered(entry.agent, event.usage, event.cost, event.duration_s, event.finish_reason, event.served)]


def _change(key: str, before: Any, after: Any) -> str:
    """One key of a changed spec; of a text, which is known by its hash alone, that it is another one."""
    if all(isinstance(value, str) and value.startswith("sha256:") for value in (before, after)):
        return f"{key}: another text"
    return f"{key}: {_short(before)} -> {_short(after)}"


def _short(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


_DRAW: dict[type[Event], Callable[[Board, Entry, Any], list[Drawable]]] = {
    SessionOpened: lambda board, entry, event: [Opened(entry.agent, event.session, event.model, event.policy)],
    SessionHealed: Board._healed,
    SpecChanged: Board._changed,
    TurnStarted: Board._started,
    MessageAdded: Board._message,
    RequestSent: Board._sent,
    SummaryStarted: lambda board, entry, event: [Notice("info", f"{event.model} summarizes {' '.join(event.messages)} …")],
    SummaryMade: Board._summarized,
    HookAnswered: lambda board, entry, event: [Notice("info", f"{event.hook}: {event.function} answered {event.value}")],
    ModelDelta: Board._delta,
    ModelRetried: Board._retried,
    ModelAnswered: Board._answered,
    ToolCalled: Board._called,
    ToolReturned: Board._returned,
    TurnCancelled: lambda board, entry, event: [Notice("warning", "cancelled")],
    TurnFailed: Board._failed,
    TurnFinished: Board._finished,
    Unknown: Board._unknown,
}
