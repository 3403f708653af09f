"""A turn from text to answer, and every way in which it can end without one."""

from __future__ import annotations

import asyncio
import json
import threading
from dataclasses import replace
from typing import Literal

import pytest

from ctxeng_cli.agent import take_turn
from ctxeng_cli.core.events import (
    MessageAdded,
    ModelDelta,
    PartDefined,
    RequestSent,
    StageFinished,
    ToolCalled,
    ToolReturned,
    TurnFailed,
    TurnFinished,
    WindowEdited,
)
from ctxeng_cli.core.view import rebuild
from ctxeng_cli.spec.policy import Pin
from tests.play import call, play, says


def look(city: str, month: Literal["July", "May"] = "July") -> str:
    """Look at a city."""
    return f"{city} in {month}: 24"


def test_a_plain_turn_records_question_request_answer_in_this_order() -> None:
    stage = play(says("Hello back."), system="Be kind.")
    assert stage.say("Hello").text == "Hello back."
    assert stage.types() == [
        "turn.started", "stage.finished", "message.added", "message.added", "stage.finished", "request.sent", "message.added",
        "model.answered", "turn.finished",
    ]  # fmt: skip
    assert stage.window() == ["system: Be kind.", "user: Hello", "assistant: Hello back."]


def test_the_answer_streams_and_the_deltas_add_up_to_it() -> None:
    stage = play(says("One two  three\nfour."))
    stage.say("Count")
    deltas = [event.text for event in stage.events(ModelDelta)]
    assert len(deltas) == 4
    assert "".join(deltas) == stage.events(TurnFinished)[0].text == "One two  three\nfour."


def test_parallel_calls_run_at_the_same_time_and_their_results_stand_in_call_order() -> None:
    second_runs = threading.Event()

    def slow() -> str:
        """Waits until the other one runs."""
        assert second_runs.wait(5)
        return "slow"

    def quick() -> str:
        second_runs.set()
        return "quick"

    stage = play(says("", call("slow", id="1"), call("quick", id="2")), says("Both."), tools=[slow, quick])
    assert stage.say("Go").text == "Both."
    assert [e.name for e in stage.events(ToolReturned)] == ["quick", "slow"]
    assert stage.window()[2:4] == ["tool: slow", "tool: quick"]


def test_a_result_that_comes_early_is_whole_in_the_log_before_its_message_is() -> None:
    release = threading.Event()

    def slow() -> str:
        assert release.wait(5)
        return "slow"

    def quick() -> str:
        release.set()
        return "q" * 5000

    stage = play(says("", call("slow", id="1"), call("quick", id="2")), says("Both."), tools=[slow, quick])
    stage.say("Go")
    early, late = stage.events(ToolReturned)
    assert (early.text, early.message) == ("q" * 5000, None)
    assert (late.text, late.message) == (None, "m3")


@pytest.mark.parametrize(
    ("arguments", "result"),
    [
        ('{"city": "Bern"}', "Bern in July: 24"),
        ('"{\\"city\\": \\"Bern\\"}"', "Bern in July: 24"),
        ('{"city": "Bern", "month": "Juli"}', "look: \"month\": Input should be 'July' or 'May'. Arguments: city, month."),
        ('{"month": "May"}', 'look: the argument "city" is missing. Arguments: city, month.'),
        ('{"city": "Bern", "town": 1}', 'look: there is no argument "town". Arguments: city, month.'),
        ("[1]", "The arguments must be one JSON object, not list."),
        ("", 'look: the argument "city" is missing. Arguments: city, month.'),
    ],
)
def test_arguments_are_read_and_checked_and_what_is_wrong_goes_back_to_the_model(arguments: str, result: str) -> None:
    stage = play(says("", call("look", arguments)), says("Done."), tools=[look])
    assert stage.say("Go").state == "answered"
    assert stage.window()[2] == f"tool: {result}"


def test_broken_json_goes_back_to_the_model() -> None:
    stage = play(says("", call("look", '{"city": ')), says("Done."), tools=[look])
    stage.say("Go")
    assert stage.window()[2].startswith("tool: The arguments are not valid JSON")


def test_an_unknown_tool_goes_back_with_the_closest_name() -> None:
    stage = play(says("", call("lok")), says("Done."), tools=[look])
    stage.say("Go")
    assert stage.window()[2] == 'tool: There is no tool "lok". Did you mean "look"? Tools: look.'


