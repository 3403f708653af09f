"""`--fix`: what a provider would refuse is mended, every change is said, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.core.request import Request
from ctxeng_cli.lint import check
from ctxeng_cli.transcripts import Recording, repaired
from ctxeng_cli.transcripts.recording import recorded
from tests.commands import ctxeng
from tests.notation import message

LOOK = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}


def talk(line: str) -> Recording:
    return recorded("openai-chat", [message(word, number) for number, word in enumerate(line.split(), 1)])


def shown(recording: Recording) -> str:
    """Names of the messages, calls in brackets, results by the id that they answer."""
    return " ".join(
        f"{m.text or m.role}[{','.join(c.id for c in m.tool_calls)}]" if m.tool_calls else m.tool_call_id or m.text
        for m in recording.messages
    )


@pytest.mark.parametrize(
    ("line", "mended", "said"),
    [
        ("s u1 a1[x] x a2 u2", "s u1 a1[x] x a2 u2", []),
        ("u1 a1[x] u2 x a2", "u1 a1[x] x u2 a2", ["m4: the result of 'x' was moved right behind m2"]),
        ("u1 a1[x,y] y u2 x a2", "u1 a1[x,y] x y u2 a2", ["m5: the result of 'x' was moved right behind m2"]),
        ("u1 a1[x] u2 a2", "u1 a1[x] x u2 a2", ["m2: the call 'x' of look had no result; one that says so was put in"]),
        ("u1 x a1", "u1 [Result of a tool call that is not recorded]\nx a1",
         ["m2: a result of 'x', which nothing calls; it became a user message"]),
        ("u1 a1[x] x a2[x] x u2", "u1 a1[x] x a2[x] x u2", []),
        ("u1 a1[x,x] x x a2", "u1 a1[x,call_m2_2] x call_m2_2 a2",
         ["m2: the call of look with the id 'x' got the id 'call_m2_2'"]),
        ("u1 a1[x]", "u1 a1[x]", []),
    ],
)  # fmt: skip
def test_pairs_are_mended(line: str, mended: str, said: list[str]) -> None:
    recording, repairs = repaired(talk(line))
    assert shown(recording) == mended
    assert list(repairs) == said


WORDS = st.lists(st.sampled_from(["u", "a", "a[x]", "a[x,y]", "a[y,y]", "x", "y", "z"]), min_size=1, max_size=12)


@given(WORDS)
def test_whatever_is_mended_is_legal_and_whole(words: list[str]) -> None:
    before = talk("u " + " ".join(words) + " u")
    after, _ = repaired(before)
    assert not [f for f in check(Request(after.messages)) if f.severity == "error"]
    said = [text.text for m in before.messages for text in m.content]  # type: ignore[union-attr]
    kept = "\n".join(m.text for m in after.messages)
    assert all(text in kept for text in said)
    ids = [m.id for m in after.messages]
    assert len(ids) == len(set(ids))
    again, repairs = repaired(after)
    assert (again.messages, repairs) == (after.messages, ())


def test_empty_texts_and_messages_are_left_out() -> None:
    recording, repairs = repaired(talk("u1 a1 u2").__class__("openai-chat", lambda _: iter(())))
    assert (recording.messages, repairs) == ((), ())
    messages = [
        message("u", 1),
        message("a", 2).with_text(""),
        message("u", 3),
        message("a[x]", 4).with_text(" "),
        message("x", 5),
    ]
    recording, repairs = repaired(recorded("openai-chat", [*messages, message("u", 6)]))
    assert shown(recording) == "u u assistant[x] x u"
    assert repairs == ("m2: the empty assistant message was left out", "m4: its empty text was left out")


def test_an_id_that_is_missing_or_too_long_is_given_to_both_halves(tmp_path: Path) -> None:
    long = {**LOOK, "id": "x" * 41}
    body: list[dict[str, Any]] = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [{**LOOK, "id": ""}, long]},
        {"role": "tool", "tool_call_id": "", "content": "first"},
        {"role": "tool", "tool_call_id": "x" * 41, "content": "second"},
        {"role": "user", "content": "And?"},
    ]
    (tmp_path / "t.json").write_text(json.dumps(body))
    ran = ctxeng("replay", "t.json", "--fix", "--json", cwd=tmp_path, home=tmp_path / "home")
    assert ran.exit == 0, ran.err
    lines = [json.loads(line) for line in ran.out.splitlines()]
    messages = [line["message"] for line in lines if line["type"] == "message.added"]
    assert [(m.get("tool_call_id"), m["text"]) for m in messages[2:4]] == [("call_m2_1", "first"), ("call_m2_2", "second")]
    assert "mended m2: the call of look with the id '' got the id 'call_m2_1'" in ran.err
    (tmp_path / "again.jsonl").write_text(ran.out)
    again = ctxeng("replay", "again.jsonl", "--policy", "unlimited", cwd=tmp_path, home=tmp_path / "home")
    assert again.exit in (0, 3), again.err
    assert ctxeng("replay", "t.json", cwd=tmp_path, home=tmp_path / "home").exit == 1
