"""Anthropic's body: what stands in which turn, in which order, and that a recorded body is written as it was."""

from __future__ import annotations

from typing import Any

import pytest

from ctxeng_cli.core.messages import Image, Message, Text, Thinking, ToolCall, assistant, system, tool_result, user
from ctxeng_cli.core.request import Request, ToolDefinition
from ctxeng_cli.payloads import anthropic, body
from tests.lint.bodies import request_of, result, text, thinking, use

LOOK, FIND = ToolCall("a", "look", '{"k": 1}'), ToolCall("b", "find", "")
SHORT = {"type": "ephemeral"}
SERVER = [
    {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []},
]


def numbered(*messages: Message) -> tuple[Message, ...]:
    return tuple(message.with_id(f"m{number}") for number, message in enumerate(messages, 1))


def said(*messages: Message, **more: Any) -> list[tuple[str, list[Any]]]:
    """The turns of a body, as (role, blocks)."""
    made = body(Request(numbered(*messages), **more), "anthropic")
    return [(turn["role"], turn["content"]) for turn in made["messages"]]


def test_results_of_one_turn_stand_together_in_call_order_and_what_the_user_says_behind_them() -> None:
    talk = [user("Both?"), assistant("I look.", (LOOK, FIND)), tool_result(FIND, "2"), tool_result(LOOK, "1"), user("Hurry.")]
    assert said(*talk) == [
        ("user", [text("Both?")]),
        ("assistant", [text("I look."), use("a", "look", k=1), use("b", "find")]),
        ("user", [result("a", "1"), result("b", "2"), text("Hurry.")]),
    ]


def test_messages_of_one_role_are_one_turn_and_each_block_knows_its_message() -> None:
    request = Request(
        numbered(system("S"), user("A"), user("B"), assistant("C"), assistant("D", (LOOK,)), tool_result(LOOK, "1"))
    )
    turns = anthropic.turns(request)
    assert [(turn.role, [block.message for block in turn.blocks]) for turn in turns] == [
        ("user", ["m2", "m3"]), ("assistant", ["m4", "m5", "m5"]), ("user", ["m6"]),
    ]  # fmt: skip
    assert [block.message for block in anthropic.system(request)] == ["m1"]


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        ((Thinking("step  \n", "sig"), Text("Hm.")), [thinking("step  \n", "sig"), text("Hm.")]),
        ((Thinking("step", ""), Text("Hm.")), [thinking("step", None), text("Hm.")]),
        ((Thinking("another provider's"), Text("Hm.")), [text("Hm.")]),
    ],
)
def test_thinking_stands_byte_for_byte_where_it_was_signed(content: tuple[Any, ...], blocks: list[Any]) -> None:
    assert said(user("Hi"), Message("assistant", content))[1] == ("assistant", blocks)


def test_a_message_of_another_providers_thinking_has_no_place() -> None:
    assert said(user("Hi"), Message("assistant", (Thinking("Hm."),)), user("And?")) == [("user", [text("Hi"), text("And?")])]


def test_images_stand_by_data_or_address_and_in_results() -> None:
    data, address = Image("data:image/png;base64,AAAA"), Image("https://example.org/a.png")
    source = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
    shown = Message("tool", (Text("seen"), data), tool_call_id="a", is_error=True)
    turns = said(Message("user", (data, address)), assistant("", (LOOK,)), shown)
    assert turns[0][1] == [source, {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}]
    assert turns[2][1] == [{**result("a"), "content": [text("seen"), source], "is_error": True}]


def test_tools_settings_and_marks_of_the_request() -> None:
    look = ToolDefinition("look", "Look.", {"type": "object"})
    request = Request(
        numbered(system("S"), user("Hi"), assistant("", (LOOK,)), tool_result(LOOK, "1")),
        (ToolDefinition("find"), look),
        parameters={"model": "anthropic/claude-sonnet-4-5", "max_tokens": 9, "temperature": 0, "cache": "auto"},
        marks=("tools", "m1", "m4"),
    )
    made = anthropic.body(request)
    assert {key: made[key] for key in made if key not in ("messages", "tools", "system")} == {
        "model": "claude-sonnet-4-5", "max_tokens": 9, "temperature": 0,
    }  # fmt: skip
    assert [tool.get("cache_control") for tool in made["tools"]] == [None, SHORT]
    assert made["tools"][1]["input_schema"] == {"type": "object"}
    assert made["system"] == [text("S", cache_control=SHORT)]
    assert made["messages"][2]["content"] == [{**result("a", "1"), "cache_control": SHORT}]


@pytest.mark.parametrize(
    "content",
    [
        [thinking(), {"type": "redacted_thinking", "data": "x"}, use()],
        [{"type": "redacted_thinking", "data": "x"}, thinking(), use()],
        [text("First"), use("a"), text("then"), use("b")],
        [thinking("1"), *SERVER, thinking("2"), text("Found."), use()],
        [text("A", cache_control=SHORT), *SERVER, text("B"), {**use(), "cache_control": SHORT}],
    ],
)
def test_a_recorded_answer_keeps_the_order_of_its_blocks(content: list[Any]) -> None:
    messages = [{"role": "user", "content": [text("Hi")]}, {"role": "assistant", "content": content}]
    assert anthropic.body(request_of({"model": "claude-x", "max_tokens": 9, "messages": messages}))["messages"] == messages


@pytest.mark.parametrize(
    "content",
    [
        [text("Look:"), result("a"), result("b")],
        [result("a"), text("and"), result("b")],
        [result("a"), result("b"), text("Go on", cache_control=SHORT)],
        [result("a", cache_control=SHORT), result("b", is_error=True)],
        [{**result("a"), "content": [text("seen"), {"type": "document", "title": "T"}]}, result("b")],
    ],
)
def test_a_recorded_turn_of_results_is_written_as_it_was(content: list[Any]) -> None:
    messages = [
        {"role": "user", "content": [text("Hi")]},
        {"role": "assistant", "content": [use("a"), use("b")]},
        {"role": "user", "content": content},
    ]
    assert anthropic.body(request_of({"max_tokens": 9, "messages": messages}))["messages"] == messages


def test_an_edit_of_a_recorded_message_is_what_is_sent() -> None:
    messages = [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [text("First"), use("a"), text("then"), use("b")]},
        {"role": "user", "content": [result("a", "x" * 99, cache_control=SHORT), result("b")]},
    ]
    request = request_of({"max_tokens": 9, "messages": messages})
    edited = tuple(m.with_text("[cleared]") if m.role in ("assistant", "tool") else m for m in request.messages)
    turns = anthropic.body(Request(edited))["messages"]
    assert turns[1]["content"] == [text("[cleared]"), use("a"), use("b")]
    assert turns[2]["content"] == [result("a", "[cleared]", cache_control=SHORT), result("b", "[cleared]")]
