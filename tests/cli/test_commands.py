"""What each command answers, as other programs and people use it: data on stdout, all else on stderr."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from ctxeng_cli.cli.main import COMMANDS
from ctxeng_cli.core.request import canonical
from tests.commands import ROOT, Ran, ctxeng
from tests.contract import assert_context, events

SPEC = """\
version: 1
agents:
  plain:
    description: answers briefly
    system: {file: prompt.md}
    inputs: {name: {type: string, default: Ann}}
    user: "{{name}} says: {{it}}"
    memory: {window: messages:4}
  looks: {model: "scripted:script.jsonl", tools: [{python: tools:look}]}
"""
TOOLS = '''\
from typing import Literal


def look(city: str, unit: Literal["c", "f"] = "c") -> dict[str, object]:
    """Look at the weather.

    Args:
        city: Where to look.
        unit: Celsius or Fahrenheit.
    """
    return {"city": city, "unit": unit}
'''
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"city": "Bern"}'}}
SCRIPT = json.dumps({"content": None, "tool_calls": [CALL]}) + '\n{"content": "Fine."}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    project = tmp_path / "project"
    project.mkdir()
    (project / "agents.yaml").write_text(SPEC)
    (project / "prompt.md").write_text("Be brief, {{name}}.\n")
    (project / "tools.py").write_text(TOOLS)
    (project / "script.jsonl").write_text(SCRIPT)
    return project


def run(folder: Path, *args: str, stdin: str | None = None, exit: int = 0, **env: Any) -> Ran:
    ran = ctxeng(*args, cwd=folder, home=folder.parent / "home", stdin=stdin, env=env)
    assert ran.exit == exit, ran.err + ran.out
    return ran


def answer(folder: Path, *args: str) -> Any:
    return json.loads(run(folder, *args, "--json").out)


def test_a_turn_answers_on_stdout_and_names_its_session_on_stderr(folder: Path) -> None:
    ran = run(folder, "chat", "looks", "-m", "Weather?")
    assert ran.out == "Fine.\n"
    assert ran.err.startswith("session looks-")
    assert run(folder, "chat", "looks", stdin="Weather?\n").out == "Fine.\n"


def test_json_is_every_event_of_the_turn_and_the_log_holds_the_same(folder: Path) -> None:
    ran = run(folder, "chat", "looks", "-m", "Weather?", "--json", "--session", "s")
    seen = events(ran.out)
    kinds = [e["type"] for e in seen if e["type"] != "model.delta"]
    assert kinds == [
        "session.opened", "turn.started", "stage.finished", "message.added", "stage.finished", "part.defined", "request.sent",
        "message.added", "model.answered", "tool.called", "message.added", "tool.returned", "request.sent",
        "message.added", "model.answered", "turn.finished",
    ]  # fmt: skip
    assert [e["seq"] for e in seen] == sorted({e["seq"] for e in seen})
    stored = events(run(folder, "replay", "s", "--json").out)
    assert stored == [e for e in seen if e["type"] != "model.delta"]
    assert events(run(folder, "sessions", "show", "s", "--json").out) == stored


def test_a_payload_is_the_body_that_was_sent(folder: Path) -> None:
    ran = run(folder, "chat", "looks", "-m", "Weather?", "--json", "--payload", "--session", "s")
    bodies = [e["payload"] for e in events(ran.out) if e["type"] == "request.sent"]
    assert len(bodies) == 2
    assert [m["role"] for m in bodies[1]["messages"]] == ["user", "assistant", "tool"]
    assert bodies[0]["tools"][0]["function"]["parameters"]["properties"]["unit"]["enum"] == ["c", "f"]
    for number, body in enumerate(bodies, 1):
        shown = answer(folder, "inspect-context", "--session", "s", "--request", str(number), "--payload")
        assert canonical(shown) == canonical(body)


def test_what_would_be_sent_is_what_is_sent(folder: Path) -> None:
    before = answer(folder, "inspect-context", "plain", "-m", "Hi", "--var", "name=Bo", "--payload")
    assert [m["content"] for m in before["messages"]] == ["Be brief, Bo.", "Bo says: Hi"]
    assert not list((folder.parent / "home").rglob("*.jsonl")), "looking writes nothing"
    ran = run(folder, "chat", "plain", "-m", "Hi", "--var", "name=Bo", "--json", "--payload")
    (sent,) = [e for e in events(ran.out) if e["type"] == "request.sent"]
    assert canonical(sent["payload"]) == canonical(before)


def test_the_next_request_of_a_session_can_be_looked_at_and_nothing_is_written(folder: Path) -> None:
    run(folder, "chat", "plain", "-m", "One", "--session", "s")
    (log,) = (folder.parent / "home").rglob("s.jsonl")
    before = log.read_bytes()
    next_up = answer(folder, "inspect-context", "--session", "s", "-m", "Two")
    assert log.read_bytes() == before
    assert_context(next_up)
    assert [m["content"] for m in next_up["messages"]][1::2] == ["Ann says: One", "Ann says: Two"]


def test_a_session_goes_on_with_its_inputs_and_shows_its_ghosts(folder: Path) -> None:
    run(folder, "chat", "plain", "-m", "One", "--var", "name=Bo", "--session", "s")
    run(folder, "chat", "plain", "-m", "Two", "-c")
    run(folder, "chat", "plain", "-m", "Three", "--session", "s")
    view = answer(folder, "inspect-context", "--session", "s")
    assert_context(view)
    assert [m["content"] for m in view["messages"] if m["role"] != "assistant"] == [
        "Be brief, Bo.",
        "Bo says: Two",
        "Bo says: Three",
    ]
    ghosts = [p for p in view["parts"] if p["state"] == "evicted"]
    assert [p["message"] for p in ghosts] == ["m2", "m3"]
    assert ghosts[0]["reason"] == {"rule": "window.messages", "limit": 4, "measured": 6, "turn": 3}
    first = answer(folder, "inspect-context", "--session", "s", "--turn", "1")
    assert (first["turn"], first["request"], len(first["messages"])) == (1, 1, 2)
    assert run(folder, "inspect-context", "--session", "s", "--part", "m2").out == "Bo says: One\n"
    shown = run(folder, "inspect-context", "--session", "s").out
    assert "window.messages" in shown
    assert "measured 6 > 4" in shown


def test_continue_takes_the_agents_own_latest_session_of_this_spec(folder: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "agents.yaml").write_text("version: 1\nagents: {plain: {system: Other.}}\n")
    run(folder, "chat", "plain", "-m", "One", "--session", "mine")
    run(folder, "chat", "looks", "-m", "One", "--session", "looks")
    run(other, "chat", "plain", "-m", "One", "--session", "theirs")
    turns = [
        e["turn"] for e in events(run(folder, "chat", "plain", "-m", "Two", "-c", "--json").out) if e["type"] == "turn.finished"
    ]
    assert turns == [2]


def test_a_session_belongs_to_its_agent(folder: Path) -> None:
    run(folder, "chat", "plain", "-m", "One", "--session", "s")
    assert 'session s belongs to agent "plain"' in run(folder, "chat", "looks", "-m", "One", "--session", "s", exit=2).err


def test_a_changed_spec_is_an_event_with_the_difference(folder: Path) -> None:
    run(folder, "chat", "plain", "-m", "One", "--session", "s")
    (folder / "agents.yaml").write_text(SPEC.replace("messages:4", "tokens:500"))
    seen = events(run(folder, "chat", "plain", "-m", "Two", "--session", "s", "--json").out)
    (changed,) = [e for e in seen if e["type"] == "spec.changed"]
    assert changed["difference"] == {"memory": ["messages:4", "tokens:500"]}
    assert changed["policy"] == "tokens:500"


def test_command_line_and_environment_stand_above_the_spec(folder: Path) -> None:
    def policy(*args: str, **env: Any) -> str:
        (opened, *_) = events(run(folder, "chat", "plain", "-m", "Hi", "--json", *args, **env).out)
        return f"{opened['model']} {opened['policy']}"

    assert policy() == "offline messages:4"
    assert policy(CTXENG_WINDOW="tokens:900") == "offline tokens:900"
    assert policy("--window", "none", CTXENG_WINDOW="tokens:900") == "offline none"
    assert policy("--model", "scripted:script.jsonl") == "scripted:script.jsonl messages:4"
    assert policy(CTXENG_FILE=str(folder / "agents.yaml")) == "offline messages:4"


def test_data_lies_where_it_is_told_and_nobody_else_reads_it(folder: Path, tmp_path: Path) -> None:
    run(folder, "chat", "plain", "-m", "Hi", "--session", "s", CTXENG_DATA_DIR=str(tmp_path / "data"))
    run(folder, "chat", "plain", "-m", "Hi", "--session", "s", XDG_DATA_HOME=str(tmp_path / "xdg"))
    logs = [tmp_path / "data/sessions/s.jsonl", tmp_path / "xdg/ctxeng/sessions/s.jsonl"]
    for log in logs:
        assert stat.S_IMODE(log.stat().st_mode) == 0o600
        assert stat.S_IMODE(log.parent.stat().st_mode) == 0o700


def test_secrets_of_the_environment_and_of_dotenv_stay_out_of_log_and_output(folder: Path) -> None:
    (folder / ".env").write_text("MY_API_KEY=dotenv-secret-1\n")
    ran = run(
        folder, "chat", "plain", "-m", "Is dotenv-secret-1 or shell-secret-2 my key?", "--json", OTHER_TOKEN="shell-secret-2"
    )
    (log,) = (folder.parent / "home").rglob("*.jsonl")
    for text in (ran.out, ran.err, log.read_text()):
        assert "-secret-" not in text
    assert "[redacted MY_API_KEY] or [redacted OTHER_TOKEN]" in ran.out


def test_sessions_are_listed_shown_and_deleted(folder: Path) -> None:
    assert answer(folder, "sessions", "list") == {"schema": "ctxeng.sessions/1", "sessions": []}
    run(folder, "chat", "plain", "-m", "First words", "--session", "s")
    run(folder, "chat", "looks", "-m", "Weather?", "--session", "t")
    rows = answer(folder, "sessions", "list")["sessions"]
    assert [(r["id"], r["agent"], r["turns"], r["first"]) for r in rows] == [
        ("t", "looks", 1, "Weather?"),
        ("s", "plain", 1, "Ann says: First words"),
    ]
    listed = run(folder, "sessions", "list").out
    assert "First words" in listed
    shown = run(folder, "sessions", "show", "t").out
    assert "Weather?" in shown
    assert "Fine." in shown
    run(folder, "sessions", "delete", "s")
    assert [r["id"] for r in answer(folder, "sessions", "list")["sessions"]] == ["t"]


def test_a_replay_shows_what_chat_showed(folder: Path) -> None:
    for text in ("One", "Two", "Three"):
        run(folder, "chat", "plain", "-m", text, "--session", "s")
    shown = run(folder, "replay", "s").out
    assert "evicted" in shown
    assert shown.index("Ann says: One") < shown.index("Ann says: Three")
    third = run(folder, "replay", "s", "--turn", "3").out
    assert "Ann says: Three" in third
    assert "turn 1" not in third
    (log,) = (folder.parent / "home").rglob("s.jsonl")
    log.rename(folder / "moved.jsonl")
    assert run(folder, "replay", "moved.jsonl", "--turn", "3").out == third
    assert {e["turn"] for e in events(run(folder, "replay", "moved.jsonl", "--turn", "2", "--json").out)} == {2}
    assert "the recording has the turns 1 to 3" in run(folder, "replay", "moved.jsonl", "--turn", "9", exit=2).err


def test_agents_are_listed_and_checked(folder: Path) -> None:
    rows = answer(folder, "agents")["agents"]
    assert [(r["name"], r["window"], r["tools"]) for r in rows] == [
        ("plain", "messages:4", []),
        ("looks", "unlimited", ["tools:look"]),
    ]
    assert "answers briefly" in run(folder, "agents").out
    assert "no problems" in run(folder, "agents", "--check").out
    assert answer(folder, "agents", "--check")["problems"] == []
    (folder / "tools.py").write_text("def look(x): raise SystemExit\nprint('imported')\n")
    assert "imported" not in run(folder, "agents", "--check").err, "a check starts nothing"
    (folder / "tools.py").write_text("import nothing_such\n")
    assert "nothing_such" in run(folder, "agents", "--check", "--import", exit=2).err
    (folder / "prompt.md").write_text("Be brief.")
    (folder / "agents.yaml").write_text(SPEC.replace('"{{name}} says: {{it}}"', '"{{it}}"'))
    warned = answer(folder, "agents", "--check")["problems"]
    assert [(p["severity"], p["line"], p["column"]) for p in warned] == [("warning", 6, 14)]


def test_the_schema_of_the_spec_takes_the_starter_project(folder: Path) -> None:
    schema = json.loads(run(folder, "agents", "--schema").out)
    jsonschema.validate(json.loads(json.dumps(yaml.safe_load((ROOT / "agents.yaml").read_text("utf-8")), default=str)), schema)


def test_init_writes_a_project_that_works_where_it_is(folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "mine"
    written = run(tmp_path, "init", "mine").out.split()
    assert {str(p) for p in Path(target).rglob("*") if p.is_file()} == {str(tmp_path / name) for name in written}
    assert "no problems" in run(target, "agents", "--check", "--import").out
    for name in yaml.safe_load((target / "agents.yaml").read_text("utf-8"))["agents"]:
        assert run(target, "chat", name, "-m", "What can you do?", PYTHONPATH=str(ROOT)).out.strip()
    again = run(tmp_path, "init", "mine", exit=2)
    assert "nothing was written" in again.err


def test_doctor_says_what_is_there_and_what_is_missing(folder: Path) -> None:
    (folder / "agents.yaml").write_text(SPEC + "  real: {model: openai/gpt-5-mini}\n")
    checks = {row["check"]: row for row in answer(folder, "doctor")["checks"]}
    assert checks["litellm"]["state"] == "ok"
    assert checks["token counts"]["state"] == "ok"
    assert checks["model openai/gpt-5-mini"] == {
        "check": "model openai/gpt-5-mini", "state": "missing", "detail": "set OPENAI_API_KEY",
    }  # fmt: skip
    keyed = run(folder, "doctor", OPENAI_API_KEY="sk-very-secret-1").out
    assert "ready to be asked" in keyed
    assert "very-secret" not in keyed


def test_the_version_is_that_of_the_distribution(folder: Path) -> None:
    from importlib.metadata import version

    assert run(folder, "--version").out == f"ctxeng {version('ctxeng-cli')}\n"


def test_a_tool_that_hangs_does_not_keep_the_process(folder: Path) -> None:
    (folder / "tools.py").write_text(
        "import threading\ndef look(city: str) -> str:\n    'Hangs.'\n    threading.Event().wait()\n    return ''\n"
    )
    (folder / "agents.yaml").write_text(SPEC.replace("{python: tools:look}", "{python: tools:look, timeout_s: 0.2}"))
    assert run(folder, "chat", "looks", "-m", "Go").out == "Fine.\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_has_help_with_an_example_and_is_completed(folder: Path, name: str) -> None:
    help = run(folder, name, "--help").out
    assert f"ctxeng {name}" in help.split("Options:")[0], "the help begins with something to copy"
    words: dict[str, Any] = {"_CTXENG_COMPLETE": "complete_bash", "COMP_WORDS": f"ctxeng {name[:3]}", "COMP_CWORD": "1"}
    assert name in run(folder, **words).out.split()


def test_a_recorded_session_is_a_script(folder: Path) -> None:
    run(folder, "chat", "looks", "-m", "Weather?", "--session", "s")
    (log,) = (folder.parent / "home").rglob("s.jsonl")
    seen = events(run(folder, "chat", "looks", "-m", "Again?", "--model", f"scripted:{log}", "--json").out)
    assert [e["name"] for e in seen if e["type"] == "tool.called"] == ["look"]
    assert [e["text"] for e in seen if e["type"] == "turn.finished"] == ["Fine."]


def test_sessions_of_another_store_are_found_by_every_command(tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(
        "version: 1\nagents:\n  a: {model: offline, memory: {store: 'sqlite:my.db'}}\n"
        "  m: {model: offline, memory: {store: memory}}\n  r: {model: offline, memory: {store: 'redis://127.0.0.1:1/0'}}\n"
    )

    def run(*args: str, exit: int = 0) -> Ran:
        ran = ctxeng(*args, cwd=tmp_path, home=tmp_path / "home")
        assert ran.exit == exit, ran.err
        return ran

    run("chat", "a", "--session", "s", "-m", "My dog is Waldi.")
    assert "Waldi" in run("chat", "a", "-c", "-m", "What is my dog called?").out
    assert "nothing of this session is kept" in run("chat", "m", "-m", "Hi").err
    assert "the store redis://127.0.0.1:1/0 can't be reached" in run("chat", "r", "-m", "Hi", exit=1).err
    listed = json.loads(run("sessions", "list", "--json").out)["sessions"]
    assert [(row["id"], row["path"]) for row in listed] == [("s", "sqlite:my.db")]
    assert "Waldi" in run("sessions", "show", "s").out
    assert "4 messages, 2 requests" in run("replay", "s", "--policy", "none").err
    assert json.loads(run("inspect-context", "--session", "s", "--json").out)["request"] == 2
    assert json.loads(run("inspect-context", "--session", "s", "-m", "More?", "--json").out)["request"] == 3
    run("sessions", "delete", "s")
    assert json.loads(run("sessions", "list", "--json").out)["sessions"] == []
    assert 'there is no session "s"' in run("sessions", "show", "s", exit=2).err
