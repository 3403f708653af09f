"""Summaries in a turn: written by the model that the spec names, recorded, taken in by the next one, never at a loss."""

from __future__ import annotations

import pytest

from ctxeng_cli.core.budget import Edit, Reason
from ctxeng_cli.core.events import RequestSent, SummaryMade, WindowEdited
from ctxeng_cli.core.script import HEAD
from ctxeng_cli.core.view import context
from ctxeng_cli.window import shown
from tests.play import Play, call, play, says

LONG = "word " * 60
WINDOW = "tokens:260,summarize=1"


def talk(*summaries: object, window: str = WINDOW, turns: int = 3, **more: object) -> Play:
    """Turns of sixty words each; each answer is two words."""
    staged = play(says("Noted well."), window=window, system="Help.", summaries=summaries, **more)  # type: ignore[arg-type]
    for number in range(1, turns + 1):
        outcome = staged.say(f"Number {number}. {LONG}")
        assert outcome.error is None, outcome.text
    return staged


def sent(staged: Play) -> str:
    """The last request as it went out, in roles and beginnings."""
    request = [e for e in staged.entries if isinstance(e.event, RequestSent)][-1]
    assert isinstance(request.event, RequestSent)
    view = context(staged.journal.state, "a", request.event, request.turn, staged.agent.counter)
    return " | ".join(f"{m.role}: {m.text[:60]}" for m in view.messages)


def test_older_exchanges_give_way_to_a_summary_behind_the_system_message() -> None:
    staged = talk(says("They counted."), turns=4)
    made = staged.events(SummaryMade)[0]
    assert (made.messages, made.absorbs, made.model, made.requests) == (("m2..m7",), None, "writer", 1)
    assert made.text == f"{HEAD}They counted."
    (edit,) = staged.events(WindowEdited)[0].edits
    assert (edit.op, edit.messages, edit.text) == ("summarize", ("m2", "m3", "m4", "m5", "m6", "m7"), made.hash)
    assert (edit.reason.rule, edit.reason.limit) == ("summarize", 260)
    assert sent(staged).startswith(f"system: Help. | user: {HEAD[:60]}")
    assert sent(staged).split(" | ")[2].startswith("user: Number 4.")
    request = staged.events(RequestSent)[-1]
    assert request.window == ("m1", "m8")
    assert request.tokens["summary"] == made.tokens
    assert sum(request.tokens.values()) == request.budget["used_tokens"]


def test_the_next_summary_takes_the_older_one_in() -> None:
    staged = talk(says("First three."), says("First six."), turns=7)
    first, second = staged.events(SummaryMade)
    assert second.absorbs == first.hash
    assert second.messages == ("m8..m13",)
    history = staged.history
    assert history.summary == second.hash
    assert {id for id, ghost in history.ghosts.items() if ghost.op == "summarize"} == {f"m{n}" for n in range(2, 14)}


def test_the_summarizer_is_asked_in_plain_text_with_what_came_before() -> None:
    staged = talk(says("First."), says("Second."), turns=4)
    staged.wires.payload = True
    for number in range(5, 8):
        staged.say(f"Number {number}. {LONG}")
    (payload,) = staged.events(SummaryMade)[-1].payloads
    assert [m["role"] for m in payload["messages"]] == ["system", "user"]
    assert set(payload) == {"model", "messages"}
    body = payload["messages"][1]["content"]
    assert body.startswith("Summary of what came before:\nFirst.\n\nConversation to summarize:\nUser (m8): Number 4.")
    assert "Assistant (m9): Noted well." in body


@pytest.mark.parametrize(
    ("reply", "told"),
    [(says(error="no credit"), "no credit"), (says("  "), "the summary is empty"), (says(LONG * 5), "what it stands for")],
)
def test_a_summary_that_fails_deletes_nothing_and_is_told(reply: object, told: str) -> None:
    staged = talk(reply, turns=4)
    made = staged.events(SummaryMade)[0]
    assert made.hash is None
    assert told in (made.error or "")
    assert not [edit for event in staged.events(WindowEdited) for edit in event.edits if edit.op == "summarize"]
    assert staged.history.summary is None
    assert {ghost.op for ghost in staged.history.ghosts.values()} == {"evict"}, "the window slides, with reasons"


def test_a_failed_summary_is_not_asked_for_again_in_the_same_turn() -> None:
    def look() -> str:
        """Look."""
        return LONG

    staged = play(
        says("ok"), says("ok"), says("ok"), says("", call("look")), says("", call("look")), says("done"),
        window=WINDOW, summaries=[says(error="down")], tools=[look],
    )  # fmt: skip
    for number in range(4):
        staged.say(f"Number {number}. {LONG}")
    turns = [entry.turn for entry in staged.entries if isinstance(entry.event, SummaryMade)]
    assert len(turns) == len(set(turns)) >= 1


def test_a_long_history_is_summarized_in_parts_that_fit() -> None:
    staged = talk(*(says(f"Part {n}.") for n in range(1, 9)), turns=4, summary_room=90)
    made = staged.events(SummaryMade)[0]
    assert made.requests >= 3
    assert made.text == f"{HEAD}Part {made.requests}."


def test_a_failed_turn_brings_back_what_was_summarized() -> None:
    staged = play(says("ok"), says("ok"), says("ok"), says(error="down"), says("ok"), window=WINDOW, summaries=[says("Three.")])
    for number in range(1, 4):
        staged.say(f"Number {number}. {LONG}")
    before = staged.window()
    tokens = staged.history.window_tokens
    assert staged.say(f"Number 4. {LONG}").error == "model.scripted"
    assert staged.window() == before
    assert (staged.history.summary, staged.history.window_tokens) == (None, tokens)
    assert staged.say(f"Number 4. {LONG}").error is None
    assert len(staged.events(SummaryMade)) == 1, "what was paid for is used again"
    assert staged.history.summary is not None


def test_it_begins_where_the_spec_says_and_counts_messages_too() -> None:
    early = talk(says("Early."), turns=2, window="messages:4,summarize=1")
    assert early.events(SummaryMade) == []
    later = talk(says("Later."), turns=3, window="messages:4,summarize=1")
    assert [e.messages for e in later.events(SummaryMade)] == [("m2..m5",)]
    assert later.events(RequestSent)[-1].budget["used"] == 3


def test_every_request_of_a_summarizing_session_is_legal_and_begins_with_what_it_should() -> None:
    staged = talk(*(says(f"Part {n}.") for n in range(9)), turns=9)
    for entry in [e for e in staged.entries if isinstance(e.event, RequestSent)]:
        assert isinstance(entry.event, RequestSent)
        assert not [f for f in entry.event.lint if f.severity == "error"]


def test_an_edit_whose_text_the_log_has_lost_is_folded_all_the_same() -> None:
    staged = talk(says("Early."), turns=2)
    reason = Reason("summarize", 1, 2, 1)
    for edit in (
        Edit("summarize", ("m2", "m3"), 9, reason, "#lost"),
        Edit("cap", ("m4",), 9, reason, "#lost"),
        Edit("restore", (), 0, reason, "#lost"),
    ):
        staged.wires.record(WindowEdited(edits=(edit,)))
    assert staged.history.summary is None
    messages, _ = shown(staged.history, staged.journal.state.texts)
    assert [m.id for m in messages] == ["m1", "m4", "m5"]
