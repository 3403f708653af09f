"""The rules of OpenAI's chat, each with a request that breaks it, one that just does not, and the words that are predicted."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from ctxeng_cli.core.errors import UsageError
from ctxeng_cli.core.messages import Message, Text, ToolCall, assistant, system, user
from ctxeng_cli.core.request import Request, ToolDefinition
from ctxeng_cli.lint import check
from ctxeng_cli.lint.openai import RULES
from tests.notation import message
from tests.window.test_laws import conversations


def call(id: str = "c1", name: str = "look", arguments: str = "{}") -> ToolCall:
    return ToolCall(id, name, arguments)


def result(id: str | None = "c1", text: str = "seen") -> Message:
    return Message("tool", (Text(text),), tool_call_id=id, name="look")


def found(*messages: Message, tools: int = 0, names: tuple[str, ...] = (), tokens: int = 0) -> list[tuple[str, str | None]]:
    """The code of each finding, with the message that it points at."""
    request = Request(
        tuple(m.with_id(f"m{n}") for n, m in enumerate(messages, 1)),
        tuple(ToolDefinition(name) for name in (*names, *(f"t{n}" for n in range(tools)))),
    )
    return [(f.code, f.part) for f in check(request, tokens=tokens, context_window=1000)]


def test_a_request_by_the_rules_has_no_finding() -> None:
    talk = [system("S"), user("Go"), assistant("", (call("a"), call("b"))), result("b"), result("a"), assistant("Done")]
    assert found(*talk, user("Ok"), tools=127, names=("a-Z_9",), tokens=1000) == []


@pytest.mark.parametrize(
    ("messages", "findings"),
    [
        # OC001: unanswered, in part, at the end, or behind something else
        ([user("Go"), assistant("", (call(),)), user("Well?")], [("OC001", "m2")]),
        ([user("Go"), assistant("", (call("a"), call("b"))), result("a")], [("OC001", "m2")]),
        ([user("Go"), assistant("", (call(),))], [("OC001", "m2")]),
        ([user("Go"), assistant("", (call(),)), user("Wait"), result()], [("OC001", "m2"), ("OC002", "m4")]),
        # OC002: no call, another call, a call that has gone
        ([user("Go"), result()], [("OC002", "m2")]),
        ([result(), user("Go")], [("OC002", "m1")]),
        ([user("Go"), assistant("", (call("a"),)), result("a"), result("b")], [("OC002", "m4")]),
        ([user("Go"), assistant("", (call("a"),)), result("a"), assistant("Done"), result("a")], [("OC002", "m5")]),
        # equal ids are answered in order; one answer too many does harm
        ([user("Go"), assistant("", (call("d"), call("d"))), result("d"), result("d")], []),
        ([user("Go"), assistant("", (call("d"), call("d"))), result("d")], [("OC001", "m2")]),
        ([user("Go"), assistant("", (call("d"),)), result("d"), result("d")], [("OC005", "m4")]),
        # OC003: ids and names
        ([user("Go"), assistant("", (call(""),)), result("")], [("OC003", "m2"), ("OC003", "m3")]),
        ([user("Go"), assistant("", (call(""),)), result(None)], [("OC003", "m2"), ("OC003", "m3")]),
        ([user("Go"), assistant("", (call("x" * 40),)), result("x" * 40)], []),
        ([user("Go"), assistant("", (call("x" * 41),)), result("x" * 41)], [("OC003", "m2"), ("OC003", "m3")]),
        ([user("Go"), assistant("", (call(name="look up"),)), result()], [("OC003", "m2")]),
        ([user("Go"), assistant("", (call(name="天气"),)), result()], [("OC003", "m2")]),
        # OC005
        ([user("Go"), assistant("", (call(arguments="not json"),)), result()], [("OC005", "m2")]),
        ([user("Go"), assistant("", (call(arguments="[1]"),)), result()], [("OC005", "m2")]),
        ([user("Go"), assistant("", (call(arguments=""),)), result()], [("OC005", "m2")]),
        ([user("")], [("OC005", "m1")]),
        ([user("Go"), assistant(""), user("Well?")], [("OC005", "m2")]),
        ([user("Go"), assistant("", (call(),)), result(text="")], []),
        # OC007
        ([user("Go"), system("S")], [("OC007", "m2")]),
        ([system("S"), system("T"), user("Go")], []),
        ([system("S"), Message("system", (Text("D"),), extra={"role": "developer"}), user("Go")], [("OC007", "m1")]),
    ],
)
def test_a_rule_and_where_it_is_broken(messages: list[Message], findings: list[tuple[str, str | None]]) -> None:
    assert found(*messages) == findings


@pytest.mark.parametrize(
    ("kept", "messages", "findings"),
    [
        ({"arguments_not_text": ["c1"]}, [user("Go"), assistant("", (call(),)), result()], [("OC004", "m2")]),
        ({"content_null": True}, [user("Go"), Message("assistant"), user("And?")], [("OC004", "m2"), ("OC005", "m2")]),
    ],
)
def test_what_a_recording_held_as_another_type(kept: dict[str, object], messages: list[Message], findings: list[object]) -> None:
    messages[1] = replace(messages[1], extra=kept)
    assert found(*messages) == findings


def test_tools_that_nothing_calls_are_told_of_a_long_conversation() -> None:
    talk = [said for n in range(10) for said in (user(f"Q{n}"), assistant("A"))]
    assert found(*talk, user("Last"), tools=1) == [("OC005", None)]
    assert found(*talk[2:], user("Last"), tools=1) == []
    assert found(*talk, user("Go"), assistant("", (call(),)), result(), tools=1) == []


@pytest.mark.parametrize(
    ("name", "instead"), [("$SLACK_history", "'SLACK_history'"), ("look up", "'look_up'"), ("天气", "'tool'")]
)
def test_a_safe_name_is_offered_for_one_that_is_refused(name: str, instead: str) -> None:
    request = Request((user("Go").with_id("m1"), assistant("", (call(name=name),)).with_id("m2"), result().with_id("m3")),
                      (ToolDefinition(name),))  # fmt: skip
    told = check(request)
    assert [finding.code for finding in told] == ["OC003", "OC003"]
    assert all(repr(name) in finding.message and instead in finding.message for finding in told)


def test_limits_of_the_whole_request() -> None:
    assert found(user("Go"), tools=129) == [("OC008", None)]
    assert found(user("Go"), names=("look up",)) == [("OC003", None)]
    assert found(user("Go"), tokens=1001) == [("OC006", None)]


@pytest.mark.parametrize(
    ("messages", "code", "ours", "theirs"),
    [
        ([user("Go"), assistant("", (call("b1"),)), user("Well?")], "OC001", "The calls 'b1' of m2 have no result",
         "did not have response messages: b1 (param: messages.[2].role)"),
        ([user("Go"), assistant("", (call("b1"),)), user("Wait"), result("b1")], "OC001", "stand in the wrong place",
         "must be followed by tool messages responding to each 'tool_call_id'"),
        ([user("Go"), assistant("", (call("b1"),)), user("Well?"), assistant("", (call("b1"),)), result("b1")], "OC001",
         "The calls 'b1' of m2 have no result", "did not have response messages: b1 (param: messages.[2].role)"),
        ([user("Go"), assistant("", (call("b1"),)), user("Wait"), result("b1")], "OC002", "it belongs right behind m2",
         "must be a response to a preceeding message with 'tool_calls'. (param: messages.[3].role)"),
    ],
)  # fmt: skip
def test_words_of_ours_and_theirs(messages: list[Message], code: str, ours: str, theirs: str) -> None:
    request = Request(tuple(m.with_id(f"m{n}") for n, m in enumerate(messages, 1)))
    (finding,) = [f for f in check(request) if f.code == code]
    assert ours in finding.message
    assert theirs in finding.provider_says
    assert finding.code in RULES


@given(conversations())
def test_a_conversation_that_waits_for_its_model_breaks_no_rule(line: str) -> None:
    request = Request(tuple(message(word, number) for number, word in enumerate(line.split(), 1)))
    assert [f for f in check(request) if f.severity == "error"] == []


def test_rules_that_are_not_there_are_told() -> None:
    with pytest.raises(UsageError, match=r'no rules for "antropic".*Did you mean "anthropic"'):
        check(Request(()), provider="antropic")