def test_a_tool_that_raises_or_leaves_is_one_error_result() -> None:
    def leaves() -> str:
        raise SystemExit(3)

    def raises() -> str:
        raise ValueError("[/red] \x1b[2J")

    stage = play(says("", call("raises", id="1"), call("leaves", id="2")), says("Done."), tools=[raises, leaves])
    assert stage.say("Go").state == "answered"
    assert stage.window()[2:4] == [
        "tool: raises failed: ValueError: [/red] \x1b[2J",
        "tool: leaves failed: RuntimeError: SystemExit: 3",
    ]
    assert all(event.is_error for event in stage.events(ToolReturned))


def test_a_tool_that_hangs_is_given_up_and_the_turn_goes_on() -> None:
    never = threading.Event()

    def hangs() -> None:
        never.wait(60)

    stage = play(says("", call("hangs")), says("Done."), tools=[hangs], timeout_s=0.05)
    assert stage.say("Go").text == "Done."
    assert stage.window()[2] == "tool: hangs did not answer within 0.05 s and was given up."
    never.set()


def test_a_result_of_5_mb_under_a_small_window_is_shortened_in_the_request_and_whole_in_the_log() -> None:
    def big() -> str:
        return "begin " + "row of figures\n" * 350_000 + "end"

    stage = play(says("", call("big")), says("Done."), window="tokens:600", tools=[big])
    assert stage.say("Go").text == "Done."
    sent = stage.events(RequestSent)[-1]
    assert sent.budget["used"] <= 600
    assert any("=#" in ref for ref in sent.parts)
    edit = stage.events(WindowEdited)[-1].edits[0]
    assert (edit.op, edit.messages, edit.reason.rule) == ("cap", ("m3",), "window.overflow")
    assert len(stage.history.messages["m3"].text) > 5_000_000
    shown = next(p.text for p in stage.wires.state.texts.values() if p.part == "tool_result")
    assert shown.startswith("begin ")
    assert shown.endswith("end")
    assert "all of it is in the log as m3" in shown


def test_the_round_limit_asks_once_more_without_tools() -> None:
    stage = play(says("", call("look", '{"city": "x"}')), says("Enough."), tools=[look], max_rounds=1)
    stage.say("Go")
    assert [event.tools for event in stage.events(RequestSent)] == [("look",), ()]
    assert stage.events(TurnFinished)[0].limit == "max_rounds"


def test_a_model_that_calls_at_the_limit_all_the_same_leaves_a_legal_history() -> None:
    stage = play(says("", call("look", '{"city": "x"}')), tools=[look], max_rounds=2)
    assert stage.say("Go").state == "limit"
    assert len(stage.events(ToolCalled)) == 2
    assert not stage.history.open_calls()
    assert stage.say("Again").state == "limit"


def test_a_failure_before_the_model_answered_leaves_the_history_as_it_was() -> None:
    stage = play(says("One."), says("x", error=""), says(error="no"), says("Two."), system="Turn of {{n}}.", window="messages:4")
    stage.agent.spec.inputs  # noqa: B018
    stage.say("First", n="1")
    stage.say("Second", n="1")
    before = stage.window()
    failed = stage.say("Third", n="2")
    assert (failed.state, failed.error) == ("failed", "model.scripted")
    assert stage.window() == before
    ids = [e.message.id for e in stage.events(MessageAdded)]
    assert len(ids) == len(set(ids))
    assert stage.events(TurnFailed)[-1].kept == ()
    assert stage.say("Third", n="2").text == "Two."
    assert stage.window()[0] == "system: Turn of 2."


def test_what_a_model_said_before_it_died_is_kept_and_marked() -> None:
    stage = play(says("Half of an ans", error="connection lost"), says("Whole."))
    outcome = stage.say("Go")
    assert (outcome.state, outcome.error, outcome.text) == ("failed", "model.broken", "connection lost")
    assert stage.window() == ["user: Go", "assistant: Half of an ans"]
    assert stage.history.partial == {"m2"}
    assert stage.say("Again").text == "Whole."


