"""Requests of Anthropic's Messages as recordings."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.messages import Image, Text, Thinking, ToolCall
from ctxeng_cli.transcripts import Recording, read
from tests.transcripts.test_openai_chat import JSONS

USE = [{"type": "tool_use", "id": f"tu{n}", "name": "look", "input": {"n": n}} for n in range(2)]
RESULT = [{"type": "tool_result", "tool_use_id": f"tu{n}", "content": f"seen {n}"} for n in range(2)]
REQUEST: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 50,
    "system": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief.", "cache_control": {"type": "ephemeral"}}],
    "tools": [{"name": "look", "description": "Look.", "input_schema": {"type": "object", "properties": {"n": {}}}}],
    "messages": [
        {"role": "user", "content": "Both."},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s1"}, {"type": "text", "text": "I look."}, *USE,
        ]},
        {"role": "user", "content": [*RESULT, {"type": "text", "text": "And hurry."}]},
        {"role": "assistant", "content": "Done."},
        {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]},
    ],
}  # fmt: skip


def recorded(body: Any) -> Recording:
    return read(json.dumps(body).encode(), "t.json")


def test_blocks_become_messages_calls_and_results() -> None:
    found = recorded(REQUEST)
    assert found.format == "anthropic"
    assert found.model == "claude-sonnet-4-5"
    assert [m.role for m in found.messages] == ["system", "user", "assistant", "tool", "tool", "user", "assistant", "user"]
    system, _, calls, first, second, hurry, _, image = found.messages
    assert system.text == "Be brief."
    assert calls.content == (Thinking("Hm.", "s1"), Text("I look."))
    assert calls.tool_calls == (ToolCall("tu0", "look", '{"n": 0}'), ToolCall("tu1", "look", '{"n": 1}'))
    assert [(m.tool_call_id, m.text) for m in (first, second)] == [("tu0", "seen 0"), ("tu1", "seen 1")]
    assert hurry.text == "And hurry."
    assert image.content == (Image("data:image/png;base64,AAAA"),)
    assert [(t.name, t.description) for t in found.tools] == [("look", "Look.")]
    assert (found.asked, found.pending) == ((2, 6, 8), True)


def test_what_openai_has_not_tells_a_request_and_what_only_openai_has_tells_another() -> None:
    marked = {"role": "user", "content": [{"type": "text", "text": "Hi", "cache_control": {"type": "ephemeral"}}]}
    assert recorded({"model": "claude-x", "messages": [{"role": "user", "content": "Hi"}]}).format == "anthropic"
    assert recorded({"messages": [marked]}).format == "anthropic"
    calls = [{"id": "c", "function": {"name": "look", "arguments": "{}"}}]
    for other in (
        {"role": "tool", "tool_call_id": "c", "content": "x"},
        {"role": "system", "content": "S"},
        {"role": "assistant", "tool_calls": calls},
    ):
        assert recorded({"model": "claude-x", "messages": [other, marked]}).format == "openai-chat"


def test_results_alone_are_no_turn() -> None:
    messages = [{"role": "user", "content": "Both."}, {"role": "assistant", "content": USE}, {"role": "user", "content": RESULT}]
    found = recorded({"messages": messages})
    assert [m.role for m in found.messages] == ["user", "assistant", "tool", "tool"]
    assert (found.asked, found.pending) == ((1, 4), True)
    assert found.notes[0] == "no system message is recorded"


def test_what_is_not_understood_is_kept_and_counted() -> None:
    odd = {"type": "server_tool_use", "id": "x"}
    found = recorded({"system": "S", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}, odd], "mood": 1}]})
    assert found.messages[1].extra == {"mood": 1, "content": [odd]}
    assert found.notes == ["1 messages hold fields that are kept and not understood"]


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"system": "S", "messages": [7]}, "message 1 has no role of user or assistant"),
        ({"system": "S", "messages": [{"role": "tool", "content": "x"}]}, "message 1 has no role"),
        ({"system": "S", "messages": [{"role": "user", "content": 7}]}, "message 1: content is no list"),
        ({"system": 7, "messages": []}, "system: content is no list"),
        ({"messages": [{"role": "assistant", "content": [{"type": "tool_use"}]}]}, "message 1 has a tool_use without a name"),
        ({"system": "S", "messages": [], "tools": [{}]}, "tool 1 has no name"),
    ],
)
def test_what_is_no_request_is_told(body: Any, told: str) -> None:
    with pytest.raises(InputError) as caught:
        recorded(body)
    assert told in str(caught.value)


BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_use", "tool_result", "thinking", "image"])},
    optional={"text": JSONS, "name": JSONS, "content": JSONS, "source": JSONS, "id": JSONS, "tool_use_id": JSONS},
)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system"]), "content": JSONS | st.lists(BLOCKS, max_size=3)}
)


@given(st.fixed_dictionaries({"system": JSONS, "messages": st.lists(MESSAGES, max_size=4)}, optional={"tools": JSONS}))
def test_any_json_is_a_request_or_told(body: Any) -> None:
    told = ""
    try:
        recorded(body)
    except InputError as error:
        told = str(error)
    assert told == "" or told.startswith("t.json: ")
