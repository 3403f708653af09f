"""The board: from entries to things to draw."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng_cli.core.budget import Edit, Reason
from ctxeng_cli.core.events import (
    Entry,
    Event,
    ModelDelta,
    ModelRetried,
    SessionHealed,
    SpecChanged,
    ToolCalled,
    ToolReturned,
    TurnCancelled,
    TurnFailed,
    TurnFinished,
    Unknown,
    WindowEdited,
)
from ctxeng_cli.core.history import State
from ctxeng_cli.core.messages import assistant, user
from ctxeng_cli.screen.board import Board
from ctxeng_cli.screen.drawables import AnswerDone, AnswerPiece, Evictions, Notice, ToolTrip, Window
from tests.screen.samples import ANSWER, REASON, added, drawn, entries, opened, sent, session


def kinds(*events: Event) -> list[str]:
    return [type(drawable).__name__ for drawable in drawn(entries((1, events)))]


def notices(*events: Event) -> list[str]:
    return [d.text for d in drawn(entries((1, [opened(), *events]))) if isinstance(d, Notice)]


def test_a_session_becomes_windows_evictions_trips_and_answers() -> None:
    names = [type(d).__name__ for d in drawn(session(streamed=False))]
    assert (
        names
        == (
            "Opened Asked Window AnswerDone Answered Asked Notice Notice Notice Evictions Window AnswerDone Answered "
            "ToolTrip ToolTrip ToolTrip ToolTrip Window AnswerDone Answered"
        ).split()
    )


def test_a_window_knows_what_it_was_made_of() -> None:
    first, second, third = [d.view for d in drawn(session()) if isinstance(d, Window)]
    assert [(p.message, p.state) for p in second.parts if p.message] == [
        ("m1", "in"), ("m2", "evicted"), ("m3", "evicted"), ("m4", "in"),
    ]  # fmt: skip
    assert (first.request, second.request, third.request, third.turn) == (1, 2, 3, 2)
    assert next(p.reason for p in second.parts if p.message == "m2") == REASON


def test_an_eviction_names_its_messages_with_their_tokens_and_heads() -> None:
    evictions = next(d for d in drawn(session()) if isinstance(d, Evictions))
    [(edit, messages)] = evictions.rows
    assert edit.tokens == 20
    assert [(m.id, m.role, m.tokens, m.text) for m in messages] == [
        ("m2", "user", 9, "What can you do?"),
        ("m3", "assistant", 11, "I look up typical monthly figures."),
    ]


def test_a_shortened_message_shows_what_it_was_before() -> None:
    edit = Edit("cap", ("m1",), 10, Reason("cap_result", 10, 900, 1), text="#cap")
    evictions = drawn(entries((1, [added("m1", user("a long text"), 900), WindowEdited(edits=(edit,))])))[-1]
    assert isinstance(evictions, Evictions)
    assert evictions.rows[0][1][0].tokens == 900
    assert evictions.window == 10


def test_a_trip_runs_and_comes_back_with_its_whole_result_wherever_that_lies() -> None:
    trips = [d for d in drawn(session()) if isinstance(d, ToolTrip)]
    assert [(t.id, t.running, t.is_error) for t in trips] == [
        ("c1", True, False), ("c2", True, False), ("c2", False, True), ("c1", False, False),
    ]  # fmt: skip
    assert trips[2].text == "no such city: Cairo"
    assert trips[3].text == '{"temperature_c": 18.8, "rain_mm": 110}'
    assert trips[3].arguments == '{"city": "Bern", "month": 7}'
    assert trips[2].whole
    assert trips[3].whole


def test_calls_with_one_id_are_answered_in_order() -> None:
    calls = [ToolCalled(id="c", name="a", arguments="1"), ToolCalled(id="c", name="a", arguments="2")]
    back = ToolReturned(id="c", name="a", preview="x", is_error=False, duration_s=0, tokens=1)
    trips = [d for d in drawn(entries((1, [*calls, back, back, back]))) if isinstance(d, ToolTrip)]
    assert [t.arguments for t in trips] == ["1", "2", "1", "2", ""]


def test_a_streamed_answer_is_not_told_twice_and_a_logged_one_is_told_once() -> None:
    streamed, logged = drawn(session()), drawn(session(streamed=False))
    assert "".join(d.text for d in streamed if isinstance(d, AnswerPiece)).endswith(ANSWER)
    assert [d.streamed for d in streamed if isinstance(d, AnswerDone)] == [True, False, True]
    assert [d.streamed for d in logged if isinstance(d, AnswerDone)] == [False, False, False]
    assert not any(isinstance(d, AnswerPiece) for d in logged)


def test_an_answer_that_is_not_what_was_streamed_is_shown_as_it_is_kept() -> None:
    *_, done = drawn(entries((1, [ModelDelta(text="secret"), added("m1", assistant("[redacted]"), 3)])))
    assert done == AnswerDone("weather", "m1", "[redacted]", streamed=False)


def test_a_retry_ends_the_half_answer() -> None:
    retried = ModelRetried(reason="503", wait_s=1, attempt=1)
    assert kinds(ModelDelta(text="ha"), retried, ModelDelta(text="half"), added("m1", assistant("half"), 1)) == [
        "AnswerPiece", "AnswerDone", "Notice", "AnswerPiece", "AnswerDone",
    ]  # fmt: skip


def test_a_turn_that_fails_closes_what_was_open() -> None:
    failed = TurnFailed(error="model.broken", message="the line is dead")
    things = drawn(entries((1, [ModelDelta(text="ha"), ToolCalled(id="c", name="slow", arguments="{}"), failed])))
    assert isinstance(things[2], AnswerDone)
    assert [d.text for d in things if isinstance(d, Notice)] == [
        "slow did not come to its end",
        "turn 1 failed (model.broken): the line is dead",
        "The history is as it was before the turn.",
    ]


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (TurnCancelled(), "cancelled"),
        (
            TurnFailed(error="cancelled", message="", kept=("m1", "m2")),
            "turn 1 has no answer. Kept in the history: m1..m2.",
        ),
        (TurnFinished(text="", limit="max_rounds"), "turn 1 ended at the limit max_rounds"),
        (ModelRetried(reason="rate limit", wait_s=2, attempt=1), "attempt 1 failed: rate limit; again in 2.0 s"),
        (SessionHealed(what="torn_line", bytes=1234), "the last line of the log was torn; 1,234 bytes were cut off"),
        (Unknown(name="later.event", data={}), "event 2: later.event, of a newer version; kept, not understood"),
    ],
)
def test_what_happens_besides_is_a_sentence(event: Event, words: str) -> None:
    assert notices(event) == [words]


def test_a_changed_spec_shows_the_difference() -> None:
    changed = SpecChanged(
        difference={"model": ("offline", "openai/x"), "odd": ("one",)}, spec="s", model="m", policy="none", tokenizer="o200k_base"
    )
    assert notices(changed) == ["the spec changed. model: offline -> openai/x"]


def test_unknown_events_are_counted() -> None:
    board = Board()
    for entry in entries((1, [Unknown(name="x", data={}), Unknown(name="y", data={})])):
        board.apply(entry)
    assert board.unknown == 2


def test_a_log_with_holes_is_told_and_does_not_stop_the_drawing() -> None:
    assert notices(sent(1, ("m9",), 5)) == ["request 1 can't be shown: the log has lost #tool, m9"]


def test_no_window_is_assembled_where_nobody_looks() -> None:
    board = Board(windows=False)
    assert not any(isinstance(d, Window) for entry in session() for d in board.apply(entry))


def test_a_state_that_others_fold_is_read_and_not_folded_again() -> None:
    state, own = State(), Board()
    board = Board(state=state)
    for entry in session():
        state.apply(entry)
        shared, alone = board.apply(entry), own.apply(entry)
        assert shared == alone
    assert state == own.state


@settings(deadline=None)
@given(st.permutations(session()))
def test_no_order_of_entries_raises(log: list[Entry]) -> None:
    drawn(log)
