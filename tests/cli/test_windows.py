"""Windows through the commands: summaries by a model of the spec's, limits by a function, offloaded files, policies by name."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.commands import CTXENG, Ran, ctxeng, environment
from tests.contract import assert_context, events

SPEC = """
version: 1
models:
  writer: {model: "scripted:summaries.jsonl"}
agents:
  a:
    model: offline
    system: Help.
    memory:
      window: tokens:420
      pipeline:
        - summarize: {keep_exchanges: 1, model: writer, prompt: summarize.md, over: "90%"}
  limited:
    model: offline
    memory: {window: "python:limits:of", image_tokens: 7}
  reader:
    model: "scripted:calls.jsonl"
    tools: [{python: "limits:report"}]
    memory: {window: tokens:700, pipeline: [{offload: {over_tokens: 100, preview_tokens: 60}}]}
"""
LIMITS = '''
def of(session, inputs, model, tokens_left):
    """The first turns may have more."""
    return 300 if session.startswith("wide") else 120

def report() -> str:
    """A long report."""
    return " ".join(f"line{n}" for n in range(900))

def refuses() -> int:
    return -1
'''
CALL = {"id": "c1", "type": "function", "function": {"name": "report", "arguments": "{}"}}
READ = {"id": "c2", "type": "function", "function": {"name": "read_offloaded", "arguments": '{"handle": "m3", "start": 3000}'}}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agents.yaml").write_text(SPEC)
    (tmp_path / "limits.py").write_text(LIMITS)
    (tmp_path / "summarize.md").write_text("Keep every name. Be short.\n")
    (tmp_path / "summaries.jsonl").write_text(json.dumps({"content": "They told of dogs."}) + "\n")
    replies = [{"content": None, "tool_calls": [CALL]}, {"content": None, "tool_calls": [READ]}, {"content": "Read."}]
    (tmp_path / "calls.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in replies))
    return tmp_path


def run(folder: Path, *args: str, exit: int = 0, stdin: str | None = None) -> Ran:
    if stdin is not None:
        ended = subprocess.run(
            [*CTXENG, *args],
            cwd=folder,
            env=environment(folder / "home"),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )
        ran = Ran(ended.returncode, ended.stdout, ended.stderr)
    else:
        ran = ctxeng(*args, cwd=folder, home=folder / "home")
    assert ran.exit == exit, ran.err
    return ran


def say(folder: Path, agent: str, text: str, *more: str, session: str = "s") -> list[dict[str, Any]]:
    return events(run(folder, "chat", agent, "--session", session, "-m", text, "--json", *more).out)


def of_type(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [event for event in found if event["type"] == kind]


def test_the_model_and_the_prompt_of_the_spec_write_the_summary_in_plain_text(folder: Path) -> None:
    said: list[dict[str, Any]] = []
    for number in range(4):
        said += say(folder, "a", f"Dog {number} is called Rex{number}. " + "It barks. " * 30, "--payload")
    (made,) = of_type(said, "summary.made")
    (payload,) = made["payloads"]
    assert [m["role"] for m in payload["messages"]] == ["system", "user"]
    assert payload["messages"][0]["content"] == "Keep every name. Be short."
    assert "Dog 0 is called Rex0." in payload["messages"][1]["content"]
    assert "tools" not in payload
    assert "tool_choice" not in payload
    edits = [edit for event in of_type(said, "window.edited") for edit in event["edits"]]
    assert [edit["op"] for edit in edits] == ["summarize"]
    assert edits[0]["reason"]["limit"] == 420 * 90 // 100
    view = json.loads(run(folder, "inspect-context", "--session", "s", "--json").out)
    assert_context(view)
    (part,) = [p for p in view["parts"] if p["kind"] == "summary"]
    assert (part["state"], part["role"]) == ("in", "user")
    assert "They told of dogs." in part["preview"]
    assert {p["state"] for p in view["parts"] if p["message"] in ("m2", "m3")} == {"summarized"}
    assert view["messages"][1]["content"].endswith("They told of dogs.")


def test_a_replay_reads_summaries_from_the_log_and_simulates_those_it_has_not(folder: Path) -> None:
    for number in range(4):
        say(folder, "a", f"Dog {number} is called Rex{number}. " + "It barks. " * 30)
    shown = events(run(folder, "replay", "s", "--policy", "agent:a", "--policy", "tokens:300,summarize=1", "--json").out)
    own, other = shown[-1]["policies"]
    assert (own["policy"], own["summaries"], "label" in own) == ("agent:a", 1, False)
    assert (other["summaries"] > 0, other["label"]) == (True, "summaries: simulated")
    sent = [row for row in shown if row["type"] == "replay.request" and row["policy"] == "agent:a"]
    logged = of_type(events(run(folder, "replay", "s", "--json").out), "request.sent")
    assert [row["window"] for row in sent] == [event["window"] for event in logged]
    assert [row["tokens"] for row in sent] == [event["budget"]["used_tokens"] for event in logged]
    assert "simulated" in run(folder, "replay", "s", "--policy", "tokens:300,summarize=1").out


def test_what_would_be_sent_asks_no_summarizer(folder: Path) -> None:
    for number in range(3):
        say(folder, "a", f"Dog {number} is called Rex{number}. " + "It barks. " * 30)
    (folder / "summaries.jsonl").write_text(json.dumps({"error": "asked"}) + "\n")
    view = json.loads(run(folder, "inspect-context", "a", "--session", "s", "-m", "More. " + "It barks. " * 60, "--json").out)
    (part,) = [p for p in view["parts"] if p["kind"] == "summary"]
    assert "Rex2" in part["preview"], "sentences picked by the offline model"


def test_a_summary_that_fails_is_shown_and_the_turn_goes_on(folder: Path) -> None:
    (folder / "summaries.jsonl").write_text(json.dumps({"error": "no credit left"}) + "\n")
    said: list[dict[str, Any]] = []
    for number in range(4):
        said += say(folder, "a", f"Dog {number} is called Rex{number}. " + "It barks. " * 30)
    made = of_type(said, "summary.made")
    assert made
    assert all("no credit left" in event["error"] for event in made)
    assert len(of_type(said, "turn.finished")) == 4


def test_a_function_answers_the_limit_each_turn(folder: Path) -> None:
    wide = say(folder, "limited", "Hi. " + "It barks. " * 30, session="wide")
    assert of_type(wide, "hook.answered")[0]["value"] == 300
    assert of_type(wide, "request.sent")[0]["budget"]["limit"] == 300
    assert of_type(wide, "session.opened")[0]["policy"] == "python:limits:of"
    narrow = run(folder, "chat", "limited", "--window", "python:limits:refuses", "-m", "Hi.", exit=1)
    assert "limits:refuses answered -1; a limit must be greater than zero" in narrow.err
    missing = run(folder, "chat", "limited", "--window", "python:limits:off", "-m", "Hi.", exit=2)
    assert 'limits has no function off. Did you mean "of"' in missing.err
    replayed = events(run(folder, "replay", "wide", "--policy", "agent:limited", "--policy", "python:limits:of", "--json").out)
    assert [row["overflows"] for row in replayed[-1]["policies"]] == [0, 0]


def test_a_long_result_lies_in_a_file_of_its_own_until_the_session_is_deleted(folder: Path) -> None:
    said = say(folder, "reader", "Read the report.")
    ops = [edit["op"] for event in of_type(said, "window.edited") for edit in event["edits"]]
    assert ops[0] == "offload"
    (kept,) = (folder / "home").rglob("m3.txt")
    assert kept.stat().st_mode & 0o777 == 0o600
    assert kept.read_text().startswith("line0 line1 line2")
    read = next(e for e in of_type(said, "message.added") if e["message"].get("name") == "read_offloaded")
    assert "line4" in read["message"]["text"]
    view = json.loads(run(folder, "inspect-context", "--session", "s", "--request", "2", "--json").out)
    assert {p["state"] for p in view["parts"] if p["message"] == "m3"} == {"offloaded"}
    replayed = events(run(folder, "replay", "s", "--policy", "agent:reader", "--policy", "as-recorded", "--json").out)
    sent = [event["budget"]["used_tokens"] for event in of_type(said, "request.sent")]
    for policy in ("agent:reader", "as-recorded"):
        assert [row["tokens"] for row in replayed[:-1] if row["policy"] == policy] == sent
    run(folder, "sessions", "delete", "s")
    assert not kept.exists()


def test_policies_by_name_and_recordings_from_a_pipe(folder: Path) -> None:
    talk = json.dumps([{"role": "user", "content": f"Dog {n} barks. " * 20} for n in range(8)])
    other = folder / "other.yaml"
    other.write_text("version: 1\nagents: {b: {model: offline, memory: {window: 'messages:2'}}}\n")
    ran = run(folder, "replay", "-", "--policy", "agent:a", "--policy", "other.yaml#b", "--json", stdin=talk)
    assert [row["policy"] for row in events(ran.out)[-1]["policies"]] == ["agent:a", "other.yaml#b"]
    changed = run(folder, "replay", "-", "--policy", "other.yaml#b,unit=message", "--json", stdin=talk)
    assert events(changed.out)[-1]["policies"][0]["policy"] == "other.yaml#b,unit=message"
    for policy, told in {
        "agent:nobody": 'there is no agent "nobody"',
        "no.yaml#a": "there is no spec file no.yaml",
        "python:limits:nothing": "limits has no function nothing",
        "python:limits:report,reserve=x": "reserve needs a whole number",
        "as-recorded,low_water=0.5": "belongs to a window with a limit",
        "tokens:60%": "how much the model's window holds is not known",
    }.items():
        assert told in run(folder, "replay", "-", "--policy", policy, stdin=talk, exit=2).err
    empty = run(folder, "replay", "-", "--policy", "none", stdin="", exit=3)
    assert "-: the recording is empty" in empty.err


def test_a_share_of_a_recorded_models_window(folder: Path) -> None:
    body = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi."}]})
    row = events(run(folder, "replay", "-", "--policy", "tokens:60%", "--json", stdin=body).out)[-1]["policies"][0]
    assert (row["requests"], row["overflows"]) == (1, 0)


def test_a_recording_is_shown_as_it_was_sent_with_each_system_message(folder: Path) -> None:
    talk = [
        {"role": role, "content": text} for role, text in (("system", "A"), ("user", "Hi"), ("system", "B"), ("user", "And?"))
    ]
    shown = events(run(folder, "replay", "-", "--json", stdin=json.dumps(talk)).out)
    assert shown[0]["window"] == ["m1", "m2", "m3", "m4"]
    assert [finding["code"] for finding in shown[0]["lint"]] == ["OC007"]
    assert events(run(folder, "replay", "-", "--policy", "unlimited", "--json", stdin=json.dumps(talk)).out)[0]["window"] == [
        "m3", "m2", "m4",
    ]  # fmt: skip


def test_images_count_what_the_spec_says(folder: Path) -> None:
    picture = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 9000}}]}]
    few = events(run(folder, "replay", "-", "--policy", "agent:limited", "--json", stdin=json.dumps(picture)).out)
    many = events(run(folder, "replay", "-", "--policy", "unlimited", "--json", stdin=json.dumps(picture)).out)
    assert (few[0]["tokens"], many[0]["tokens"]) == (14, 1107)


def test_a_live_window_may_be_another_agents(folder: Path) -> None:
    said = say(folder, "limited", "Hi.", "--window", "agent:a,reserve=20", session="t")
    assert of_type(said, "session.opened")[0]["policy"] == "tokens:420,reserve=20,summarize=1"
    ran = run(folder, "chat", "limited", "--window", "as-recorded", "-m", "Hi.", exit=2)
    assert "a live window has no recording" in ran.err


def test_hooks_say_what_they_may_ask_for(folder: Path) -> None:
    rows = json.loads(run(folder, "agents", "--hooks", "--json").out)["hooks"]
    assert {"hook": "memory.window", "asks": ["session", "inputs", "model", "tokens_left"]}.items() <= rows[0].items()
    assert "tokens_left" in run(folder, "agents", "--hooks").out
