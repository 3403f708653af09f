"""`--fix`: what a provider would refuse is mended, every change is said, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.core.messages import Message, Text, ToolCall
from ctxeng_cli.core.request import Request
from ctxeng_cli.lint import check
from ctxeng_cli.payloads import PROVIDERS, body
from ctxeng_cli.transcripts import Recording, read, repaired
from ctxeng_cli.transcripts.recording import recorded
from tests.commands import ctxeng
from tests.lint.bodies import result, text, use
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
        ("u1 a1[x,y] y x a2", "u1 a1[x,y] y x a2", []),
        ("u1 a1[x] u2 a2[x] x u3", "u1 a1[x] x u2 a2[x] x u3",
         ["m2: the call 'x' of look had no result; one that says so was put in"]),
        ("u1 a1[x] x x a2", "u1 a1[x] x [Result of a tool call that is not recorded]\nx a2",
         ["m4: a second result of 'x'; it became a user message"]),
    ],
)  # fmt: skip
def test_pairs_are_mended(line: str, mended: str, said: list[str]) -> None:
    recording, repairs = repaired(talk(line))
    assert shown(recording) == mended
    assert list(repairs) == said


def test_a_result_belongs_to_the_nearest_earlier_call_that_waits() -> None:
    recording, _ = repaired(talk("u1 a1[x] u2 a2[x] x u3 x"))
    assert [m.id for m in recording.messages] == ["m1", "m2", "m7", "m3", "m4", "m5", "m6"]


def test_requests_stay_where_they_stood_but_for_those_whose_answer_was_left_out() -> None:
    recording, _ = repaired(talk("u1 a1[x] a2 u2 x a3 u3"))
    assert shown(recording) == "u1 a1[x] x a2 u2 a3 u3"
    assert (recording.asked, recording.pending) == ((1, 3, 5, 7), True)
    empty = recorded("openai-chat", [message("u", 1), Message("assistant"), message("u", 3), message("a", 4)])
    assert repaired(empty)[0].asked == (2,)


@pytest.mark.parametrize(
    ("call_id", "result_id", "said"),
    [
        ("", "", ["m2: the call of look with the id '' got the id 'call_m2_1'"]),
        ("c1", "", ["m3: the result with the id '' answers m2, by its place"]),
        ("", "r1", ["m3: the result with the id 'r1' answers m2, by its place",
                    "m2: the call of look with the id '' got the id 'call_m2_1'"]),
    ],
)  # fmt: skip
def test_a_half_without_an_id_is_paired_by_its_place(call_id: str, result_id: str, said: list[str]) -> None:
    call = Message("assistant", tool_calls=(ToolCall(call_id, "look", "{}"),))
    answer = Message("tool", (Text("seen"),), tool_call_id=result_id)
    recording, repairs = repaired(recorded("openai-chat", [message("u", 1), call, answer, message("u", 4)]))
    assert list(repairs) == said
    assert recording.messages[1].tool_calls[0].id == recording.messages[2].tool_call_id


def test_what_was_of_another_type_is_text() -> None:
    odd = {**LOOK, "function": {"name": "look", "arguments": {"k": 1}}}
    sent = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [odd]},
        {"role": "tool", "tool_call_id": "c1", "content": None},
        {"role": "user", "content": "And?"},
    ]
    recording, repairs = repaired(read(json.dumps(sent).encode(), "t"))
    assert repairs == (
        "m2: the arguments of 'c1' were no text; they are written as JSON", "m3: its content was null; it is an empty text",
    )  # fmt: skip
    assert check(Request(recording.messages)) == ()


SIGNED = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}


@pytest.mark.parametrize(
    ("answer", "results", "said"),
    [
        ([SIGNED, use()], [result()], []),
        ([{**SIGNED, "thinking": ""}, use()], [result()], ["m2: thinking that had lost its text or its signature was left out"]),
        ([{**SIGNED, "signature": ""}, use()], [result()], ["m2: thinking that had lost its text or its signature was left out"]),
        ([use()], [text("Look:"), result()], ["m4: it stood before results of the same message; it was put behind them"]),
        ([use("a"), use("a")], [result("a", "1"), result("a", "2")],
         ["m2: the call of look with the id 'a' got the id 'call_m2_2'"]),
    ],
)  # fmt: skip
def test_a_request_of_anthropics_is_mended(answer: list[Any], results: list[Any], said: list[str]) -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": answer}, {"role": "user", "content": results}]
    recording, repairs = repaired(read(json.dumps({"max_tokens": 9, "messages": messages}).encode(), "t"))
    assert list(repairs) == said
    assert check(Request(recording.messages), provider="anthropic") == ()


def test_responses_of_geminis_in_several_turns_are_put_together() -> None:
    parts = [{"functionCall": {"name": name, "args": {}}} for name in "ab"]
    answers = [{"functionResponse": {"name": name, "response": {}}} for name in "ab"]
    contents = [{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": parts}]
    contents += [{"role": "user", "parts": [answer]} for answer in answers]
    recording, repairs = repaired(read(json.dumps({"contents": contents}).encode(), "t"))
    assert repairs == ("m2: its responses stood in several turns; they were put into one",)
    assert check(Request(recording.messages), provider="gemini") == ()


def test_items_of_openais_responses_get_the_ids_too() -> None:
    call = {"type": "function_call", "name": "look", "arguments": "{}"}
    items = [call, {**call, "call_id": "a"}, {"type": "function_call_output", "call_id": "a", "output": "1"}]
    sent = {"model": "m", "input": [{"type": "message", "role": "user", "content": "Hi"}, *items]}
    recording, repairs = repaired(read(json.dumps(sent).encode(), "t"))
    assert len(repairs) == 2
    made = body(Request(recording.messages), "openai-responses")["input"]
    assert [item.get("call_id") for item in made] == [None, "call_m2_1", "a", "call_m2_1", "a"]
    assert check(Request(recording.messages), provider="openai-responses") == ()


def test_a_recording_that_is_legal_is_left_as_it_is() -> None:
    recording = talk("s u1 a1[x] x a2 u2")
    assert repaired(recording) == (recording, ())


def test_what_the_importer_had_to_say_is_still_said() -> None:
    lines = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": ""}, {"role": "user", "content": "And?"}]
    recording, _ = repaired(read("\n".join([*map(json.dumps, lines), '{"role": "us']).encode(), "t"))
    assert len(recording.messages) == 2
    assert recording.notes == ["no system message is recorded", "the last line is torn; its 12 characters were left out"]


WORDS = st.lists(st.sampled_from(["u", "a", "a[x]", "a[x,y]", "a[y,y]", "x", "y", "z"]), min_size=1, max_size=12)


@given(WORDS)
def test_whatever_is_mended_is_legal_and_whole(words: list[str]) -> None:
    before = talk("u " + " ".join(words) + " u")
    after, _ = repaired(before)
    for provider in PROVIDERS:
        assert not [f for f in check(Request(after.messages), provider=provider) if f.severity == "error"], provider
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
    sent: list[dict[str, Any]] = [
        {"role": "user", "content": "Go."},
        {"role": "assistant", "content": None, "tool_calls": [{**LOOK, "id": ""}, long]},
        {"role": "tool", "tool_call_id": "", "content": "first"},
        {"role": "tool", "tool_call_id": "x" * 41, "content": "second"},
        {"role": "user", "content": "And?"},
    ]
    (tmp_path / "t.json").write_text(json.dumps(sent))
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