def test_a_floor_that_does_not_fit_is_an_error_before_anything_is_sent() -> None:
    stage = play(says("Never."), system="word " * 300, window="tokens:200")
    outcome = stage.say("Hi")
    assert outcome.error == "window.overflow"
    assert "the system message needs 30" in outcome.text
    assert "shorten the system message (system.md)" in outcome.text
    assert stage.window() == []
    assert not stage.events(RequestSent)


def test_ctrl_c_cancels_a_model_and_keeps_nothing_where_nothing_was_said() -> None:
    stage = play(says("Late.", delay_s=30))
    assert asyncio.run(_cancelled(stage)) == "cancelled"
    assert stage.window() == []
    assert stage.types()[-3:] == ["turn.cancelled", "window.edited", "turn.failed"]


def test_ctrl_c_in_a_tool_gives_each_open_call_a_result() -> None:
    started = threading.Event()
    never = threading.Event()

    def hangs() -> None:
        started.set()
        never.wait(60)

    stage = play(
        says("", call("hangs", id="1"), call("look", '{"city": "x"}', id="2")), says("Fine."), tools=[hangs, look], timeout_s=60
    )
    assert asyncio.run(_cancelled(stage, lambda: started.is_set() and bool(stage.events(ToolReturned)))) == "cancelled"
    assert stage.window()[2:] == ["tool: hangs was not run to its end: cancelled.", "tool: x in July: 24"]
    assert stage.say("Go on").text == "Fine."
    never.set()


async def _cancelled(stage: object, ready: object = None) -> str:
    from tests.play import Play

    assert isinstance(stage, Play)
    task = asyncio.ensure_future(take_turn(stage.agent, "Go", {}, stage.wires))
    for _ in range(2000):
        await asyncio.sleep(0.001)
        if stage.events(RequestSent) and (not callable(ready) or ready()):
            break
    task.cancel()
    return (await task).state


def test_a_window_of_none_shows_each_turn_alone() -> None:
    stage = play(says("One."), says("Two."), system="S.", window="none")
    stage.say("First")
    stage.say("Second")
    assert stage.window() == ["system: S.", "user: Second", "assistant: Two."]
    assert {ghost.reason.rule for ghost in stage.history.ghosts.values()} == {"window.none"}


def test_calls_without_ids_or_with_one_id_twice_get_ids_that_differ() -> None:
    calls = [call("look", json.dumps({"city": city}), id=id) for city, id in (("a", ""), ("b", ""), ("c", "call_1_1"))]
    stage = play(says("", *calls), says("Done."), tools=[look])
    assert stage.say("Go").text == "Done."
    ids = [event.id for event in stage.events(ToolCalled)]
    assert len(set(ids)) == 3


@pytest.mark.parametrize(
    "text",
    ["x" * 1_000_000, "\ud800 lone \udfff", "[/red] [bold]", "\x1b[2J\x1b]52;c;x\x07", "{{x}} {{it}} {{{{", " " * 1_200_000],
)
def test_any_text_of_a_person_is_data(text: str) -> None:
    stage = play(says("Fine."), user="Q: {{it}}")
    assert stage.say(text).text == "Fine."
    assert stage.history.messages["m1"].text == f"Q: {text}"


def test_the_stable_prefix_is_what_two_requests_share() -> None:
    stage = play(says("One."), says("Two."), system="S.")
    stage.say("First")
    stage.say("Second")
    first, second = stage.events(RequestSent)
    assert first.stable_prefix_tokens == 0
    assert second.stable_prefix_tokens == sum(stage.history.tokens[id] for id in ("m1", "m2"))


def test_secrets_of_the_environment_never_reach_log_or_model() -> None:
    stage = play(says("Fine."), environ={"SOME_API_KEY": "sk-verysecret-123456"})
    stage.say("my key is sk-verysecret-123456, ok?")
    assert stage.history.messages["m1"].text == "my key is [redacted SOME_API_KEY], ok?"
    assert "verysecret" not in repr(stage.entries)


# -- overflow before the first request of a turn ---------------------------------------------------------------------


def test_overflow_keep_sends_all_the_same_and_says_so() -> None:
    stage = play(says("Fine."), window="tokens:50,overflow=keep")
    assert stage.say("word " * 100).text == "Fine."
    (sent,) = stage.events(RequestSent)
    assert sent.budget["used"] > 50
    assert sent.budget["free"] < 0
    (window,) = [stage_ for stage_ in stage.events(StageFinished) if stage_.stage == "window"]
    assert "over the limit, sent all the same (overflow=keep)" in window.detail


