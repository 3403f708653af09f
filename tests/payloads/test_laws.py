"""What our windows hold is taken by every provider, and whatever is read can be written for each of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.core.budget import Budget
from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.events import WindowEdited
from ctxeng_cli.core.request import Request
from ctxeng_cli.lint import check
from ctxeng_cli.payloads import PROVIDERS, body
from ctxeng_cli.spec import parse_policy
from ctxeng_cli.transcripts import read, repaired
from ctxeng_cli.window import budgets_of, squeeze
from tests.notation import entry
from tests.window.test_laws import LIMITS, WEIGHTS, conversations, folded


@given(conversations(), WEIGHTS, LIMITS, st.sampled_from(["tokens", "messages"]), st.lists(st.integers(1, 12), max_size=3))
def test_a_window_of_whole_exchanges_is_legal_for_every_provider(
    line: str, weights: dict[str, int], limit: int, unit: Any, pinned: list[int]
) -> None:
    state, history = folded(line, weights)
    edits, _ = squeeze(history, Budget(unit, limit), fixed=0, turn=1, pinned={f"m{number}" for number in pinned})
    state.apply(entry(99, WindowEdited(edits=edits)))
    request = Request(tuple(history.messages[id] for id in history.window()))
    for provider in PROVIDERS:
        assert [f for f in check(request, provider=provider) if f.severity == "error"] == [], provider


@pytest.mark.parametrize(("provider", "leaves"), [("openai", "message"), ("anthropic", "exchange"), ("gemini", "exchange")])
def test_exchanges_leave_whole_where_a_conversation_has_to_begin_with_a_question(provider: str, leaves: str) -> None:
    (budget,) = budgets_of(parse_policy("messages:3,unit=message"), None, None, provider)
    assert budget.leaves == leaves


NAMES = st.sampled_from(["type", "text", "name", "parts"])
ANY = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 1) | st.sampled_from(["", "x", "text"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(NAMES, inner, max_size=2),
    max_leaves=4,
)
KEYS = (
    "text", "id", "call_id", "name", "tool_use_id", "input", "arguments", "thinking", "signature", "source", "cache_control",
    "output", "summary", "functionCall", "functionResponse", "thoughtSignature", "inlineData", "layout", "items", "role",
)  # fmt: skip
TYPES = (
    "text", "tool_use", "tool_result", "thinking", "image", "server_tool_use", "web_search_tool_result", "function_call",
    "function_call_output", "reasoning", "message", "compaction",
)  # fmt: skip
BLOCKS = st.lists(st.fixed_dictionaries({"type": st.sampled_from(TYPES)}, optional=dict.fromkeys(KEYS, ANY)), max_size=4)
CALLS = st.lists(st.fixed_dictionaries({"function": st.fixed_dictionaries({"name": st.just("f"), "arguments": ANY})}), max_size=2)
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["user", "assistant", "system", "tool"]), "content": ANY | BLOCKS},
    optional={"tool_calls": CALLS, "tool_call_id": ANY, "items": ANY, "layout": ANY, "cache_control": ANY},
)
CONTENTS = st.fixed_dictionaries({"role": st.sampled_from(["user", "model", "system"]), "parts": ANY | BLOCKS})
RECORDINGS = (
    st.fixed_dictionaries({"messages": st.lists(MESSAGES, max_size=4)}, optional={"system": ANY | BLOCKS, "thinking": ANY})
    | st.fixed_dictionaries({"input": BLOCKS}, optional={"instructions": ANY, "model": st.just("gpt-5")})
    | st.fixed_dictionaries({"contents": st.lists(CONTENTS, max_size=4)}, optional={"systemInstruction": ANY, "tools": ANY})
)


@given(RECORDINGS)
def test_whatever_is_read_is_linted_mended_and_written_for_each_provider(sent: dict[str, Any]) -> None:
    try:
        recording = read(json.dumps(sent).encode(), "t.json")
        mended, _ = repaired(recording)
    except InputError:
        return
    for messages in (recording.messages, mended.messages):
        cleared = tuple(m.with_text("[cleared]") if m.role == "tool" else m for m in messages)
        for request in (Request(messages, recording.tools), Request(cleared, recording.tools, marks=("m1",))):
            for provider in PROVIDERS:
                assert {finding.part for finding in check(request, provider=provider)} <= {None, *(m.id for m in messages)}
                assert json.loads(json.dumps(body(request, provider)))
