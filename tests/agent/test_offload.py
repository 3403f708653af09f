"""Long results leave the window for a file; the model reads them back with a tool."""

from __future__ import annotations

import json

from ctxeng_cli.core.events import RequestSent, WindowEdited
from ctxeng_cli.core.view import rebuild
from tests.play import call, play, says

TEXT = " ".join(f"line{n}" for n in range(2000))


def report() -> str:
    """A long report."""
    return TEXT


def test_a_long_result_is_offloaded_and_read_back() -> None:
    read = json.dumps({"handle": "m3", "start": 5000, "length": 40})
    staged = play(
        says("", call("report")), says("", call("read_offloaded", read)), says("There it is."),
        window="tokens:900,offload=300", tools=[report],
    )  # fmt: skip
    kept: dict[str, str] = {}
    staged.wires.keep_file = kept.__setitem__
    assert staged.say("Read the report.").error is None
    (edit,) = staged.events(WindowEdited)[0].edits
    assert (edit.op, edit.messages, edit.reason.rule) == ("offload", ("m3",), "offload")
    assert kept == {"m3": TEXT}
    assert staged.history.messages["m3"].text == TEXT, "the log holds all of it"
    shown = rebuild(staged.journal.state, "a", staged.events(RequestSent)[1]).messages[2].text
    assert shown.startswith("line0 line1")
    assert 'read_offloaded(handle="m3", start=…)' in shown
    assert staged.history.messages["m5"].text.startswith(TEXT[5000:5040])
    assert "start=5040 goes on" in staged.history.messages["m5"].text
    assert staged.events(RequestSent)[0].tools == ("report", "read_offloaded")


def test_a_handle_that_is_none_is_told_to_the_model() -> None:
    read = json.dumps({"handle": "m9"})
    staged = play(says("", call("read_offloaded", read)), says("No."), window="tokens:900,offload=300")
    assert staged.say("Read it.").error is None
    assert 'Nothing was offloaded as "m9"' in staged.history.messages["m3"].text


def test_the_tool_is_not_there_where_nothing_is_offloaded() -> None:
    staged = play(says("Hi."), window="tokens:900", tools=[report])
    staged.say("Hi.")
    assert staged.events(RequestSent)[0].tools == ("report",)
