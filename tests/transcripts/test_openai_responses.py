"""Requests of OpenAI's Responses as recordings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.messages import Image, Text, Thinking, ToolCall
from ctxeng_cli.transcripts import Recording, read

ITEMS: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Both?"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Hm."}]},
    {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "look", "arguments": '{"k": 1}'},
    {"type": "custom_tool_call", "call_id": "b", "name": "patch", "input": "*** Begin"},
    {"type": "function_call_output", "call_id": "a", "output": "seen"},
    {"type": "custom_tool_call_output", "call_id": "b", "output": [{"type": "input_text", "text": "done"}]},
    {"role": "assistant", "content": "Both done."},
    {"role": "user", "content": [{"type": "input_image", "image_url": "https://example.org/a.png"}]},
]


def recorded(given: Any, **more: Any) -> Recording:
    return read(json.dumps({"input": given, **more}).encode(), "t.json")


def test_items_become_messages_and_one_answer_is_one_message() -> None:
    tools = [
        {"type": "function", "name": "look", "description": "Look.", "parameters": {"type": "object"}},
        {"type": "web_search"},
    ]
    found = recorded(ITEMS, model="gpt-5", instructions="Help.", tools=tools)
    assert (found.format, found.provider, found.model) == ("openai-responses", "openai-responses", "gpt-5")
    assert [m.role for m in found.messages] == ["system", "user", "assistant", "tool", "tool", "assistant", "user"]
    calls = found.messages[2]
    assert calls.content == (Thinking("Hm."),)
    assert calls.tool_calls == (ToolCall("a", "look", '{"k": 1}'), ToolCall("b", "patch", "*** Begin"))
    assert calls.extra == {"items": ITEMS[1:4]}
    assert [(m.tool_call_id, m.text) for m in found.messages[3:5]] == [("a", "seen"), ("b", "done")]
    assert found.messages[6].content == (Image("https://example.org/a.png"),)
    assert [tool.name for tool in found.tools] == ["look"]
    assert (found.asked, found.pending, found.notes) == ((2, 5, 7), True, [])


def test_a_text_is_a_question() -> None:
    found = recorded("Hi", previous_response_id="resp_1")
    assert [(m.role, m.content) for m in found.messages] == [("user", (Text("Hi"),))]
    assert found.parameters == {"previous_response_id": "resp_1"}


@pytest.mark.parametrize(
    ("item", "call"),
    [
        ({"type": "computer_call", "call_id": "c", "action": {"type": "click"}}, ToolCall("c", "computer", '{"type": "click"}')),
        (
            {"type": "tool_search_call", "call_id": "c", "arguments": {"query": "x"}},
            ToolCall("c", "tool_search", '{"query": "x"}'),
        ),
        ({"type": "function_call", "name": "look", "arguments": "{}"}, ToolCall("", "look", "{}")),
        ({"type": "web_search_call", "id": "ws_1"}, None),
        ({"type": "item_reference", "id": "msg_1"}, None),
    ],
)
def test_what_else_a_model_does_is_part_of_its_answer(item: dict[str, Any], call: ToolCall | None) -> None:
    (answer,) = recorded([item]).messages
    assert (answer.role, answer.tool_calls, answer.extra["items"]) == ("assistant", (call,) if call else (), [item])


@pytest.mark.parametrize("item", [7, {"type": "message", "role": "bot", "content": "x"}, {"role": []}])
def test_what_is_no_item_is_told(item: Any) -> None:
    with pytest.raises(InputError, match=r"t\.json: item 2 "):
        recorded([ITEMS[0], item])
