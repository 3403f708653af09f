"""A session made by hand: two turns, a tool round with two parallel calls, an eviction. What every drawing shows."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.console import RenderableType

from ctxeng_cli.core.budget import Edit, Reason
from ctxeng_cli.core.events import (
    Entry,
    Event,
    Finding,
    HookAnswered,
    MessageAdded,
    ModelAnswered,
    ModelDelta,
    PartDefined,
    RequestSent,
    SessionOpened,
    Source,
    StageFinished,
    SummaryMade,
    SummaryStarted,
    ToolCalled,
    ToolReturned,
    TurnFinished,
    TurnStarted,
    Usage,
    WindowEdited,
)
from ctxeng_cli.core.messages import Message, ToolCall, assistant, system, tool_result, user
from ctxeng_cli.core.request import canonical
from ctxeng_cli.core.tokens import Counter
from ctxeng_cli.core.view import Context
from ctxeng_cli.screen.board import Board
from ctxeng_cli.screen.console import console_for
from ctxeng_cli.screen.drawables import Drawable, Evictions, ToolTrip, Window

AGENT = "weather"
BERN = ToolCall("c1", "get_climate", '{"city": "Bern", "month": 7}')
CAIRO = ToolCall("c2", "get_climate", '{"city": "Cairo", "month": 7, "units": ["mm", "°C"]}')
TOOL = canonical({"name": "get_climate", "description": "Typical figures of a month.", "parameters": {"type": "object"}}).decode()
REASON = Reason("window.tokens", 1_000, 1_234, 2)


def entries(*turns: tuple[int, Sequence[Event]], agent: str = AGENT) -> list[Entry]:
    """Events in envelopes, numbered from 1."""
    flat = [(turn, event) for turn, events in turns for event in events]
    return [Entry(n, "2026-01-01T00:00:00+00:00", turn, agent, event) for n, (turn, event) in enumerate(flat, 1)]


def opened() -> SessionOpened:
    return SessionOpened(
        session="demo", model="openai/gpt-5-mini", policy="tokens:1000", tokenizer="o200k_base", exact=True, spec="sha256:0"
    )


def added(id: str, message: Message, tokens: int, source: Source | None = None, partial: bool = False) -> MessageAdded:
    return MessageAdded(message=message.with_id(id), tokens=tokens, source=source, partial=partial)


def sent(request: int, window: tuple[str, ...], used: int, lint: tuple[Finding, ...] = ()) -> RequestSent:
    return RequestSent(
        request=request, round=1, window=window, parts=("#tool", *window), tokens={"overhead": 15}, tools=("get_climate",),
        budget={"unit": "tokens", "limit": 1_000, "reserve": 100, "used": used, "used_tokens": used, "free": 900 - used},
        fingerprint="sha256:1", lint=lint,
    )  # fmt: skip


def stage(name: str, before: int, after: int) -> StageFinished:
    return StageFinished(stage=name, changed=before != after, tokens_before=before, tokens_after=after, duration_ms=0.25)


def deltas(text: str, size: int = 7) -> list[Event]:
    return [ModelDelta(text=text[at : at + size]) for at in range(0, len(text), size)]


INSTRUCTION = "You answer questions about the climate. 你只引用表格里的数字。"
ANSWER = "Bern has 18.8 °C and 110 mm of rain in July,\nCairo 28.7 °C and no rain."


def session(streamed: bool = True) -> list[Entry]:
    """The sample session, with the deltas of its answers or as a log keeps it."""
    first: list[Event] = [
        TurnStarted(inputs={}, clock="2026-01-01T00:00:00+00:00"),
        stage("system", 0, 42),
        added("m1", system(INSTRUCTION), 46, Source("prompts/weather.md", 1)),
        added("m2", user("What can you do?"), 9),
        PartDefined(hash="#tool", part="tools", source=Source(key="tools[0]"), text=TOOL, tokens=30),
        sent(1, ("m1", "m2"), 100),
        *(deltas("I look up typical monthly figures.") if streamed else ()),
        added("m3", assistant("I look up typical monthly figures."), 11),
        ModelAnswered(message="m3", usage=Usage(100, 7), duration_s=0.5),
        TurnFinished(text="I look up typical monthly figures.", message="m3"),
    ]
    question = "What is the climate in Bern and in Cairo in July? 七月的伯尔尼和开罗天气如何？"
    second: list[Event] = [
        TurnStarted(inputs={}, clock="2026-01-01T00:00:00+00:00"),
        stage("system", 42, 42),
        added("m4", user(question), 33),
        HookAnswered(hook="memory.window", function="app:limit", value=1000),
        SummaryStarted(messages=("m2..m3",), model="offline"),
        SummaryMade(messages=("m2", "m3"), absorbs="#00", model="offline", error="the summary is empty"),
        WindowEdited(edits=(Edit("evict", ("m2", "m3"), 20, REASON),)),
        sent(2, ("m1", "m4"), 124),
        added("m5", assistant("I look both up.", (BERN, CAIRO)), 50),
        ModelAnswered(message="m5", usage=Usage(124, 40, cached=64), cost=0.00123, duration_s=1.25, finish_reason="tool_calls"),
        ToolCalled(id="c1", name="get_climate", arguments=BERN.arguments),
        ToolCalled(id="c2", name="get_climate", arguments=CAIRO.arguments),
        ToolReturned(
            id="c2", name="get_climate", preview="no such", is_error=True, duration_s=0.02, tokens=9, text="no such city: Cairo"
        ),
        added("m6", tool_result(BERN, '{"temperature_c": 18.8, "rain_mm": 110}'), 18),
        ToolReturned(id="c1", name="get_climate", preview='{"temp', is_error=False, duration_s=1.5, tokens=18, message="m6"),
        added("m7", tool_result(CAIRO, "no such city: Cairo", is_error=True), 9),
        sent(3, ("m1", "m4", "m5", "m6", "m7"), 201, (Finding("OC001", "error", "A result has no call.", "400: tool_call_id"),)),
        *(deltas(ANSWER) if streamed else ()),
        added("m8", assistant(ANSWER), 30),
        ModelAnswered(message="m8", usage=Usage(201, 26), duration_s=2.0),
        TurnFinished(text=ANSWER, message="m8"),
    ]
    return entries((0, [opened()]), (1, first), (2, second))


def drawn(log: Iterable[Entry]) -> list[Drawable]:
    board = Board(counter=Counter("o200k_base", True))
    return [drawable for entry in log for drawable in board.apply(entry)]


def window() -> Context:
    """The last window of the sample session."""
    return [d for d in drawn(session()) if isinstance(d, Window)][-1].view


def evicted() -> Evictions:
    return next(d for d in drawn(session()) if isinstance(d, Evictions))


def trips() -> list[ToolTrip]:
    return [d for d in drawn(session()) if isinstance(d, ToolTrip)]


class Stream(io.StringIO):
    """A stream in memory with an encoding; a terminal where one is asked for."""

    def __init__(self, encoding: str = "utf-8", tty: bool = False) -> None:
        super().__init__()
        self._encoding, self._tty = encoding, tty

    @property
    def encoding(self) -> str:  # type: ignore[override]  # StringIO has none
        return self._encoding

    def isatty(self) -> bool:
        return self._tty


def draw(*things: RenderableType, width: int = 80, color: bool = False, encoding: str = "utf-8") -> str:
    """What renderables look like on a console."""
    stream = Stream(encoding)
    console = console_for(stream, width=width, color=color, environ={"TERM": "xterm-256color"})
    for thing in things:
        console.print(thing)
    return stream.getvalue()
