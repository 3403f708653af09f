"""The live screen and the JSON lines: what reaches the stream."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng_cli.core.codec import loads
from ctxeng_cli.core.events import Entry, Event, ModelDelta, TurnFailed, TurnFinished
from ctxeng_cli.core.messages import assistant, user
from ctxeng_cli.screen.console import console_for
from ctxeng_cli.screen.jsonl import JsonLines
from ctxeng_cli.screen.stream import LiveScreen
from tests.screen.samples import AGENT, ANSWER, Stream, added, deltas, entries, opened, sent, session
from tests.screen.test_panels import ESCAPES, MARKUP, assert_unbroken

HARMFUL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def live(log: list[Entry], width: int = 80, encoding: str = "utf-8", **switches: Any) -> str:
    stream = Stream(encoding)
    screen = LiveScreen(console_for(stream, width=width, environ={}), **switches)
    for entry in log:
        screen(entry)
    return stream.getvalue()


def turn(*events: Event) -> list[Entry]:
    return entries((0, [opened()]), (1, events))


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("text", [MARKUP, ESCAPES], ids=["B83", "B84"])
def test_hostile_answers_are_literal_however_they_are_split(text: str, size: int) -> None:
    log = turn(*deltas(text, size), added("m1", assistant(text), 9), TurnFinished(text=text, message="m1"))
    shown = live(log)
    assert not HARMFUL.search(shown)
    assert shown.count("[bold]b[/bold]" if text is MARKUP else r"\x1b]52;c;cm0gLXJm\x07") == 1


@pytest.mark.parametrize("text", [MARKUP, ESCAPES], ids=["B83", "B84"])
def test_hostile_text_is_literal_in_a_replay(text: str) -> None:
    failed = TurnFailed(error=text, message=text)
    shown = live(turn(added("m1", user(text), 9), added("m2", assistant(text), 9), failed), questions=True, view="full")
    assert not HARMFUL.search(shown)
    assert shown.replace("\n", "").count("[/link]" if text is MARKUP else "cm0gLXJm") == 4


@settings(deadline=None)
@given(st.lists(st.text(st.characters(codec=None, exclude_categories=())), max_size=6))
def test_no_delta_steers_the_terminal(pieces: list[str]) -> None:
    log = turn(*(ModelDelta(text=piece) for piece in pieces), added("m1", assistant("".join(pieces)), 9))
    assert not HARMFUL.search(live(log))


@pytest.mark.parametrize("width", [40, 80, 140])
@pytest.mark.parametrize("view", ["full", "bar", "off"])
def test_a_session_is_drawn_unbroken(width: int, view: str) -> None:
    for streamed in (True, False):
        for encoding in ("utf-8", "ascii"):
            shown = live(session(streamed), width=width, view=view, encoding=encoding)
            boxes = "\n".join(line for line in shown.splitlines() if line[:1] in "│╭╰+|")
            assert_unbroken(boxes, width)
            assert shown.count("Cairo 28.7") == 1
            assert ("get_climate" in shown) == (view != "off")


def test_a_logged_session_looks_like_the_live_one() -> None:
    assert live(session(streamed=True), view="full") == live(session(streamed=False), view="full")


def test_the_view_may_change_while_it_runs() -> None:
    stream = Stream()
    screen = LiveScreen(console_for(stream, width=80, environ={}), view="off")
    for entry in session():
        if entry.turn == 2:
            screen.view = "bar"
        screen(entry)
    assert "turn 1" not in stream.getvalue()
    assert "turn 2" in stream.getvalue()
    assert "preview" not in stream.getvalue()


def test_panels_alone_leave_the_answer_to_others() -> None:
    shown = live(session(), answers=False)
    assert ANSWER.splitlines()[1] not in shown
    assert "request 3" in shown


def test_an_answer_ends_its_line_before_a_panel_begins() -> None:
    shown = live(turn(ModelDelta(text="half"), TurnFailed(error="model.broken", message="gone")))
    assert shown.splitlines() == [
        "half",
        "! the answer was cut off here",
        "error: turn 1 failed (model.broken): gone",
        "- The history is as it was before the turn.",
    ]


def test_two_agents_that_speak_at_once_have_lines_of_their_own() -> None:
    said = [("a1", AGENT), ("b1", "other"), ("a2", AGENT)]
    log = [entry for text, agent in said for entry in entries((1, [ModelDelta(text=text)]), agent=agent)]
    assert live(log).split() == ["a1", "b1", "a2"]


def test_five_megabytes_are_shown_in_seconds() -> None:
    text = "long answer " * 400_000
    assert len(live(turn(added("m1", assistant(text), 9)))) > 4_000_000


@pytest.mark.parametrize("variable", [{"NO_COLOR": "1", "FORCE_COLOR": "1"}, {"TERM": "dumb"}], ids=["NO_COLOR", "dumb"])
def test_no_colour_where_none_is_wanted(variable: dict[str, str]) -> None:
    stream = Stream(tty=True)
    screen = LiveScreen(console_for(stream, environ={"TERM": "xterm-256color", "COLUMNS": "80", **variable}))
    for entry in session():
        screen(entry)
    assert not HARMFUL.search(stream.getvalue())


def test_colour_where_it_is_forced() -> None:
    stream = Stream()
    console_for(stream, environ={"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "44"}).print("x", style="red")
    assert stream.getvalue().startswith("\x1b[31m")
    assert console_for(stream, environ={"COLUMNS": "44"}).width == 44


def test_json_lines_are_read_back_and_hold_a_payload_only_where_asked() -> None:
    with_body = sent(1, ("m1..m3",), 9)
    object.__setattr__(with_body, "payload", {"messages": [ESCAPES]})
    log = turn(ModelDelta(text=ESCAPES), with_body)
    for payload in (False, True):
        stream = Stream()
        lines = JsonLines(stream, payload=payload)
        for entry in log:
            lines(entry)
        shown = stream.getvalue().splitlines()
        assert not HARMFUL.search(stream.getvalue())
        assert loads(shown[1]) == log[1]
        assert json.loads(shown[2])["window"] == ["m1", "m2", "m3"]
        assert ("payload" in json.loads(shown[2])) == payload
    assert log[0].agent == AGENT


def test_stages_are_told_once_a_turn() -> None:
    shown = live(session())
    assert shown.count("stages: system 0→42") == 1
    assert shown.count("stages: system 42 unchanged") == 1
    assert shown.count("request 3") == 1
