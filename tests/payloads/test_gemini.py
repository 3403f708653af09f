"""Gemini's body: contents, parts, responses in call order, and that a recorded body is written as it was."""

from __future__ import annotations

from typing import Any

import pytest

from ctxeng_cli.core.messages import Image, Message, Text, Thinking, ToolCall, assistant, summary, system, tool_result, user
from ctxeng_cli.core.request import Request, ToolDefinition
from ctxeng_cli.payloads import body, gemini
from tests.lint.bodies import request_of

LOOK, FIND = ToolCall("a", "look", '{"k": 1}'), ToolCall("b", "find", "{}")


def numbered(*messages: Message) -> tuple[Message, ...]:
    return tuple(message.with_id(f"m{number}") for number, message in enumerate(messages, 1))


def said(*messages: Message) -> list[tuple[str, list[Any]]]:
    """The contents of a body, as (role, parts)."""
    made = body(Request(numbered(*messages)), "gemini")
    return [(content["role"], content["parts"]) for content in made["contents"]]


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args}}


def response(name: str, **answer: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": answer}}


def test_responses_stand_in_call_order_in_a_content_of_their_own() -> None:
    talk = [user("Both?"), assistant("I look.", (LOOK, FIND)), tool_result(FIND, "2"), tool_result(LOOK, "1"), user("Hurry.")]
    assert said(*talk) == [
        ("user", [{"text": "Both?"}]),
        ("model", [{"text": "I look."}, call("look", k=1), call("find")]),
        ("user", [response("look", result="1"), response("find", result="2")]),
        ("user", [{"text": "Hurry."}]),
    ]


def test_messages_of_one_role_are_one_content_and_each_part_knows_its_message() -> None:
    request = Request(
        numbered(system("S"), user("A"), user("B"), assistant("C"), assistant("D", (LOOK,)), tool_result(LOOK, "1"))
    )
    turns = gemini.turns(request)
    assert [(turn.role, [block.message for block in turn.blocks]) for turn in turns] == [
        ("user", ["m2", "m3"]), ("model", ["m4", "m5", "m5"]), ("user", ["m6"]),
    ]  # fmt: skip
    assert said(summary("So far."), user("A")) == [("user", [{"text": "So far."}, {"text": "A"}])]


@pytest.mark.parametrize(
    ("text", "is_error", "answer"),
    [
        ("4 °C", False, {"result": "4 °C"}),
        ("no such town", True, {"error": "no such town"}),
        ('{"celsius": 4}', False, {"celsius": 4}),
        ("{torn", False, {"result": "{torn"}),
        ("[1]", False, {"result": "[1]"}),
    ],
)
def test_a_result_is_an_object(text: str, is_error: bool, answer: dict[str, Any]) -> None:
    turns = said(user("Hi"), assistant("", (LOOK,)), tool_result(LOOK, text, is_error=is_error))
    assert turns[2][1] == [response("look", **answer)]


def test_instructions_tools_settings_and_images() -> None:
    pictures = Message("user", (Image("data:image/png;base64,AAAA"), Image("gs://b/a.png")))
    look = ToolDefinition("look", "Look.", {"type": "object"})
    request = Request(
        numbered(system("S"), pictures), (look,), parameters={"model": "gemini-x", "temperature": 0, "max_tokens": 9}
    )
    shown = [{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}, {"fileData": {"fileUri": "gs://b/a.png"}}]
    assert gemini.body(request) == {
        "systemInstruction": {"parts": [{"text": "S"}]},
        "contents": [{"role": "user", "parts": shown}],
        "tools": [{"functionDeclarations": [{"name": "look", "description": "Look.", "parameters": {"type": "object"}}]}],
        "generationConfig": {"temperature": 0, "maxOutputTokens": 9},
    }


def test_thinking_has_no_place() -> None:
    thought = Message("assistant", (Thinking("Hm."), Text("Yes.")))
    assert said(user("Hi"), thought)[1] == ("model", [{"text": "Yes."}])
    assert said(user("Hi"), Message("assistant", (Thinking("Hm."),)), user("And?")) == [
        ("user", [{"text": "Hi"}, {"text": "And?"}])
    ]


@pytest.mark.parametrize("signature", [{"thoughtSignature": "c2ln"}, {}])
def test_recorded_contents_are_written_as_they_were(signature: dict[str, str]) -> None:
    contents = [
        {"role": "user", "parts": [{"text": "Both?"}]},
        {"role": "model", "parts": [{"text": "I look."}, {**call("look", k=1), **signature}]},
        {"role": "user", "parts": [response("look", celsius=4)]},
        {"role": "model", "parts": [{"text": "4."}, {"executableCode": {"language": "PYTHON", "code": "4"}}]},
    ]
    assert gemini.body(request_of({"contents": contents}))["contents"] == contents
