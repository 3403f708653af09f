"""Recordings through policies: the same windows as in a live session, figures that add up, laws that hold."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.core.events import PolicyRow, ReplayRequest, RequestSent
from ctxeng_cli.core.messages import expand
from ctxeng_cli.core.tokens import counter_for
from ctxeng_cli.core.view import request_of
from ctxeng_cli.payloads import body
from ctxeng_cli.replay import Run, look, simulate, summary
from ctxeng_cli.session import FileStore, open_session
from ctxeng_cli.session.open import Overrides
from ctxeng_cli.session.stores import read_log
from ctxeng_cli.spec import load, parse_policy
from ctxeng_cli.transcripts import Recording, read
from ctxeng_cli.transcripts.recording import recorded
from tests.commands import ROOT, Ran, ctxeng
from tests.contract import assert_context, events
from tests.notation import message
from tests.session.test_rebuild import TALKS
from tests.window.test_laws import conversations

PROJECT = load(ROOT / "agents.yaml")


def rows(recording: Recording, policy: str) -> list[ReplayRequest]:
    run = Run(parse_policy(policy))
    return [row.request for row in simulate(recording, (run,), counter_for(recording.model))]


def whole_of(recording: Recording, policy: str) -> PolicyRow:
    run = Run(parse_policy(policy))
    return summary(run, simulate(recording, (run,), counter_for(recording.model)))


@pytest.mark.parametrize(
    "policy",
    ["unlimited", "none", "messages:6", "messages:6,unit=message", "tokens:1300", "tokens:1300,low_water=0.8",
     "tokens:1300,clear_tool_results=1", "tokens:1250,cap_result=50,unit=message", "tokens:1300,summarize=1",
     "messages:6,summarize=2", "tokens:1400,offload=40,summarize=1"],
)  # fmt: skip
@pytest.mark.parametrize("name", PROJECT.agents)
def test_a_session_under_its_own_policy_gives_the_windows_that_were_sent(tmp_path: Path, name: str, policy: str) -> None:
    """The law that makes a replay worth anything: what it shows is what a live session does."""
    if name == "analyst":  # its tools alone take a thousand
        policy = policy.replace("1250", "1600").replace("1300", "1650").replace("1400", "1750")
    store = FileStore(tmp_path)
    session = open_session(PROJECT, name, store=store, id="s", environ={}, overrides=Overrides(policy=parse_policy(policy)))
    for question in TALKS[name]:
        outcome = asyncio.run(session.say(question))
        if outcome.error is not None:
            pytest.fail(f"the talk does not fit {policy}: {outcome.text}")
    session.close()
    sent = [entry.event for entry in read_log(store.path("s")).entries if isinstance(entry.event, RequestSent)]
    replayed = rows(read(store.path("s").read_bytes(), "s"), policy)
    assert [row.window for row in replayed] == [expand(event.window) for event in sent]
    assert [row.tokens for row in replayed] == [event.budget["used_tokens"] for event in sent]
    assert [row.stable_prefix_tokens for row in replayed] == [event.stable_prefix_tokens for event in sent]


def talk(line: str) -> Recording:
    """A conversation in the notation of the window tests."""
    return recorded("notation", [message(word, number) for number, word in enumerate(line.split(), 1)])


POLICIES = st.sampled_from(
    ["unlimited", "none", "messages:4", "messages:5,unit=message", "tokens:40", "tokens:60,low_water=0.5",
     "tokens:40,overflow=keep,unit=message", "tokens:50,clear_tool_results=0", "tokens:45,overflow=truncate",
     "tokens:90,summarize=1", "messages:5,summarize=1", "messages:6,summarize=2,low_water=0.5", "tokens:400,offload=5"]
)  # fmt: skip


@given(conversations(), POLICIES)
def test_no_policy_shows_a_model_an_illegal_request(line: str, policy: str) -> None:
    recording = talk(line)
    found = rows(recording, policy)
    assert [row.request for row in found] == list(range(1, len(recording.asked) + 1))
    gone: set[str] = set()
    for at, row in zip(recording.asked, found, strict=True):
        assert [f for f in row.lint if f.severity == "error"] == []
        gone |= set(row.evicted)
        seen = {m.id for m in recording.messages[:at]}
        assert set(row.window) | gone == seen, "in the window or evicted, and said so: nothing is lost in silence"
        assert not set(row.window) & gone
        if policy.startswith("tokens:") and row.overflow is None:
            assert row.tokens <= int(policy.split(",")[0].removeprefix("tokens:"))


@given(conversations())
def test_below_the_budget_the_window_is_the_recording(line: str) -> None:
    recording = talk(line)
    for row, at in zip(rows(recording, "tokens:100000"), recording.asked, strict=True):
        assert row.window == tuple(m.id for m in recording.messages[:at])
        assert row.evicted == ()


def test_what_a_model_takes_is_told_whether_it_bounds_the_policy_or_not() -> None:
    found = simulate(talk("u1 a1 u2 a2 u3"), (Run(parse_policy("unlimited"), holds=25),), counter_for("gpt-4o"))
    assert [[finding.code for finding in row.request.lint] for row in found] == [[], [], ["OC006"]]


REQUEST: dict[str, Any] = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 50,
    "thinking": {"type": "enabled", "budget_tokens": 1024},
    "system": [{"type": "text", "text": "Help.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Look."}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "step one  \n\n", "signature": "c2ln"}, {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"x": 1}},
        ]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "seen"}]},
    ],
    "tools": [{"name": "look", "description": "", "input_schema": {"type": "object"}, "cache_control": {"type": "ephemeral"}}],
}  # fmt: skip


def test_a_recorded_request_is_looked_into_as_it_was_sent() -> None:
    recording = read(json.dumps(REQUEST).encode(), "t")
    view = look(recording, Run(parse_policy("as-recorded")), counter_for(recording.model), "anthropic")
    assert view is not None
    assert body(request_of(view), "anthropic") == REQUEST


@given(conversations(), POLICIES, st.sampled_from(["anthropic", "gemini", "openai-responses"]))
def test_no_policy_shows_a_model_of_another_provider_an_illegal_request(line: str, policy: str, provider: str) -> None:
    for row in simulate(talk(line), (Run(parse_policy(policy)),), counter_for("gpt-4o"), provider):
        assert [finding for finding in row.request.lint if finding.severity == "error"] == []


def test_a_summary_is_the_sum_of_its_requests() -> None:
    recording = talk("s u1 a1 u2 a2[x,y] x y a3 u3")
    found, whole = rows(recording, "tokens:40"), whole_of(recording, "tokens:40")
    assert whole.requests == 4
    assert whole.peak_tokens == max(row.tokens for row in found)
    assert whole.input_tokens == sum(row.tokens for row in found)
    assert whole.evicted_messages == sum(len(row.evicted) for row in found)
    assert whole.stable_prefix_share == round(sum(row.stable_prefix_tokens for row in found) / whole.input_tokens, 4)


def test_batches_keep_the_prefix_between_them() -> None:
    recording = talk("s " + " ".join(f"u{n} a{n}" for n in range(60)) + " u60")
    slide, batch = (whole_of(recording, policy) for policy in ("tokens:100", "tokens:100,low_water=0.5"))
    assert batch.stable_prefix_share > slide.stable_prefix_share + 0.2


# -- the command -----------------------------------------------------------------------------------------------------

TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    *({"role": role, "content": f"{role} says {n} " + "word " * 20} for n in range(6) for role in ("user", "assistant")),
    {"role": "user", "content": "And now?"},
]


def run(folder: Path, *args: str, exit: int = 0) -> Ran:
    ran = ctxeng("replay", *args, cwd=folder, home=folder / "home")
    assert ran.exit == exit, ran.err
    return ran


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.json").write_text(json.dumps(TALK))
    return tmp_path


def test_a_recording_is_compared_under_policies_as_json(folder: Path) -> None:
    ran = run(folder, "t.json", "--policy", "tokens:150", "--policy", "messages:5", "--json")
    *requests, last = events(ran.out)
    assert [(r["policy"], r["request"]) for r in requests] == [(p, n) for n in range(1, 8) for p in ("tokens:150", "messages:5")]
    assert last["type"] == "replay.summary"
    assert [row["policy"] for row in last["policies"]] == ["tokens:150", "messages:5"]
    assert all(row["illegal_requests"] == 0 for row in last["policies"])
    assert requests[-1]["pending"] is True
    assert requests[-1]["window"][0] == "m1"
    assert requests[-1]["window"][-1] == "m14"
    assert "t.json: openai-chat, 14 messages, 7 requests" in ran.err


def test_a_recording_is_shown_as_tables(folder: Path) -> None:
    one = run(folder, "t.json", "--policy", "tokens:150").out
    assert "tokens:150" in one
    assert "pending" in one
    both = run(folder, "t.json", "--policy", "tokens:150", "--policy", "none").out
    assert len(both.splitlines()) == 3
    assert run(folder, "t.json").out.startswith("as-recorded\n")
    (line,) = [line for line in run(folder, "t.json", "--request", "3").out.splitlines() if line.strip().startswith("3 ")]
    assert line


def test_an_illegal_recording_and_what_does_not_fit_end_with_1(folder: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    (folder / "open.json").write_text(
        json.dumps(
            [*TALK[:2], {"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "user", "content": "Well?"}]
        )
    )
    ran = run(folder, "open.json", "--json", exit=1)
    (found,) = [f for r in events(ran.out)[:-1] for f in r["lint"]]
    assert (found["code"], found["severity"]) == ("OC001", "error")
    ran = run(folder, "t.json", "--policy", "tokens:10", "--json", exit=1)
    assert "Raise `window`" in events(ran.out)[0]["overflow"]
    assert run(folder, "t.json", "--policy", "tokens:10,overflow=keep").out


@pytest.mark.parametrize(
    ("args", "exit", "told"),
    [
        (["t.json", "--policy", "token:5"], 2, 'Did you mean "tokens:5"'),
        (["t.json", "--policy", "tokens:50%"], 2, "how much the model's window holds is not known"),
        (["none.json", "--policy", "none"], 2, "there is no file and no session"),
        (["bad.json", "--policy", "none"], 3, "bad.json: "),
    ],
)
def test_wrong_replays_are_told(folder: Path, args: list[str], exit: int, told: str) -> None:
    (folder / "bad.json").write_text("{")
    assert told in run(folder, *args, exit=exit).err


def test_a_session_of_ours_goes_through_other_policies(folder: Path) -> None:
    for text in ("My dog is called Waldi.", "What is a ghost?", "What is my dog called?"):
        assert ctxeng("chat", "guide", "--session", "s", "-m", text, home=folder / "home").exit == 0
    *requests, last = events(run(folder, "s", "--policy", "messages:4", "--json").out)
    assert [len(r["window"]) for r in requests] == [2, 4, 4]
    assert last["policies"][0]["evicted_messages"] == 2


def test_a_request_of_a_recording_can_be_looked_into(folder: Path) -> None:
    def look(*args: str) -> Any:
        ran = ctxeng("inspect-context", "--transcript", "t.json", *args, "--json", cwd=folder, home=folder / "home")
        assert ran.exit == 0, ran.err
        return json.loads(ran.out)

    last = look("--window", "messages:4")
    assert_context(last)
    assert (last["request"], last["turn"], last["budget"]["used"]) == (7, 7, 4)
    assert [p["message"] for p in last["parts"] if p["state"] == "in" and p["message"]] == ["m1", "m12", "m13", "m14"]
    ghost = next(p for p in last["parts"] if p["message"] == "m2")
    assert ghost["reason"]["rule"] == "window.messages"
    third = look("--request", "3")
    assert_context(third)
    assert len(third["messages"]) == 6
    assert look("--turn", "2")["request"] == 2
    body = look("--payload", "--request", "1")
    assert [m["role"] for m in body["messages"]] == ["system", "user"]
    wrong = ctxeng("inspect-context", "--transcript", "t.json", "--request", "99", cwd=folder, home=folder / "home")
    assert (wrong.exit, wrong.out) == (3, "")
    assert "it has 7 requests" in wrong.err


def test_tools_of_a_recording_are_counted_in_its_windows(folder: Path) -> None:
    tool = {"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {"type": "object"}}}
    (folder / "r.json").write_text(json.dumps({"model": "gpt-4o", "messages": TALK, "tools": [tool]}))
    ran = ctxeng("inspect-context", "--transcript", "r.json", "--json", cwd=folder, home=folder / "home")
    view = json.loads(ran.out)
    assert_context(view)
    assert view["parts"][0]["kind"] == "tools"
    assert view["model"] == "gpt-4o"
