"""The window of the library: the same as a replay's, with tools, steps and pins, and errors that tell."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from ctxeng_cli import Window
from ctxeng_cli.core.errors import InputError, Overflow
from ctxeng_cli.core.request import openai_message
from ctxeng_cli.spec.policy import PolicyError
from tests.replay.test_simulate import POLICIES, rows, talk
from tests.window.test_laws import conversations


@given(conversations(), POLICIES)
def test_it_holds_what_a_replay_shows(line: str, policy: str) -> None:
    recording = talk(line)
    shown = {row.request: row for row in rows(recording, policy)}
    window, number, asked = Window(policy, model="offline"), 0, set(recording.asked)
    for at in range(len(recording.messages) + 1):
        if at in asked:
            number += 1
            row = shown[number]
            if row.overflow is not None:
                return  # here a replay goes on, and a program is told
            sent = window.messages()
            assert len(sent) == len(row.window)
            assert window.tokens == row.tokens
        if at < len(recording.messages):
            window.add(openai_message(recording.messages[at]))


def test_edits_say_what_left_and_why() -> None:
    window = Window("messages:3")
    for text in ("One", "Two", "Three"):
        window.add({"role": "user", "content": text})
        window.messages()
        window.add({"role": "assistant", "content": f"{text}."})
    window.add({"role": "user", "content": "Four"})
    assert [m["content"] for m in window.messages()] == ["Three", "Three.", "Four"]
    (edit,) = window.edits
    assert (edit.op, edit.messages, edit.reason.rule, edit.reason.measured) == ("evict", ("m3", "m4"), "window.messages", 5)
    assert window.lint == ()
    window.messages()
    assert window.edits == ()


def test_tools_count_and_results_can_be_cleared() -> None:
    tool: dict[str, Any] = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {}}}
    bare, tooled = Window("unlimited"), Window("tokens:120,clear_tool_results=1", tools=[tool])
    assert tooled.tokens > bare.tokens
    tooled.add({"role": "user", "content": "Go"})
    for n in range(3):
        call = {"id": f"c{n}", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        tooled.add({"role": "assistant", "content": None, "tool_calls": [call]})
        tooled.add({"role": "tool", "tool_call_id": f"c{n}", "content": "word " * 25})
    assert "[cleared]" in [m["content"] for m in tooled.messages()]


def test_mistakes_are_told() -> None:
    with pytest.raises(PolicyError, match='Did you mean "tokens:9"'):
        Window("token:9")
    window = Window("tokens:9")
    with pytest.raises(InputError, match="message 1 has the role 'robot'"):
        window.add({"role": "robot", "content": "Hi"})
    window.add({"role": "user", "content": "word " * 30})
    with pytest.raises(Overflow, match="the question needs"):
        window.messages()
