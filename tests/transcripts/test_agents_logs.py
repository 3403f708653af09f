"""Sessions of Claude Code and rollouts of Codex: what was said, where the model was asked, what it was said to cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ctxeng_cli.core.messages import Thinking, ToolCall
from ctxeng_cli.transcripts import Asked, Recording, read
from tests.commands import ctxeng
from tests.contract import events


def recorded(lines: list[dict[str, Any]], torn: str = "") -> Recording:
    found = read("".join(json.dumps(line) + "\n" for line in lines).encode() + torn.encode(), "t.jsonl")
    list(found)
    return found


def asked(recording: Recording) -> list[int | None]:
    """The recorded input tokens of each request."""
    return [item.recorded.input if item.recorded else None for item in recording if isinstance(item, Asked)]


# -- Claude Code -----------------------------------------------------------------------------------------------------


def said(kind: str, content: Any, uuid: str, **more: Any) -> dict[str, Any]:
    message = {"role": kind, "content": content, **more.pop("message", {})}
    return {"type": kind, "uuid": uuid, "sessionId": "s", "message": message, **more}


def block(kind: str, **more: Any) -> list[dict[str, Any]]:
    return [{"type": kind, **more}]


def result(id: str, text: str) -> list[dict[str, Any]]:
    return block("tool_result", tool_use_id=id, content=text)


def answer(content: Any, uuid: str, id: str, **usage: int) -> dict[str, Any]:
    return said("assistant", content, uuid, message={"id": id, "model": "claude-x", "usage": usage})


SESSION = [
    {"type": "summary", "summary": "A talk", "leafUuid": "x"},
    said("user", "Look twice.", "u1"),
    answer(block("thinking", thinking="Hm.", signature="c2ln"), "a1", "msg_1", input_tokens=10),
    answer(block("text", text="I look."), "a2", "msg_1", input_tokens=10),
    answer(block("tool_use", id="t1", name="look", input={"x": 1}), "a3", "msg_1", input_tokens=10),
    answer(block("tool_use", id="t2", name="look", input={"x": 2}), "a4", "msg_1", input_tokens=10, cache_read_input_tokens=90),
    said("user", [*result("t1", "one"), *result("t2", "two")], "u2"),
    answer(block("text", text="Seen."), "a5", "msg_2", input_tokens=3, cache_read_input_tokens=900,
           cache_creation_input_tokens=40),
]  # fmt: skip


def test_the_lines_of_one_message_are_one_and_its_usage_counts_once() -> None:
    found = recorded(SESSION)
    assert (found.format, found.provider, found.model) == ("claude-code", "anthropic", "claude-x")
    assert [m.role for m in found.messages] == ["user", "assistant", "tool", "tool", "assistant"]
    assert found.messages[1].tool_calls == (ToolCall("t1", "look", '{"x": 1}'), ToolCall("t2", "look", '{"x": 2}'))
    assert found.messages[1].content[0] == Thinking("Hm.", "c2ln")
    assert asked(found) == [100, 943], "cached tokens are part of the input"
    assert found.pending is False


def test_side_chains_and_repeated_lines_are_left_out_and_told() -> None:
    side = said("user", "Sub-agent, look.", "x1", isSidechain=True)
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "b"}
    found = recorded([*SESSION[:2], side, boundary, *SESSION[1:]])
    assert [m.text for m in found.messages][:2] == ["Look twice.", "I look."]
    assert "1 side chain lines were left out" in found.notes
    assert "1 repeated lines were left out" in found.notes
    assert any("1 compactions are in it" in note for note in found.notes)


def test_a_session_that_waits_for_an_answer_is_pending_and_a_torn_line_is_no_reason_to_fail() -> None:
    found = recorded(SESSION[:7], torn='{"type": "assist')
    assert asked(found) == [100, None]
    assert found.pending


# -- Codex -----------------------------------------------------------------------------------------------------------


def line(kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": "2026-01-01T00:00:00Z", "type": kind, "payload": payload}


def item(kind: str, **more: Any) -> dict[str, Any]:
    return line("response_item", type=kind, **more)


def tokens(given: int, cached: int = 0) -> dict[str, Any]:
    last = {"input_tokens": given, "cached_input_tokens": cached, "output_tokens": 5}
    return line("event_msg", type="token_count", info={"last_token_usage": last})


ROLLOUT = [
    line("session_meta", id="t", cwd="/w", base_instructions={"text": "Be exact."}),
    line("turn_context", model="gpt-5-codex"),
    line("event_msg", type="user_message", message="List the files"),
    item("message", role="user", content=[{"type": "input_text", "text": "List the files"}]),
    item("reasoning", id="rs_1", summary=[{"type": "summary_text", "text": "ls will do"}]),
    item("function_call", id="fc_1", call_id="c1", name="shell", arguments='{"command": ["ls"]}'),
    item("custom_tool_call", id="ct_1", call_id="c2", name="patch", input="*** Begin"),
    tokens(1000, 800),
    item("function_call_output", call_id="c1", output="a.txt"),
    item("custom_tool_call_output", call_id="c2", output={"type": "input_text", "text": "done"}),
    item("message", role="assistant", content=[{"type": "output_text", "text": "a.txt"}]),
    tokens(1200, 1000),
]


def test_items_of_one_answer_are_one_message_and_cached_tokens_are_not_counted_twice() -> None:
    found = recorded(ROLLOUT)
    assert (found.format, found.provider, found.model) == ("codex", "openai-responses", "gpt-5-codex")
    assert [m.role for m in found.messages] == ["system", "user", "assistant", "tool", "tool", "assistant"]
    assert [call.name for call in found.messages[2].tool_calls] == ["shell", "patch"]
    assert [m.text for m in found.messages[3:5]] == ["a.txt", "done"]
    assert asked(found) == [1000, 1200]


def test_answers_with_counts_between_them_are_two_requests() -> None:
    found = recorded([*ROLLOUT[:4], ROLLOUT[10], tokens(10), ROLLOUT[10], tokens(20)])
    assert asked(found) == [10, 20]


def test_figures_that_are_none_are_counted_as_nothing() -> None:
    wrong = line("event_msg", type="token_count", info={"last_token_usage": {"input_tokens": "many", "output_tokens": True}})
    assert asked(recorded([*ROLLOUT[:4], ROLLOUT[10], wrong])) == [0]
    assert asked(recorded([SESSION[1], answer(block("text", text="Hm."), "a1", "msg_1", input_tokens=-5)])) == [0]


@pytest.mark.parametrize("lines", [SESSION, ROLLOUT], ids=["claude-code", "codex"])
def test_they_are_replayed_with_the_recorded_input_beside_ours(lines: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    ran = ctxeng(
        "replay", "t.jsonl", "--policy", "tokens:4000", "--policy", "messages:9", "--json", cwd=tmp_path, home=tmp_path / "h"
    )
    assert ran.exit == 0, ran.err
    *rows, _ = events(ran.out)
    assert all(row["recorded_input"] > 0 for row in rows)
    shown = ctxeng("replay", "t.jsonl", cwd=tmp_path, home=tmp_path / "h").out
    assert "recorded" in shown