def test_overflow_truncate_sends_head_and_tail_of_the_question_and_keeps_all_of_it() -> None:
    text = "FIRST " + "word " * 400 + "LAST"
    stage = play(says("Fine."), says("Again."), system="S.", window="tokens:200,overflow=truncate")
    assert stage.say(text).text == "Fine."
    (sent,) = stage.events(RequestSent)
    assert sent.budget["used"] <= 200
    shown = rebuild(stage.journal.state, "a", sent).messages[-1].text
    assert shown.startswith("FIRST ")
    assert shown.endswith("LAST")
    assert "characters left out to fit the window; all of it is in the log as m2" in shown
    assert stage.history.messages["m2"].text == text
    (defined,) = stage.events(PartDefined)
    assert (defined.part, defined.source.message) == ("user", "m2")
    (edit,) = [edit for event in stage.events(WindowEdited) for edit in event.edits]
    assert (edit.op, edit.reason.rule, edit.reason.limit) == ("cap", "window.overflow", 200)
    assert stage.say("And now?").text == "Again."


def test_overflow_truncate_of_a_system_message_that_does_not_fit_is_an_error_that_names_it() -> None:
    stage = play(says("Never."), system="word " * 300, window="tokens:200,overflow=truncate")
    outcome = stage.say("Hi")
    assert outcome.error == "window.overflow"
    assert "the system message needs" in outcome.text
    assert stage.window() == []


def test_low_water_evicts_in_batches_so_that_the_prefix_stands_between_them() -> None:
    def stable(window: str) -> int:
        stage = play(*[says("An answer of some words.")] * 30, system="Be brief.", window=window)
        for number in range(30):
            stage.say(f"Question {number} is this one.")
        return sum(sent.stable_prefix_tokens for sent in stage.events(RequestSent))

    assert stable("tokens:200,low_water=0.5") > 2 * stable("tokens:200")


# -- edits before eviction -------------------------------------------------------------------------------------------


def flood(city: str) -> str:
    """Answer at length."""
    return f"{city} " * 100


def test_a_pipeline_clears_old_results_before_anything_is_evicted() -> None:
    replies = [reply for n in range(4) for reply in (says("", call("flood", '{"city": "bern"}', id=f"c{n}")), says("Done."))]
    stage = play(*replies, tools=[flood], window="tokens:450,clear_tool_results=1")
    for number in range(4):
        assert stage.say(f"Question {number}").text == "Done."
    edits = [edit for event in stage.events(WindowEdited) for edit in event.edits]
    assert {edit.op for edit in edits[:2]} == {"clear"}
    assert edits[0].reason.rule == "clear_tool_results"
    sent = stage.events(RequestSent)[-1]
    shown = [m.text for m in rebuild(stage.journal.state, "a", sent).messages if m.role == "tool"]
    assert (shown[0], shown[-1]) == ("[cleared]", flood("bern")), "the oldest first, only as many as must be"
    assert all(sent.budget["used"] <= 450 for sent in stage.events(RequestSent))
    assert sum(event.text == "[cleared]" for event in stage.events(PartDefined)) == 1, "defined once"


# -- pins and restoring ----------------------------------------------------------------------------------------------


def test_a_pinned_text_stays_and_begins_with_its_question() -> None:
    stage = play(*[says(f"Answer {n}.") for n in range(8)], window="messages:4")
    stage.agent.spec = replace(stage.agent.spec, policy=replace(stage.agent.spec.policy, pin=(Pin(contains="Answer 1"),)))
    for number in range(8):
        stage.say(f"Question {number}")
    assert stage.window()[:2] == ["user: Question 1", "assistant: Answer 1."]
    assert len(stage.window()) <= 5
    assert stage.window()[-2:] == ["user: Question 7", "assistant: Answer 7."]


def test_a_pin_that_does_not_fit_is_named() -> None:
    stage = play(*[says("word " * 100)] * 3, window="tokens:160")
    stage.agent.spec = replace(stage.agent.spec, policy=replace(stage.agent.spec.policy, pin=(Pin("m2"),)))
    assert stage.say("One").state == "answered"
    outcome = stage.say("word " * 60)
    assert outcome.error == "window.overflow"
    assert "the pinned m2 needs" in outcome.text
