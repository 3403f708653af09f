"""Gemini's rules: turns, calls, responses and signatures."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given

from ctxeng_cli.core.messages import Message, ToolCall, assistant, summary, tool_result, user
from ctxeng_cli.core.request import Request
from ctxeng_cli.lint import check, rules
from ctxeng_cli.payloads import gemini
from tests.lint.bodies import codes, findings, request_of
from tests.notation import message
from tests.window.test_laws import conversations


def call(name: str = "look", signature: str | None = None, **args: Any) -> dict[str, Any]:
    part: dict[str, Any] = {"functionCall": {"name": name, "args": args}}
    return {**part, "thoughtSignature": signature} if signature else part


def response(name: str = "look", **answer: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": answer or {"result": "seen"}}}


def body(*contents: tuple[str, Any], model: str = "gemini-2.5-pro") -> dict[str, Any]:
    """Contents as (role, text or parts)."""
    made = [{"role": role, "parts": [{"text": p}] if isinstance(p, str) else p} for role, p in contents]
    return {"model": model, "contents": made}


HI = ("user", "Hi")


CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("plain", body(("user", "Hi"), ("model", "Hello."), ("user", "And?")), []),
    ("a call and its response", body(("user", "Hi"), ("model", [call()]), ("user", [response()])), []),
    ("two calls, two responses", body(HI, ("model", [call("a"), call("b")]), ("user", [response("a"), response("b")])), []),
    ("two rounds", body(HI, ("model", [call()]), ("user", [response()]), ("model", [call()]), ("user", [response()])), []),
    ("a text behind responses", body(HI, ("model", [call()]), ("user", [response()]), ("user", "And?")), []),
    ("a text and a call", body(HI, ("model", [{"text": "I look."}, call()]), ("user", [response()])), []),
    ("a call waits for its response", body(HI, ("model", [call()])), ["GE002", "GE004"]),
    ("more responses than calls", body(HI, ("model", [call()]), ("user", [response(), response()])), ["GE003"]),
    ("a response behind an answer", body(HI, ("model", "Hello."), ("user", [response()])), ["GE002"]),
    ("a role of another's", body(HI, ("assistant", "Hello."), HI), ["GE007"]),
    ("instructions among the contents", body(("system", "Help."), HI), ["GE007"]),
    ("thinking has no place", body(HI, ("model", [{"text": "Hm.", "thought": True}, call()]), ("user", [response()])), []),
    ("not signed behind the first of a turn, Gemini 3",
     body(HI, ("model", [call(signature="s")]), ("user", [response()]), ("model", [call()]), ("user", [response()]),
          model="gemini-3-pro"), ["GE005"]),
    ("the history begins with a call", body(("model", [call()]), ("user", [response()])), ["GE001"]),
    ("a response of nothing", body(("user", "Hi"), ("user", [response()])), ["GE002"]),
    ("a text between call and response", body(("user", "Hi"), ("model", [call()]), ("user", "Well?"), ("user", [response()])),
     ["GE002", "GE002"]),
    ("a call without a response", body(("user", "Hi"), ("model", [call()]), ("user", "Well?")), ["GE002"]),
    ("fewer responses than calls", body(("user", "Hi"), ("model", [call("a"), call("b")]), ("user", [response("a")])), ["GE003"]),
    ("responses in two turns",
     body(("user", "Hi"), ("model", [call("a"), call("b")]), ("user", [response("a")]), ("user", [response("b")])),
     ["GE002", "GE003"]),
    ("the model has the last word", body(("user", "Hi"), ("model", "Hello.")), ["GE004"]),
    ("signed, Gemini 3", body(("user", "Hi"), ("model", [call(signature="s"), call("b")]), ("user", [response(), response("b")]),
                              model="gemini-3-pro"), []),
    ("not signed, Gemini 3", body(HI, ("model", [call()]), ("user", [response()]), model="gemini-3-pro"), ["GE005"]),
    ("not signed in an earlier turn, Gemini 3",
     body(HI, ("model", [call()]), ("user", [response()]), ("model", "Seen."), HI, model="gemini-3-pro"), []),
    ("two users in a row", body(("user", "Hi"), ("user", "And?")), ["GE006"]),
    ("an empty text", body(("user", "Hi"), ("model", [{"text": ""}]), ("user", "And?")), ["GE007"]),
    ("no parts", body(("user", [])), ["GE007"]),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "expected"), [(b, c) for _, b, c in CASES], ids=[name for name, _, _ in CASES])
def test_rule(sent: dict[str, Any], expected: list[str]) -> None:
    assert sorted(codes(sent, "gemini")) == expected


def test_every_rule_has_a_case_that_breaks_it() -> None:
    assert {code for _, _, expected in CASES for code in expected} == {code for code in rules() if code.startswith("GE")}


def test_what_is_found_names_the_message_and_predicts_the_words() -> None:
    found = findings(body(("model", [call()]), ("user", [response()])), "gemini")[0]
    assert (found.severity, found.part) == ("error", "m1")
    assert found.provider_says == (
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
    )


def test_the_words_of_a_finding_say_what_to_do() -> None:
    told = [finding for _, sent, _ in CASES for finding in findings(sent, "gemini") if finding.severity == "error"]
    assert all(finding.provider_says and re.search(r"\. [A-Z][^.]+\.$", finding.message) for finding in told), told


def test_a_summary_before_a_question_is_no_second_user() -> None:
    talk = (summary("So far."), user("Hi").with_id("m7"))
    assert check(Request(talk), provider="gemini") == ()


@given(conversations())
def test_what_is_legal_for_openai_and_begins_with_a_question_is_legal_here(line: str) -> None:
    messages = tuple(message(word, number) for number, word in enumerate(line.split(), 1))
    assert not [f for f in check(Request(messages), provider="gemini") if f.severity == "error"]


def test_responses_stand_in_call_order_whatever_came_first() -> None:
    calls = (ToolCall("x", "look", '{"k": "A"}'), ToolCall("y", "find", '{"k": "B"}'))
    said: tuple[Message, ...] = (
        user("Both?").with_id("m1"), assistant("", calls).with_id("m2"),
        tool_result(calls[1], "twenty").with_id("m3"), tool_result(calls[0], "ten").with_id("m4"),
    )  # fmt: skip
    contents = gemini.body(Request(said))["contents"]
    assert [part["functionResponse"]["response"] for part in contents[2]["parts"]] == [{"result": "ten"}, {"result": "twenty"}]
    assert [part["functionCall"] for part in contents[1]["parts"]] == [
        {"name": "look", "args": {"k": "A"}}, {"name": "find", "args": {"k": "B"}},
    ]  # fmt: skip


def test_a_signature_that_litellm_carries_in_the_id_is_one() -> None:
    calls = (ToolCall("call_1__thought__c2ln", "look", "{}"),)
    said = (user("Hi").with_id("m1"), assistant("", calls).with_id("m2"), tool_result(calls[0], "seen").with_id("m3"))
    assert check(Request(said, parameters={"model": "gemini/gemini-3-pro"}), provider="gemini") == ()


def test_the_body_is_what_was_recorded() -> None:
    sent = body(("user", "Hi"), ("model", [{"text": "Let me look."}, call(signature="s", city="Bern")]), ("user", [response()]))
    sent["systemInstruction"] = {"parts": [{"text": "Help."}]}
    sent["tools"] = [{"functionDeclarations": [{"name": "look", "description": "Look.", "parameters": {"type": "object"}}]}]
    made = gemini.body(request_of(sent))
    assert made["contents"][:2] == sent["contents"][:2]
    assert made["contents"][2]["parts"][0]["functionResponse"]["name"] == "look"
    assert made["systemInstruction"] == sent["systemInstruction"]
    assert made["tools"] == sent["tools"]
