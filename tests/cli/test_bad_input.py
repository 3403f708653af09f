"""Bad input: a clear message with the fix, the right exit code, nothing lost, no traceback. Each through the real command."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from ctxeng_cli.core.codec import loads
from ctxeng_cli.core.events import MessageAdded
from ctxeng_cli.session.stores import read_log
from tests.commands import CTXENG, Ran, ctxeng, environment
from tests.contract import events

SPEC = """\
version: 1
agents:
  plain: {system: Be brief.}
  small: {system: Be brief., memory: {window: tokens:60}}
  needs: {system: "{{age}} years", inputs: {age: {type: integer}}}
  tools:
    model: scripted:script.jsonl
    memory: {window: tokens:3000}
    tools: [{python: tools:boom}, {python: tools:hang, timeout_s: 0.3}, {python: tools:flood}, {python: tools:leave}]
  dies: {model: "scripted:dies.jsonl"}
  slow: {model: "scripted:slow.jsonl"}
  real: {model: openai/gpt-5-mini}
  lost: {model: openai/qwen, tools: []}
models:
  closed: {model: openai/qwen, api_base: "http://127.0.0.1:9/v1"}
"""
TOOLS = '''\
import threading

print("tools are loaded")


def boom(city: str) -> str:
    """Fails."""
    raise ValueError(f"no [/red] in {city} \\x1b[31m")


def hang(city: str) -> str:
    """Hangs."""
    threading.Event().wait()
    return ""


def flood(city: str) -> str:
    """Answers five megabytes."""
    print("flooding")
    return "x y " * 1_300_000


def leave(city: str) -> str:
    """Ends the process, or so it thinks."""
    raise SystemExit(3)
'''


def calls(*names: str) -> str:
    arguments = json.dumps({"city": "Bern"})
    listed = [
        {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": arguments}} for n, name in enumerate(names)
    ]
    return json.dumps({"content": None, "tool_calls": listed})


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "agents.yaml").write_text(SPEC)
    (folder / "tools.py").write_text(TOOLS)
    (folder / "script.jsonl").write_text(calls("boom", "hang", "flood", "leave", "bom") + "\n" + '{"content": "Done."}\n')
    (folder / "slow.jsonl").write_text('{"content": "Late.", "delay_s": 2}\n')
    (folder / "dies.jsonl").write_text('{"content": "I was about to", "error": "connection lost"}\n{"content": "Back."}\n')
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def run(project: Path, home: Path, *args: str, stdin: str | bytes | None = None, **env: str) -> Ran:
    ran = ctxeng(*args, cwd=project, home=home, stdin=stdin, env=env)
    assert "Traceback" not in ran.err + ran.out
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", ran.err + ran.out), "no control character reaches a terminal"
    return ran


@pytest.mark.parametrize(
    ("args", "exit", "told"),
    [
        ("chat plian -m Hi", 2, 'there is no agent "plian". Did you mean "plain"?'),
        ("chat nobody -m Hi", 2, 'there is no agent "nobody". agents.yaml has plain, small, needs'),
        ("chatt plain", 2, "Did you mean 'chat'?"),
        ("chat", 2, "Missing argument 'NAME'"),
        ("chat plain -m Hi --windo tokens:9", 2, "--window"),
        ("chat plain -m Hi --window toks:9", 2, '--window toks:9: unknown policy "toks:9". Did you mean "tokens:9"?'),
        ("chat plain -m Hi --model ofline", 2, 'unknown model "ofline". Did you mean "offline"?'),
        ("chat plain -m Hi --model scripted:none", 2, "there is no script none"),
        ("chat plain -m Hi --view ful", 2, 'Did you mean "full"?'),
        ("chat plain -m Hi --payload", 2, "--payload goes with --json"),
        ("chat plain -m Hi --session ../x", 2, '"../x" can\'t be a session id'),
        ("chat plain -m Hi -c", 2, "there is no session of plain to continue"),
        ("chat plain -m Hi -c --session x", 2, "take --session or -c, not both"),
        ("chat plain -m Hi --file none.yaml", 2, "there is no spec file none.yaml"),
        ("chat plain", 2, "stdin is empty: pipe a message, or give one with -m"),
        ("chat needs -m Hi", 2, 'agents.yaml:5:45: agent needs needs the input "age": give it with --var age=…'),
        ("chat needs -m Hi --var age=old", 2, 'input "age" of agent needs must be a whole number, not "old"'),
        ("chat needs -m Hi --var agee=4", 2, 'has no input "agee". Did you mean "age"?'),
        ("chat needs -m Hi --var age", 2, '--var takes NAME=VALUE, not "age"'),
        ("chat small -m Hi --window tokens:5", 1, "what must stay is 15 together, and the window has room for 5. Raise `window`"),
        ("chat real -m Hi", 1, "set OPENAI_API_KEY in the environment or in a .env file"),
        ("inspect-context", 2, "name an agent, or a session with --session ID"),
        ("inspect-context nobody", 2, 'there is no agent "nobody"'),
        ("inspect-context --session none", 2, 'there is no session "none"'),
        ("inspect-context plain --turn 1", 2, "add --session ID"),
        ("inspect-context plain -m Hi --request 1", 2, "Take one"),
        ("inspect-context plain -m Hi --part p99", 2, 'there is no part "p99": this window has p1 to p'),
        ("replay none", 2, 'there is no file and no session "none"'),
        ("replay agents.yaml", 3, "agents.yaml: not understood"),
        ("replay .", 3, "can't read .: is a directory"),
        ("replay agents.yaml --step", 2, "--step needs a terminal"),
        ("replay agents.yaml --view x", 2, "--view is full, bar or off"),
        ("sessions show none", 2, 'there is no session "none"'),
        ("sessions delete none", 2, 'there is no session "none"'),
        ("sessions delete ../../x", 2, "can't be a session id"),
        ("init .", 2, "agents.yaml is there already; nothing was written"),
        ("agents --file none.yaml", 2, "there is no spec file none.yaml"),
    ],
)
def test_a_wrong_command_line_is_told_with_the_fix(project: Path, home: Path, args: str, exit: int, told: str) -> None:
    ran = run(project, home, *args.split())
    assert (ran.exit, ran.out) == (exit, ""), ran.err
    assert told in " ".join(ran.err.split())


def test_a_spec_with_mistakes_stops_each_command_with_their_places(tmp_path: Path, home: Path) -> None:
    (tmp_path / "agents.yaml").write_text("version: 1\nagents:\n  a:\n    sistem: Hi\n    memory: {window: token:9}\n")
    for args in (["chat", "a", "-m", "Hi"], ["inspect-context", "a"], ["agents"], ["agents", "--check"]):
        ran = run(tmp_path, home, *args)
        assert ran.exit == 2
        assert [line.split(" ")[0] for line in ran.err.splitlines()] == ["agents.yaml:4:5:", "agents.yaml:5:22:"]


def test_an_undeclared_variable_and_a_missing_tool_stop_before_anything_is_sent(tmp_path: Path, home: Path) -> None:
    (tmp_path / "p.md").write_text("You are\n  {{rol}}.\n")
    (tmp_path / "agents.yaml").write_text(
        "version: 1\nagents: {a: {system: {file: p.md}, inputs: {role: {default: x}}, tools: [{python: nope:look}]}}\n"
    )
    ran = run(tmp_path, home, "chat", "a", "-m", "Hi")
    assert ran.exit == 2
    assert 'p.md:2:3: unknown variable "rol". Did you mean "role"?' in ran.err
    assert "agents.yaml:2:" in ran.err
    assert "nope" in ran.err
    assert not list(home.rglob("*.jsonl"))


def test_tools_that_raise_hang_flood_exit_or_are_not_there_are_results_like_others(project: Path, home: Path) -> None:
    ran = run(project, home, "chat", "tools", "-m", "Go", "--json", "--session", "s")
    assert ran.exit == 0, ran.err
    seen = events(ran.out)
    results = {e["name"]: e for e in seen if e["type"] == "tool.returned"}
    assert {name: e["is_error"] for name, e in results.items()} == {
        "boom": True, "hang": True, "flood": False, "leave": True, "bom": True,
    }  # fmt: skip
    assert "no [/red] in Bern" in results["boom"]["preview"]
    assert "did not answer within 0.3 s" in results["hang"]["preview"]
    assert 'There is no tool "bom". Did you mean "boom"?' in results["bom"]["preview"]
    assert [e["text"] for e in seen if e["type"] == "turn.finished"] == ["Done."]
    second = [e for e in seen if e["type"] == "request.sent"][1]
    assert second["budget"]["used"] <= 3000
    assert "lint" not in second
    (flood,) = [e["message"]["text"] for e in seen if e["type"] == "message.added" and e["message"].get("name") == "flood"]
    assert len(flood) == 5_200_000, "whole in the log, shortened in the request"
    assert "tools are loaded" in ran.err, "what tools print stays away from the data"
    assert "flooding" in ran.err


def test_a_model_that_dies_in_mid_stream_loses_nothing(project: Path, home: Path) -> None:
    ran = run(project, home, "chat", "dies", "-m", "Hi", "--session", "s")
    assert (ran.exit, ran.out) == (1, "")
    assert "the turn failed (model.broken): connection lost" in ran.err
    assert "kept as m2: I was about to" in ran.err
    again = run(project, home, "chat", "dies", "-m", "And now?", "--session", "s")
    assert (again.exit, again.out) == (0, "Back.\n")
    shown = run(project, home, "inspect-context", "--session", "s", "--json")
    assert "I was about to" in shown.out


def test_a_refused_connection_is_told_and_the_question_is_not_lost(project: Path, home: Path) -> None:
    ran = run(project, home, "chat", "plain", "--model", "closed", "-m", "Hi", "--session", "s")
    assert (ran.exit, ran.out) == (1, "")
    assert "127.0.0.1:9" in ran.err
    (log,) = home.rglob("s.jsonl")
    assert any(isinstance(e.event, MessageAdded) and e.event.message.text == "Hi" for e in read_log(log).entries)


MEGABYTE = "word " * 210_000
HOSTILE = ["[/red] [bold]", "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x9b31m", "a\u202eb\u2066c", "\x00\x01\x7f", "{{role}} {% x %}"]


def test_a_message_of_a_megabyte_is_taken_or_told(project: Path, home: Path) -> None:
    ran = run(
        project,
        home,
        "chat",
        "plain",
        stdin=MEGABYTE,
    )
    assert ran.exit == 0
    small = run(project, home, "chat", "small", stdin=MEGABYTE)
    assert small.exit == 1
    assert "the question needs 210,0" in small.err
    assert "Raise `window`, or send a shorter text" in small.err


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_any_text_of_a_person_is_data(project: Path, home: Path, text: str) -> None:
    ran = run(project, home, "chat", "plain", "--json", stdin=text.encode("utf-8", "surrogatepass"))
    assert ran.exit == 0, ran.err
    said = [e["message"]["text"] for e in events(ran.out) if e["type"] == "message.added" and e["message"]["role"] == "user"]
    assert said == [text]


def test_bytes_that_are_no_text_become_a_message_and_a_log_that_can_be_read(project: Path, home: Path) -> None:
    ran = run(project, home, "chat", "plain", "--session", "s", stdin=b"caf\xe9 \xed\xa0\x80 \xff")
    assert ran.exit == 0, ran.err
    (log,) = home.rglob("s.jsonl")
    for line in log.read_bytes().decode("utf-8").splitlines():
        loads(line)
    assert run(project, home, "chat", "plain", "--session", "s", "-m", "Again").exit == 0


def test_an_unwritable_data_directory_is_told_before_anything_is_sent(project: Path, home: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    ran = run(project, home, "chat", "plain", "-m", "Hi", CTXENG_DATA_DIR=str(tmp_path / "file"))
    assert (ran.exit, ran.out) == (1, "")
    assert "can't write sessions in" in ran.err
    assert "set CTXENG_DATA_DIR to another folder" in ran.err


def test_a_disk_that_is_full_is_told(project: Path, home: Path) -> None:
    """A limit on file size stands for the disk: the write fails in the middle of a turn."""
    command = f"ulimit -f 1; exec {CTXENG[0]} -c '{CTXENG[2]}' chat plain --session s"
    ended = subprocess.run(
        ["bash", "-c", command],
        cwd=project,
        env=environment(home),
        input=MEGABYTE[:20_000],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode == 1, ended.stderr
    assert "can't write" in ended.stderr
    assert "Traceback" not in ended.stderr
    (log,) = home.rglob("s.jsonl")
    assert read_log(log).torn == b"", "no half line is left behind"


def test_two_writers_on_one_session_are_told_apart(project: Path, home: Path) -> None:
    held = subprocess.Popen(
        [*CTXENG, "chat", "slow", "-m", "Go", "--session", "s", "--json"], cwd=project, env=environment(home),
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert held.stdout is not None
    assert "session.opened" in held.stdout.readline()
    second = run(project, home, "chat", "slow", "-m", "Me too", "--session", "s")
    deleted = run(project, home, "sessions", "delete", "s")
    waited = run(project, home, "chat", "slow", "-m", "After you", "--session", "s", "--wait")
    held.communicate(timeout=60)
    assert held.returncode == 0
    for ran in (second, deleted):
        assert ran.exit == 1
        assert re.search(r"session s is open in process \d+ since \d\d:\d\d\.", ran.err)
    assert (waited.exit, waited.out) == (0, "Late.\n")
    assert "waiting" in waited.err
    (log,) = home.rglob("s.jsonl")
    assert read_log(log).unreadable == 0


def test_a_reader_that_leaves_ends_the_command_quietly(project: Path, home: Path) -> None:
    command = f"{CTXENG[0]} -c '{CTXENG[2]}' chat tools -m Go --json | head -1; exit ${{PIPESTATUS[0]}}"
    ended = subprocess.run(
        ["bash", "-c", command], cwd=project, env=environment(home), capture_output=True, text=True, timeout=60
    )
    assert ended.returncode in (0, 1)
    assert "Traceback" not in ended.stderr
    assert "Exception ignored" not in ended.stderr


def test_ctrl_c_ends_a_single_turn_in_order(project: Path, home: Path) -> None:
    process = subprocess.Popen(
        [*CTXENG, "chat", "slow", "-m", "Go", "--session", "s", "--json"], cwd=project, env=environment(home),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    while '"request.sent"' not in process.stdout.readline():
        pass
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert [body["type"] for body in events(out)][-2:] == ["window.edited", "turn.failed"]
    assert "cancelled" in err
    assert "Traceback" not in err
    assert run(project, home, "chat", "slow", "-m", "Again", "--session", "s").out == "Late.\n"
