"""Counts: exact offline for OpenAI's encodings, labelled elsewhere, linear for what breaks other counters."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.core.messages import Image, Message, Text, Thinking, ToolCall, assistant, tool_result, user
from ctxeng_cli.core.request import ToolDefinition
from ctxeng_cli.core.tokens import FRAME, Counter, count_text, counter_for

EXACT = Counter("o200k_base", True)


@pytest.mark.parametrize(
    ("text", "encoding", "tokens"),
    [
        ("tiktoken is great!", "cl100k_base", 6),  # the example of OpenAI's cookbook
        ("antidisestablishmentarianism", "cl100k_base", 6),
        ("お誕生日おめでとう", "cl100k_base", 9),
        ("antidisestablishmentarianism", "o200k_base", 6),
        ("お誕生日おめでとう", "o200k_base", 8),
        ("", "o200k_base", 0),
    ],
)
def test_counts_are_those_that_openai_publishes(text: str, encoding: str, tokens: int) -> None:
    assert count_text(text, encoding) == tokens


def test_the_first_count_of_a_new_machine_needs_no_network() -> None:
    """tiktoken downloads its vocabularies unless it finds them: a proxy that refuses everything stands for no network."""
    program = "from ctxeng_cli.core.tokens import count_text; print(count_text('tiktoken is great!', 'cl100k_base'))"
    closed = {"HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "HOME": os.devnull}
    environ = {"PATH": os.environ["PATH"], **closed}
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environ, timeout=60)
    assert ran.stdout == "6\n", ran.stderr


@pytest.mark.parametrize("text", [" " * 1_000_000, "\n" * 300_001, "x" + "\u3000" * 250_000 + "y", "\t \n" * 200_000])
def test_a_million_spaces_are_counted(text: str) -> None:
    assert 0 < count_text(text) <= len(text)


@pytest.mark.parametrize("text", ["<|endoftext|>", "<|im_start|>system", "a<|endofprompt|>b"])
def test_special_tokens_are_text(text: str) -> None:
    assert count_text(text) > 1
    assert EXACT.message(user(text)) == 4 + count_text(text)


def test_a_cut_in_a_long_run_of_spaces_costs_a_token_at_most() -> None:
    from ctxeng_cli.core.tokens import _encoding

    for length in (99_999, 100_000, 100_001, 250_000):
        whole = len(_encoding("o200k_base").encode_ordinary("a" + " " * length + "b"))
        assert whole <= count_text("a" + " " * length + "b") <= whole + length // 100_000


@given(st.text(st.characters(codec=None), max_size=200))
def test_any_text_is_counted(text: str) -> None:
    assert (count_text(text) == 0) == (text == "")


def test_a_megabyte_takes_moments() -> None:
    start = time.monotonic()
    count_text("The quick brown fox jumps over the lazy dog. " * 23_000)
    assert time.monotonic() - start < 10, "a second or so on a slow machine"


@pytest.mark.parametrize(
    ("model", "name", "exact"),
    [
        ("offline", "o200k_base", True),
        ("scripted:a.jsonl", "o200k_base", True),
        ("openai/gpt-5-mini", "o200k_base", True),
        ("gpt-4o", "o200k_base", True),
        ("o3-mini", "o200k_base", True),
        ("gpt-4-turbo", "cl100k_base", True),
        ("openai/gpt-3.5-turbo", "cl100k_base", True),
        ("gpt-4.1", "o200k_base", True),
        ("anthropic/claude-sonnet-4-5", "o200k_base", False),
        ("openrouter/openai/gpt-4o", "o200k_base", False),
        ("openai/my-own-model", "o200k_base", False),
    ],
)
def test_the_encoding_is_the_models_own_or_an_estimate_that_says_so(model: str, name: str, exact: bool) -> None:
    counter = counter_for(model)
    assert (counter.name, counter.exact) == (name, exact)
    assert counter.label == (name if exact else f"≈ {name}")


def test_the_frame_is_the_cookbooks() -> None:
    """OpenAI's cookbook: 3 a message, its role 1, 1 and the name where there is one."""
    assert EXACT.frame == FRAME == "openai-chat/1"
    assert EXACT.message(user("Hello")) == 3 + 1 + 1
    assert EXACT.message(Message("user", (Text("Hello"),), name="Ann")) == 3 + 1 + 1 + 1 + count_text("Ann")


def test_calls_images_and_thinking_weigh_too() -> None:
    call = ToolCall("c1", "get_weather", '{"city": "Bern"}')
    assert EXACT.message(assistant("", (call,))) == 4 + 3 + count_text("get_weather") + count_text('{"city": "Bern"}')
    assert EXACT.message(tool_result(call, "7 °C")) == 4 + count_text("7 °C")
    assert Counter("o200k_base", True, image_tokens=85).message(Message("user", (Image("a.png"),))) == 4 + 85
    assert EXACT.message(Message("assistant", (Thinking("Hm."), Text("Yes")))) == 4 + count_text("Hm.") + count_text("Yes")


def test_a_tools_definition_is_counted_by_the_cookbooks_formula() -> None:
    """The function of the cookbook, with its figures for gpt-4o: 7 a function, 3 its properties, 3 each, enums -3 and 3 each."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {
            "location": {"type": "string", "description": "The city and state, e.g. San Francisco, CA"},
            "unit": {"type": "string", "description": "The unit of temperature to return", "enum": ["celsius", "fahrenheit"]},
        },
        "required": ["location"],
    }
    tool = ToolDefinition("get_current_weather", "Get the current weather in a given location", schema)
    expected = 7 + count_text("get_current_weather:Get the current weather in a given location") + 3
    expected += 3 + count_text("location:string:The city and state, e.g. San Francisco, CA")
    expected += 3 + count_text("unit:string:The unit of temperature to return") - 3
    expected += 3 + count_text("celsius") + 3 + count_text("fahrenheit")
    assert EXACT.tool(tool) == expected
    assert (EXACT.tools_overhead([tool]), EXACT.tools_overhead([])) == (12, 0)


def test_a_bigger_schema_never_weighs_less() -> None:
    def tool(**properties: Any) -> int:
        return EXACT.tool(ToolDefinition("f", "", {"type": "object", "properties": properties}))

    nested = {"type": "object", "properties": {"b": {"type": "string"}}}
    assert tool() < tool(a={"type": "string"}) < tool(a=nested)
    assert tool(a={"type": "array"}) < tool(a={"type": "array", "items": {"type": "string", "enum": ["x", "y"]}})
