"""OpenAI chat messages as recordings: what is kept, where the model was asked, and what is told of what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.messages import Image, Text, ToolCall
from ctxeng_cli.transcripts import Recording, read

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Bern"}'}}
TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "4 °C"},
    {"role": "assistant", "content": "4 °C."},
    {"role": "user", "content": "Thanks"},
]


def recorded(body: Any) -> Recording:
    return read(json.dumps(body).encode(), "t.json")


def test_a_list_of_messages_is_a_conversation_with_a_request_before_each_answer() -> None:
    found = recorded(TALK)
    assert found.format == "openai-chat"
    assert [m.role for m in found.messages] == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert [m.id for m in found.messages] == ["m1", "m2", "m3", "m4", "m5", "m6"]
    assert found.messages[2].tool_calls == (ToolCall("c1", "look", '{"city": "Bern"}'),)
    assert found.messages[3].tool_call_id == "c1"
    assert (found.asked, found.pending) == ((2, 4, 6), True)
    assert "no tool definitions are recorded" in found.notes[0]


@pytest.mark.parametrize(
    ("messages", "asked", "pending"),
    [
        ([], (), False),
        (TALK[:1], (), False),
        (TALK[:2], (2,), True),
        (TALK[:3], (2,), False),
        (TALK[:4], (2, 4), True),
        (TALK[:5], (2, 4), False),
        ([{"role": "assistant", "content": "Hello!"}, {"role": "user", "content": "Hi"}], (2,), True),
    ],
)
def test_where_the_model_was_asked(messages: list[Any], asked: tuple[int, ...], pending: bool) -> None:
    found = recorded(messages)
    assert (found.asked, found.pending) == (asked, pending)


@pytest.mark.parametrize("form", ["list", "request", "lines", "lines with a byte order mark and crlf"])
def test_the_same_conversation_in_each_form(form: str) -> None:
    lines = "\n".join(map(json.dumps, TALK))
    data = {
        "list": json.dumps(TALK, indent=1).encode(),
        "request": json.dumps({"model": "gpt-4o", "messages": TALK, "temperature": 0}).encode(),
        "lines": lines.encode(),
        "lines with a byte order mark and crlf": b"\xef\xbb\xbf" + lines.replace("\n", "\r\n").encode() + b"\r\n\r\n",
    }[form]
    found = read(data, "t")
    assert found.messages == recorded(TALK).messages
    assert found.asked == (2, 4, 6)


def test_a_request_names_its_model_and_its_tools() -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tool = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": schema}}
    found = recorded({"model": "gpt-4o", "messages": TALK, "tools": [tool, {"type": "function", "function": {"name": "bare"}}]})
    assert found.model == "gpt-4o"
    assert [(t.name, t.description, t.parameters) for t in found.tools] == [
        ("look", "Look.", schema),
        ("bare", "", {"type": "object", "properties": {}}),
    ]
    assert found.notes == []


def test_parts_images_names_and_unknown_fields_are_kept() -> None:
    parts = [
        {"type": "text", "text": "See "},
        {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "…"}},
    ]
    message, odd = recorded(
        [{"role": "user", "name": "ann", "content": parts}, {"role": "developer", "content": "x", "mood": 1}]
    ).messages
    assert message.content == (Text("See "), Image("https://example.org/a.png", "low"))
    assert message.name == "ann"
    assert message.extra == {"content": [parts[2]]}
    assert (odd.role, odd.extra) == ("system", {"mood": 1, "role": "developer"})


def test_cache_marks_stand_beside_a_message_by_their_block() -> None:
    mark = {"type": "ephemeral"}
    found = recorded(
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "A", "cache_control": mark}, {"type": "text", "text": "B"}],
                },
                {"role": "assistant", "content": "C", "tool_calls": [CALL], "cache_control": mark},
                {"role": "tool", "tool_call_id": "c1", "content": "D", "cache_control": "none"},
            ],
            "tools": [{"type": "function", "function": {"name": "look"}, "cache_control": mark}],
        }
    )
    assert [m.extra for m in found.messages] == [{"cache_control": {"0": mark}}, {"cache_control": {"1": mark}}, {}]
    assert found.tools[0].extra == {"cache_control": mark}


def test_a_field_that_is_not_understood_passes_for_none_of_ours() -> None:
    (odd,) = recorded([{"role": "user", "content": "x", "items": 7, "layout": 7, "mood": 7}]).messages
    assert odd.extra == {"items_": 7, "layout_": 7, "mood": 7}


def test_what_is_of_another_type_is_marked() -> None:
    wrong = {**CALL, "function": {"name": "look", "arguments": {"city": "Bern"}}}
    messages = [
        {"role": "assistant", "content": None, "tool_calls": [wrong]},
        {"role": "tool", "tool_call_id": "c1", "content": None},
    ]
    refused = {"role": "assistant", "content": None, "refusal": "No."}
    found = recorded([{"role": "user", "content": "Go"}, *messages, {"role": "assistant", "content": None}, refused]).messages
    assert [m.extra for m in found[1:4]] == [{"arguments_not_text": ["c1"]}, {"content_null": True}, {"content_null": True}]
    assert found[4].extra == {"refusal": "No."}


def test_calls_of_old_and_odd_servers() -> None:
    found = recorded(
        [
            {"role": "user", "content": "Go"},
            {"role": "assistant", "content": None, "function_call": {"name": "look", "arguments": "{}"}},
            {"role": "function", "name": "look", "content": "seen"},
            {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "look", "arguments": {"x": 1}}}]},
        ]
    )
    assert found.messages[1].tool_calls == (ToolCall("", "look", "{}"),)
    assert (found.messages[2].role, found.messages[2].tool_call_id) == ("tool", "")
    assert found.messages[3].tool_calls == (ToolCall("", "look", '{"x": 1}'),)


def test_a_torn_last_line_is_left_out_and_said() -> None:
    data = "\n".join(map(json.dumps, TALK)).encode()
    found = read(data[:-10], "t")
    assert len(found.messages) == 5
    assert "the last line is torn" in found.notes[-1]


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "the recording is empty"),
        (b"\x00\x00", "the recording is empty"),
        (b"hello", "Line 1 is no JSON"),
        (b"7", "holds no OpenAI chat messages"),
        (b"{}", "holds no OpenAI chat messages"),
        (b'["a"]', "holds no OpenAI chat messages"),
        (b'[{"type": "message"}]', "holds no OpenAI chat messages"),
        (b'{"role": "user", "content": "Hi"}\nnonsense\n{"role": "user", "content": "Hi"}', "Line 2 is no JSON"),
        (b"\xff\xfe\x00", "It is not UTF-8 text: byte 0 is 0xff"),
        (b'[{"role": "user", "content": "Hi"}, {"role": "robot"}]', "message 2 has the role 'robot'"),
        (b'[{"role": "user", "content": "Hi"}, 7]', "message 2 is no object"),
        (b'[{"role": "user", "content": 7}]', "message 1: content is no list"),
        (b'[{"role": "assistant", "tool_calls": [{}]}]', "message 1 has a tool call without a function's name"),
        (b'{"messages": [{"role": "user", "content": "Hi"}], "tools": [{}]}', "tool 1 has no name"),
        (b"[" * 100_000, "t.json: "),
    ],
)
def test_what_is_no_recording_is_told_with_its_name(data: bytes, told: str) -> None:
    with pytest.raises(InputError) as caught:
        list(read(data, "t.json"))
    assert str(caught.value).startswith("t.json: ")
    assert told in str(caught.value)


KEYS = st.sampled_from(["role", "content", "tool_calls", "function", "name", "messages", "tools", "type"])
JSONS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.sampled_from(["user", "assistant", "tool", "text"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
NEARLY = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "tool"])}, optional={"content": JSONS, "tool_calls": JSONS, "name": JSONS}
)


@given(JSONS | st.lists(NEARLY))
def test_any_json_is_a_recording_or_told(body: Any) -> None:
    messages, told = [], ""
    try:
        messages = list(recorded(body).messages)
    except InputError as error:
        told = str(error)
    assert told == "" or told.startswith("t.json: ")
    assert [m.id for m in messages] == [f"m{n}" for n in range(1, len(messages) + 1)]
