"""The body of OpenAI's Responses: items of our messages, and recorded items as they were but for what was edited."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ctxeng_cli.core.messages import Image, Message, Text, Thinking, ToolCall, assistant, system, tool_result, user
from ctxeng_cli.core.request import Request, ToolDefinition
from ctxeng_cli.payloads import body, responses
from tests.lint.bodies import request_of

LOOK, FIND = ToolCall("a", "look", '{"k": 1}'), ToolCall("b", "find", "")
RECORDED: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": "Both?"},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}], "encrypted_content": "x"},
    {"type": "message", "role": "assistant", "id": "msg_1", "phase": "commentary",
     "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
    {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "look", "arguments": "{}", "status": "completed"},
    {"type": "custom_tool_call", "id": "ctc_1", "call_id": "b", "name": "patch", "input": "*** Begin"},
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    {"type": "function_call_output", "call_id": "a", "output": [{"type": "input_text", "text": "seen"}]},
    {"type": "custom_tool_call_output", "call_id": "b", "output": "done"},
]  # fmt: skip


def numbered(*messages: Message) -> tuple[Message, ...]:
    return tuple(message.with_id(f"m{number}") for number, message in enumerate(messages, 1))


def test_messages_become_items() -> None:
    thought = Message("assistant", (Thinking("Hm."), Text("I look.")), tool_calls=(LOOK, FIND))
    talk = numbered(system("S"), user("Both?"), thought, tool_result(FIND, "2"), tool_result(LOOK, "1"), assistant("", (LOOK,)))
    look = ToolDefinition("look", "Look.", {"type": "object"})
    made = body(Request(talk, (look,), parameters={"model": "openai/gpt-4.1", "max_tokens": 9}), "openai-responses")
    assert {key: made[key] for key in made if key != "input"} == {
        "model": "gpt-4.1", "max_output_tokens": 9, "instructions": "S",
        "tools": [{"type": "function", "name": "look", "description": "Look.", "parameters": {"type": "object"}}],
    }  # fmt: skip
    assert made["input"] == [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Both?"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": '{"k": 1}'},
        {"type": "function_call", "call_id": "b", "name": "find", "arguments": ""},
        {"type": "function_call_output", "call_id": "b", "output": "2"},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": '{"k": 1}'},
    ]


def test_images_stand_beside_texts() -> None:
    request = Request(numbered(Message("user", (Text("See"), Image("https://example.org/a.png")))))
    assert responses.body(request)["input"][0]["content"] == [
        {"type": "input_text", "text": "See"}, {"type": "input_image", "image_url": "https://example.org/a.png"},
    ]  # fmt: skip


def test_each_item_knows_its_message() -> None:
    request = request_of({"instructions": "S", "input": RECORDED})
    assert [item.message for item in responses.items(request)] == ["m2", "m3", "m3", "m3", "m3", "m3", "m4", "m5"]


def test_recorded_items_are_written_as_they_were() -> None:
    sent = {"model": "gpt-5", "instructions": "S", "input": RECORDED, "previous_response_id": "resp_1"}
    assert responses.body(request_of(sent)) == sent
    developer = {"model": "gpt-5", "input": [{"type": "message", "role": "developer", "content": "D"}, *RECORDED]}
    assert responses.body(request_of(developer)) == developer


def test_an_edit_of_a_recorded_message_is_what_is_sent_with_its_reasoning() -> None:
    request = request_of({"input": RECORDED})
    edited = [m.with_text("[cleared]") if m.role in ("assistant", "tool") else m for m in request.messages]
    edited[1] = replace(edited[1], tool_calls=(replace(edited[1].tool_calls[0], id="new"), edited[1].tool_calls[1]))
    items = [dict(item.body) for item in responses.items(Request(tuple(edited)))]
    assert items[1:3] == [RECORDED[1], {**RECORDED[2], "content": [{"type": "output_text", "text": "[cleared]"}]}]
    assert items[3:6] == [{**RECORDED[3], "call_id": "new"}, RECORDED[4], RECORDED[5]]
    assert [item["output"] for item in items[6:]] == ["[cleared]", "[cleared]"]
