"""Drawings, as text files to be read: `CTXENG_REDRAW=1 pytest tests/screen` writes them anew. And the law of boxes."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import RenderableType
from wcwidth import wcswidth

from ctxeng_cli.core.budget import Edit, Reason
from ctxeng_cli.core.events import Finding, Source
from ctxeng_cli.core.view import Context, Part
from ctxeng_cli.screen.drawables import EditedMessage, Evictions, Notice, ToolTrip
from ctxeng_cli.screen.meter import KINDS, share
from ctxeng_cli.screen.panels import (
    evictions_panel,
    notice_text,
    tool_line,
    tool_panel,
    window_panel,
)
from ctxeng_cli.screen.tables import (
    agents_table,
    doctor_table,
    grid,
    lint_table,
    rows_table,
    sessions_table,
    stages_table,
    tools_table,
)
from ctxeng_cli.screen.words import GONE
from tests.screen.samples import REASON, draw, evicted, stage, trips, window

DRAWINGS = Path(__file__).parent / "drawings"
MARKUP = "[/INST] [/ [bold]b[/bold] [link=http://x]l[/link] :smile: \\[x]"
ESCAPES = "a\x1b]52;c;cm0gLXJm\x07b\x1b]8;;http://evil\x1b\\c\x1b[2J\x1b[6n\x1bc\x9b31md\x90q\x9c\x07 e\x1b]0;t"


def many() -> Context:
    """A long window: 100 parts, 40 of them ghosts, over its limit."""
    ghosts = tuple(part(n, "evicted", f"old message {n}") for n in range(1, 41))
    here = tuple(part(n, "in", f"message {n}") for n in range(41, 100))
    overhead = Part("p100", "overhead", None, Source(), None, 15, "in", None, "", "")
    budget = {"unit": "messages", "limit": 50, "reserve": 0, "used": 59, "free": -9}
    return dataclasses.replace(window(), parts=(*ghosts, *here, overhead), budget=budget, lint=())


def part(n: int, state: str, text: str) -> Part:
    reason = Reason("window.messages", 50, 50 + n, 3) if state == "evicted" else None
    return Part(f"p{n}", "history", "user", Source(message=f"m{n}"), f"m{n}", 1_000 + n, state, reason, text, text)


def tables() -> list[RenderableType]:
    guide = {"name": "guide", "description": "Explains the workbench.", "model": "offline", "window": "tokens:1800"}
    about = "Answers questions about quarterly sales figures, labelled as synthetic."
    analyst = {"name": "分析", "description": about, "model": "openai/gpt-5-mini", "window": "tokens:60%"}
    agents: list[dict[str, Any]] = [guide, {**analyst, "tools": ["a", "b"], "inputs": [{"name": "role"}]}]
    session = {"id": "guide-1", "agent": "guide", "turns": 1234, "messages": 4, "changed": "2026-01-01T10:20:30+00:00"}
    checks: list[dict[str, Any]] = [
        {"check": "litellm", "state": "ok", "detail": "1.110"},
        {"check": "redis", "state": "missing"},
    ]
    return [
        agents_table(agents),
        sessions_table([{**session, "first": "天气如何？\nb"}]),
        tools_table([{"name": "get_climate", "tokens": 1_030, "description": "Typical figures of a month."}]),
        stages_table([stage("system", 0, 1_042), stage("window", 9, 9)]),
        lint_table([Finding("OC001", "error", "A result has no call.", "400: tool_call_id", "p9")]),
        doctor_table(checks),
        rows_table("session", [("id", "demo"), ("turns", 1_234)]),
    ]


PICTURES: dict[str, Callable[[], list[RenderableType]]] = {
    "window": lambda: [window_panel(window(), details=True)],
    "window_bar": lambda: [window_panel(window(), view_mode="bar")],
    "window_long": lambda: [window_panel(many(), max_rows=12)],
    "evictions": lambda: [evictions_panel(evicted()), evictions_panel(came_back())],
    "tools": lambda: [thing for trip in trips() for thing in (tool_line(trip), tool_panel(trip))] + [tool_panel(long_result())],
    "tables": tables,
}


def came_back() -> Evictions:
    reason = Reason("turn.failed", None, None, 3)
    messages = tuple(EditedMessage(f"m{n}", "user", 1_000, f"message {n}") for n in range(1, 16))
    return Evictions("weather", 3, ((Edit("restore", tuple(m.id for m in messages), 15_000, reason), messages),), 20_000)


def long_result() -> ToolTrip:
    text = "\n".join(f"row {n}: 天气 {'x' * (n % 70)}" for n in range(100_000))
    return ToolTrip("weather", "c9", "read_everything", '["not an object"]', text, True, False, 61.5, 1_250_000)


@pytest.mark.parametrize("color", [False, True], ids=["plain", "color"])
@pytest.mark.parametrize("width", [40, 80, 140])
@pytest.mark.parametrize("name", PICTURES)
def test_a_drawing_is_what_was_reviewed(name: str, width: int, color: bool) -> None:
    picture = draw(*PICTURES[name](), width=width, color=color)
    assert_unbroken(picture, width)
    file = DRAWINGS / f"{name}_{width}{'_color' if color else ''}.txt"
    written = picture.replace("\x1b", "␛")  # a file to be read
    if os.environ.get("CTXENG_REDRAW"):
        file.write_text(written, encoding="utf-8")
    assert written == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PICTURES)
def test_colour_changes_nothing_but_colour(name: str) -> None:
    colored = draw(*PICTURES[name](), color=True)
    assert "\x1b[" in colored or name == "messages"
    assert stripped(colored) == draw(*PICTURES[name]())


@pytest.mark.parametrize("width", [40, 80])
@pytest.mark.parametrize("name", PICTURES)
def test_a_terminal_without_unicode_gets_ascii(name: str, width: int) -> None:
    picture = draw(*PICTURES[name](), width=width, encoding="ascii")
    assert picture.isascii()
    assert_unbroken(picture, width)


@pytest.mark.parametrize("width", [1, 2, 3, 5, 8, 13, 20, 27])
@pytest.mark.parametrize("name", PICTURES)
def test_a_tiny_terminal_gets_something(name: str, width: int) -> None:
    assert draw(*PICTURES[name](), width=width)


@pytest.mark.parametrize("hostile", [MARKUP + ESCAPES, ESCAPES + MARKUP, "\x1b[2J", "[/red]\n[/red]"])
def test_nothing_is_markup_and_nothing_steers(hostile: str) -> None:
    view, source = window(), Source(file=hostile)
    parts = tuple(
        dataclasses.replace(p, id=hostile, preview=hostile, kind=hostile, state=hostile, source=source) for p in view.parts
    )
    stages = (dataclasses.replace(stage("x", 1, 2), stage=hostile),)
    lint = (Finding(hostile, "error", hostile, hostile, hostile),)
    view = dataclasses.replace(view, parts=parts, agent=hostile, model=hostile, tokenizer=hostile, stages=stages, lint=lint)
    trip = ToolTrip(hostile, hostile, hostile, hostile, hostile, True, False, 0.1, 9)
    edits = Evictions(hostile, 1, ((Edit("evict", (hostile,), 9, REASON), (EditedMessage(hostile, hostile, 9, hostile),)),), 9)
    things = [
        window_panel(view), window_panel(view, details=True), evictions_panel(edits), tool_panel(trip), tool_line(trip),
        tool_line(dataclasses.replace(trip, text=None)), notice_text(Notice("warning", hostile)),
        grid((hostile, "b"), [(hostile, hostile)], title=hostile), rows_table(hostile, [(hostile, hostile)]),
    ]  # fmt: skip
    for thing in things:
        for width in (40, 80, 200):
            picture = draw(thing, width=width)
            assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", picture)
            assert_unbroken(picture, width)


SIGNS = [
    *"中文한né न…▸﷽ᄀa ", "ｶ", "\u1112\u1161", "e\u0301", "\u0301", "\u094d", "\u0940", "\u0e33", "\u3000", "\xad",
    "\u200b", "\ufeff",
    "\U0001f469\u200d\U0001f467", "\u2764\ufe0f", "\U0001f44d\U0001f3fd", "\U0001f1e8\U0001f1ed", "\U0001f1e8", "1\ufe0f\u20e3",
    "\t", "\x1b[31m", "\ud83d", "\U0001fae8", "\U0010ffff", "\ua97c",
]  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(st.sampled_from(SIGNS)).map("".join))


@settings(deadline=None)
@given(TEXTS, st.integers(24, 120))
def test_all_lines_of_a_box_have_one_width(text: str, width: int) -> None:
    view = window()
    parts = tuple(dataclasses.replace(p, preview=text, source=Source(file=text)) for p in view.parts[:3])
    long = text * 20
    edits = Evictions(text, 1, ((Edit("evict", ("m1",), 9, REASON), (EditedMessage("m1", "user", 9, long),)),), 9)
    things = [
        window_panel(dataclasses.replace(view, parts=parts, agent=long, model=text)), evictions_panel(edits),
        tool_panel(ToolTrip(text, "c", text, long, long, True, False, 0.1, 9)),
    ]  # fmt: skip
    for thing in things:
        picture = draw(thing, width=width)
        assert_unbroken(picture, width)
        assert {wcswidth(line) for line in picture.splitlines()} == {width}


@given(st.lists(st.integers(0, 10_000), max_size=12), st.integers(0, 200))
def test_shares_fill_the_bar_and_nothing_vanishes(weights: list[int], cells: int) -> None:
    given_cells = share(weights, cells)
    assert sum(given_cells) == (cells if sum(weights) else 0)
    if cells >= len(weights):
        assert all(count > 0 for count, weight in zip(given_cells, weights, strict=True) if weight)
    assert all(count == 0 for count, weight in zip(given_cells, weights, strict=True) if not weight)
    ordered = sorted(zip(weights, given_cells, strict=True))
    assert [count for _, count in ordered] == sorted(given_cells), "what weighs more never gets less"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_every_kind_that_is_in_a_window_has_a_letter_in_its_bar(width: int) -> None:
    roomy = dataclasses.replace(window(), budget={**window().budget, "limit": 200_000, "free": 150_000})
    for view in (window(), many(), roomy):
        lines = [line.strip("│ ") for line in draw(window_panel(view, view_mode="bar"), width=width).splitlines()]
        shown = next(line for line in lines if re.fullmatch("[A-Za-z?]+[·=]*", line))
        assert {KINDS[part.kind].letter for part in view.parts if part.tokens and part.state not in GONE} <= set(shown), shown


def stripped(picture: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", picture)


def assert_unbroken(picture: str, width: int) -> None:
    """No line is wider than the terminal, and between its corners every line of a box is as wide as the box."""
    box = 0
    for line in stripped(picture).splitlines():
        cells = wcswidth(line)
        assert 0 <= cells <= width, line
        if line[:1] == "╭":
            box = cells
        if line[:1] in ("│", "╭", "╰"):
            assert cells == box, line
            assert line[-1] in "│╮╯", line
