"""Requests of Gemini's generateContent as recordings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.messages import Image, Text, Thinking, ToolCall
from ctxeng_cli.transcripts import Recording, read

SAID = {"role": "user", "parts": [{"text": "Weather?"}]}
CALLS = {"role": "model", "parts": [
    {"text": "Hm.", "thought": True}, {"text": "I look."},
    {"functionCall": {"name": "look", "args": {"k": 1}}, "thoughtSignature": "c2ln"},
    {"functionCall": {"name": "look", "args": {"k": 2}}},
]}  # fmt: skip
ANSWERS = {"role": "user", "parts": [
    {"functionResponse": {"name": "look", "response": {"celsius": n}}} for n in (4, 7)
] + [{"text": "Hurry."}]}  # fmt: skip


def recorded(*contents: Any, **more: Any) -> Recording:
    return read(json.dumps({"contents": contents, **more}).encode(), "t.json")


def test_contents_become_messages_calls_and_results() -> None:
    tools = [{"functionDeclarations": [{"name": "look", "description": "Look.", "parameters": {"type": "object"}}]}]
    found = recorded(
        SAID, CALLS, ANSWERS, systemInstruction={"parts": [{"text": "Help."}]}, tools=tools, model="models/gemini-3-pro"
    )
    assert (found.format, found.provider, found.model) == ("gemini", "gemini", "gemini-3-pro")
    assert [m.role for m in found.messages] == ["system", "user", "assistant", "tool", "tool", "user"]
    system, _, calls, first, second, hurry = found.messages
    assert (system.text, hurry.text) == ("Help.", "Hurry.")
    assert calls.content == (Thinking("Hm."), Text("I look."))
    assert calls.tool_calls == (ToolCall("call_1", "look", '{"k": 1}'), ToolCall("call_2", "look", '{"k": 2}'))
    assert [(m.tool_call_id, m.name, m.text) for m in (first, second)] == [
        ("call_1", "look", '{"celsius": 4}'), ("call_2", "look", '{"celsius": 7}'),
    ]  # fmt: skip
    assert [(tool.name, tool.parameters) for tool in found.tools] == [("look", {"type": "object"})]
    assert (found.asked, found.pending, found.notes) == ((2, 6), True, [])


def test_pythons_names_are_read_too() -> None:
    call = {"role": "model", "parts": [{"function_call": {"name": "look", "args": {}}, "thought_signature": "c2ln"}]}
    answer = {"role": "user", "parts": [{"function_response": {"name": "look", "response": {}}}]}
    picture = {"role": "user", "parts": [{"inline_data": {"mime_type": "image/png", "data": "AAAA"}}]}
    found = recorded(SAID, call, answer, picture, system_instruction={"parts": [{"text": "Help."}]})
    assert [m.role for m in found.messages] == ["system", "user", "assistant", "tool", "user"]
    assert found.messages[2].extra == {"thought_signatures": ["c2ln"]}
    assert found.messages[4].content == (Image("data:image/png;base64,AAAA"),)


def test_a_response_belongs_to_the_nearest_call_of_its_name_that_waits() -> None:
    call = {"role": "model", "parts": [{"functionCall": {"name": "look", "args": {}}}]}
    answer = {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {}}}]}
    found = recorded(SAID, call, SAID, call, answer, {"role": "user", "parts": [{"functionResponse": {"name": "find"}}]})
    assert [m.tool_call_id for m in found.messages if m.role == "tool"] == ["call_2", ""]


def test_a_request_was_sent_whole_whatever_it_ends_with() -> None:
    found = recorded(SAID, {"role": "model", "parts": [{"text": "Sun."}]})
    assert (found.asked, found.pending) == ((1, 2), True)


def test_a_role_of_anothers_is_kept() -> None:
    found = recorded({"role": "assistant", "parts": [{"text": "Hi"}]}, SAID, {"parts": [{"text": "No role"}]})
    assert [(m.role, m.extra) for m in found.messages] == [("user", {"role": "assistant"}), ("user", {}), ("user", {})]


def test_what_is_no_content_is_told() -> None:
    with pytest.raises(InputError, match=r"t\.json: content 2 is no object"):
        recorded(SAID, 7)
