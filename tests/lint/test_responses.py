"""The rules of OpenAI's Responses: items that need each other."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ctxeng_cli.core.request import Request
from ctxeng_cli.lint import check, rules
from ctxeng_cli.payloads import responses
from tests.lint.bodies import codes, findings, request_of
from tests.notation import message
from tests.window.test_laws import conversations

HI = {"type": "message", "role": "user", "content": "Hi"}


def call(id: str = "c1", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": id, "name": "look", "arguments": "{}", **more}


def output(id: str = "c1") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": id, "output": "seen"}


def reasoning(id: str = "rs_1") -> dict[str, Any]:
    return {"type": "reasoning", "id": id, "summary": []}


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **more}


def body(*items: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "gpt-4.1", "input": list(items), **more}


CUSTOM = {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** Begin"}
CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("plain", body(HI, said("Hello."), HI), []),
    ("a call and its output", body(HI, call(), output()), []),
    ("an output that comes later", body(HI, call("a"), call("b"), output("b"), output("a")), []),
    ("a call without an output", body(HI, call(), HI), ["OR001"]),
    ("an output without a call", body(HI, output()), ["OR002"]),
    ("an output without a call in a chain", body(output(), previous_response_id="resp_1"), []),
    ("reasoning and what it produced", body(HI, reasoning(), call() | {"id": "fc_1"}, output()), []),
    ("reasoning and nothing", body(HI, reasoning(), HI), ["OR003"]),
    ("reasoning at the end", body(HI, reasoning()), ["OR003"]),
    ("a call that lost its reasoning", body(HI, reasoning(), said("Hm.", id="msg_1"), HI, call() | {"id": "fc_1"}, output()),
     ["OR004"]),
    ("answers of a model that reasons, without any", body(HI, said("Hm.", id="msg_1"), HI, model="gpt-5"), ["OR004"]),
    ("the same, its ids taken away", body(HI, said("Hm."), HI, model="gpt-5"), []),
    ("the same in a chain", body(HI, call() | {"id": "fc_1"}, output(), model="gpt-5", previous_response_id="r"), ["OR005"]),
    ("an output before its call", body(HI, output(), call()), ["OR001", "OR002"]),
    ("a second output", body(HI, call(), output(), output()), ["OR002"]),
    ("two calls of one id, one output", body(HI, call(), call(), output()), ["OR001"]),
    ("a call without an id", body(HI, call(""), output("")), ["OR001", "OR002"]),
    ("a custom tool", body(HI, CUSTOM, {"type": "custom_tool_call_output", "call_id": "c", "output": "seen"}), []),
    ("a custom tool without an output", body(HI, CUSTOM, HI), ["OR001"]),
    ("a tool of the provider's own", body(HI, {"type": "web_search_call", "id": "ws_1"}, said("Found."), HI), []),
    ("too many tools", body(HI, tools=[{"type": "function", "name": f"t{n}"} for n in range(129)]), ["OC008"]),
    ("a name that is refused", body(HI, tools=[{"type": "function", "name": "look up"}]), ["OC003"]),
    ("items before a compaction", body(HI, said("Hello."), {"type": "compaction", "id": "cmp_1", "encrypted_content": "x"}, HI),
     ["OR005"]),
    ("answers sent again in a chain", body(HI, said("Hello."), HI, previous_response_id="resp_1"), ["OR005"]),
    ("an id of another type", body(HI, said("Hello.", id="rs_9"), HI), ["OR006"]),
    ("an id twice", body(HI, said("A", id="msg_1"), HI, said("B", id="msg_1"), HI), ["OR006"]),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "expected"), [(b, c) for _, b, c in CASES], ids=[name for name, _, _ in CASES])
def test_rule(sent: dict[str, Any], expected: list[str]) -> None:
    assert sorted(codes(sent, "openai-responses")) == expected


def test_every_rule_has_a_case_that_breaks_it() -> None:
    assert {code for _, _, expected in CASES for code in expected} >= {code for code in rules() if code.startswith("OR")}


def test_what_is_found_names_the_message_and_predicts_the_words() -> None:
    (found,) = findings(body(HI, call("call_7"), HI), "openai-responses")
    assert (found.severity, found.part) == ("error", "m2")
    assert found.provider_says == "No tool output found for function call call_7. (param: input)"


def test_an_answer_is_sure_to_have_lost_its_reasoning_only_where_none_is_left() -> None:
    (lost,) = findings(body(HI, said("Hm.", id="msg_1"), HI, model="gpt-5"), "openai-responses")
    (other,) = findings(body(HI, reasoning(), said("A", id="msg_1"), HI, said("B", id="msg_2"), HI), "openai-responses")
    assert (lost.severity, other.severity, other.part) == ("error", "warning", "m4")
    assert "required 'reasoning' item" in other.provider_says


@given(conversations())
def test_what_is_legal_for_openais_chat_is_legal_here(line: str) -> None:
    messages = tuple(message(word, number) for number, word in enumerate(line.split(), 1))
    assert not [f for f in check(Request(messages), provider="openai-responses") if f.severity == "error"]


def test_the_body_is_what_was_recorded() -> None:
    tool = {"type": "function", "name": "look", "description": "Look.", "parameters": {"type": "object"}}
    answer = (reasoning(), said("Let me look.", id="msg_1"), call() | {"id": "fc_1"}, output())
    sent = body(HI, *answer, HI, instructions="Help.", tools=[tool])
    made = responses.body(request_of(sent))
    assert made == sent
