"""The session at a terminal, as a person has it: a real pseudo-terminal, read back by a terminal emulator."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from wcwidth import wcswidth

from ctxeng_cli.core.events import Event, MessageAdded, TurnCancelled, TurnFailed, TurnFinished, WindowEdited
from ctxeng_cli.repl.commands import COMMANDS
from ctxeng_cli.session.stores import read_log
from tests.commands import Terminal

SPEC = """\
version: 1
agents:
  tools:
    model: scripted:tools.jsonl
    system: {file: prompt.md}
    memory: {window: messages:8}
    tools: [{python: tools:look}, {python: tools:hang}]
  slow: {model: "scripted:slow.jsonl"}
  dies: {model: "scripted:dies.jsonl"}
  hangs: {model: "scripted:hangs.jsonl", tools: [{python: tools:hang}]}
  evil: {model: "scripted:evil.jsonl", tools: [{python: tools:evil}]}
  remote: {model: closed}
models:
  closed: {model: openai/qwen, api_base: "http://127.0.0.1:9/v1"}
"""
TOOLS = '''\
import threading


def look(city: str) -> dict[str, object]:
    """Look at the weather (天气)."""
    return {"city": city, "note": "晴 🌤 warm", "rows": list(range(40))}


def hang(city: str) -> str:
    """Never answers."""
    threading.Event().wait()
    return ""


def evil(city: str) -> str:
    """Answers with what terminals act on."""
    return EVIL
'''
EVIL = "[/red] [bold]b[/] \x1b[31mred\x1b]0;title\x07 \x1b]52;c;aGk=\x07 a\rb \x9b31m \u202eright \u2066iso \x1b[2J\x1b[H"


def call(name: str, **arguments: str) -> dict[str, object]:
    return {"id": f"c-{name}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def calls(*made: dict[str, object]) -> dict[str, object]:
    return {"content": None, "tool_calls": list(made)}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "agents.yaml").write_text(SPEC, "utf-8")
    (folder / "prompt.md").write_text("Be brief. 请简短回答。\n", "utf-8")
    (folder / "tools.py").write_text(TOOLS.replace("EVIL", repr(EVIL)), "utf-8")
    two = {**call("look", city="开罗"), "id": "c2"}
    scripts: dict[str, list[dict[str, object]]] = {
        "tools": [calls(call("look", city="Bern"), two), {"content": "Fine. 晴天 🌤。"}, {"content": "Still fine."}],
        "slow": [{"content": "word " * 400, "delay_s": 0.3}, {"content": "Quick."}],
        "dies": [{"content": "I was about to", "error": "connection lost"}, {"content": "Back."}],
        "hangs": [calls(call("hang", city="Bern")), {"content": "Free again."}],
        "evil": [calls(call("evil", city=EVIL)), {"content": EVIL}],
    }
    for name, replies in scripts.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in replies), "utf-8")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.fixture
def opened() -> Iterator[list[Terminal]]:
    terminals: list[Terminal] = []
    yield terminals
    for terminal in terminals:
        terminal.process.close(force=True)


def panels(screen: str, columns: int) -> list[list[str]]:
    """The panels on a screen, each checked: all borders there, all lines as wide as the terminal at most, and alike."""
    found: list[list[str]] = []
    inside: list[str] | None = None
    for line in screen.splitlines():
        if line.startswith(("╭", "+--")):
            assert inside is None, f"a panel begins inside another:\n{line}"
            inside = [line]
            assert wcswidth(line) <= columns, line
        elif inside is not None:
            inside.append(line)
            assert line.startswith(("│", "╰", "├")), f"a torn panel:\n{chr(10).join(inside)}"
            assert wcswidth(line) == wcswidth(inside[0]), f"borders that don't line up:\n{chr(10).join(inside)}"
            if line.startswith("╰"):
                found.append(inside)
                inside = None
            else:
                assert line.endswith(("│", "┤")), f"a torn panel:\n{chr(10).join(inside)}"
    assert inside is None, "a panel that does not end"
    return found


def recorded(home: Path, *kinds: type[Event]) -> list[Event]:
    (log,) = home.rglob("sessions/*.jsonl")
    return [entry.event for entry in read_log(log).entries if isinstance(entry.event, kinds)]


SIZES = pytest.mark.parametrize("columns", [80, 40])
COLOURS = pytest.mark.parametrize("colours", [True, False], ids=["colour", "no colour"])


@SIZES
@COLOURS
def test_window_eviction_and_tools_are_shown_unbroken(
    project: Path, home: Path, opened: list[Terminal], columns: int, colours: bool
) -> None:
    env = {} if colours else {"NO_COLOR": "1"}
    opened.append(t := Terminal("chat", "tools", cwd=project, home=home, size=(columns, 30), env=env))
    t.wait_for("tools>")
    t.type("What is the weather in Bern and in Cairo? 伯尔尼和开罗")
    t.wait_for("tools>", count=2)
    t.type("And tomorrow?")
    t.wait_for("tools>", count=3)
    t.type("And after that?")
    t.wait_for("tools>", count=4)
    t.wait_for("/8 messages")  # the meter in the toolbar
    t.type("/exit")
    assert t.end() == 0
    screen = t.screen()
    titles = [panel[0] for panel in panels(screen, columns)]
    assert sum("· request" in title for title in titles) == 4, titles
    assert sum("look" in title for title in titles) == 2, titles
    assert any("window edited" in title for title in titles), titles
    text = " ".join(screen.split())
    assert "window.messages" in text
    assert "Fine. 晴天 🌤" in screen.replace("🌤 ", "🌤")
    assert screen.splitlines().count("Still fine.") == 2, "an answer is written once"
    coloured = re.findall(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])[0-9;]*m", t.raw)
    assert bool(coloured) == colours, coloured[:5]


def test_the_commands_of_the_line(project: Path, home: Path, opened: list[Terminal]) -> None:
    opened.append(t := Terminal("chat", "tools", cwd=project, home=home))
    prompts = 0

    def say(text: str, *told: str) -> None:
        nonlocal prompts
        prompts += 1
        t.type(text)
        t.wait_for("tools>", count=prompts + 1)
        new = " ".join(t.screen().rpartition(f"tools> {text}")[2].split())
        for words in told:
            assert words in new, f"{words!r} after {text}:\n{t.screen()}"

    t.wait_for("tools>")
    say("/help", *(f"/{name}" for name in COMMANDS), "Alt+Enter")
    say("/context", "nothing was sent yet")
    say("/retry", "there is nothing to ask again")
    say("/clear", "the window is empty already")
    say("/tools", "Look at the weather", "tokens")
    say("/session", "0 requests", "ctxeng chat tools --session")
    say("/hepl", "there is no command /hepl.", "Did you mean")
    say("/xyz", "/help lists them", "To say it to the agent, put a blank before it.")
    say("/", "/help lists them")
    say("/c", "It could be /context, /clear")
    say("/v", "view: full. /view full, bar or off.")
    say("/view bra", "view: full. /view full, bar or off.", 'Did you mean "bar"')
    say("/view bar", "view: bar")
    say("Weather?", "Fine.")
    say("/context 9", "there is no request 9; the session has 2")
    say("/context x", "/context takes the number of a request")
    say("/context 1", "window · turn 1 · request 1")
    say("/context", "window · turn 1 · request 2")
    say("/window", "window: messages:8")
    say("/window mesages:4", 'Did you mean "messages:4"')
    say("/window messages:3", "window: messages:3 from the next turn on")
    say("/view off", "view: off")
    say("Again?", "Still fine.")
    say("/retry", "Still fine.")
    say(" /etc/hosts?", "Still fine.")
    say("/restore", "/restore takes the id of a ghost")
    say("/restore m99", "there is no ghost m99; ghosts are")
    say("/restore m2", "back in the window, and kept: m2")
    say("/clear", "messages left the window; they stay in the log")
    t.type("/q")
    assert t.end() == 0
    assert "go on with: ctxeng chat tools --session" in " ".join(t.screen().split())
    rules = [edit.reason.rule for event in recorded(home, WindowEdited) for edit in event.edits]  # type: ignore[attr-defined]
    assert "window.messages" in rules
    assert "command.retry" in rules
    assert "command.clear" in rules
    said = [e.message.text for e in recorded(home, MessageAdded) if e.message.role == "user"]  # type: ignore[attr-defined]
    assert said == ["Weather?", "Again?", "Again?", " /etc/hosts?"], "nothing is lost"


def test_completion_history_and_lines(project: Path, home: Path, opened: list[Terminal]) -> None:
    opened.append(t := Terminal("chat", "tools", cwd=project, home=home))
    t.wait_for("tools>")
    t.process.send("/se\t")
    t.wait_for("/session")
    t.process.send("\r")
    t.wait_for("tools>", count=2)
    t.process.send("first line\x1b\rsecond line\r")
    t.wait_for("tools>", count=3)
    t.process.send("\x1b[200~pasted one\npasted two\x1b[201~")
    t.wait_for("pasted two")
    t.process.send("\r")
    t.wait_for("tools>", count=4)
    t.process.send("\x04")
    assert t.end() == 0
    said = [e.message.text for e in recorded(home, MessageAdded) if e.message.role == "user"]  # type: ignore[attr-defined]
    assert said == ["first line\nsecond line", "pasted one\npasted two"]
    opened.append(again := Terminal("chat", "tools", "-c", cwd=project, home=home))
    again.wait_for("tools>")
    again.process.send("\x1b[A")
    again.wait_for("pasted two")
    again.process.send("\x03\x03")
    assert again.end() == 0


def test_ctrl_c_at_the_line_hints_first_and_leaves_then(project: Path, home: Path, opened: list[Terminal]) -> None:
    opened.append(t := Terminal("chat", "slow", cwd=project, home=home))
    t.wait_for("slow>")
    t.process.send("half a question\x03")
    t.wait_for("Ctrl-C again, or Ctrl-D, leaves")
    t.process.send("\x03")
    assert t.end() == 0
    assert list(home.rglob("sessions/*.jsonl")) == [], "nothing was said"


def test_ctrl_c_cancels_an_answer_and_a_tool_and_the_next_turn_is_legal(
    project: Path, home: Path, opened: list[Terminal]
) -> None:
    opened.append(t := Terminal("chat", "hangs", cwd=project, home=home))
    t.wait_for("hangs>")
    t.type("Go")
    t.wait_for("▸ hang")
    t.process.send("\x03")
    t.wait_for("hangs>", count=2)
    assert "cancelled" in t.screen()
    t.type("And now?")
    t.wait_for("Free again.")
    t.wait_for("hangs>", count=3)
    t.process.send("\x04")
    assert t.end() == 0
    assert len(recorded(home, TurnCancelled)) == 1
    assert [type(e) for e in recorded(home, TurnFailed, TurnFinished)] == [TurnFailed, TurnFinished]
    results = [e.message for e in recorded(home, MessageAdded) if e.message.role == "tool"]  # type: ignore[attr-defined]
    assert [(m.is_error, "not run to its end: cancelled" in m.text) for m in results] == [(True, True)]


def test_ctrl_c_before_the_first_word_takes_the_turn_back(project: Path, home: Path, opened: list[Terminal]) -> None:
    opened.append(t := Terminal("chat", "slow", cwd=project, home=home))
    t.wait_for("slow>")
    t.type("Go")
    t.wait_for("request 1")
    t.process.send("\x03")
    t.wait_for("slow>", count=2)
    t.type("Again")
    t.wait_for("Quick.", timeout=20) if "word word" not in t.screen() else None
    t.process.send("\x04")
    assert t.end() == 0
    assert isinstance(recorded(home, TurnFailed)[0], TurnFailed)


def test_a_model_that_dies_and_one_that_is_not_there_are_told_and_the_session_goes_on(
    project: Path, home: Path, opened: list[Terminal]
) -> None:
    opened.append(t := Terminal("chat", "dies", cwd=project, home=home))
    t.wait_for("dies>")
    t.type("Hi")
    t.wait_for("dies>", count=2)
    text = " ".join(t.screen().split())
    assert "I was about to" in text
    assert "cut off here" in text
    assert "connection lost" in text
    t.type("And now?")
    t.wait_for("Back.")
    t.process.send("\x04")
    assert t.end() == 0


def test_the_prompt_comes_before_the_library_and_a_refused_connection_is_told(
    project: Path, home: Path, opened: list[Terminal]
) -> None:
    opened.append(t := Terminal("chat", "remote", cwd=project, home=home))
    t.wait_for("remote>")
    assert "litellm" not in t.screen()
    t.type("Hi")
    t.wait_for("127.0.0.1:9", timeout=60)
    t.wait_for("remote>", count=2)
    assert "Traceback" not in t.screen()
    t.process.send("\x04")
    assert t.end() == 0


def test_nothing_that_others_say_acts_on_the_terminal(project: Path, home: Path, opened: list[Terminal]) -> None:
    opened.append(t := Terminal("chat", "evil", cwd=project, home=home))
    t.wait_for("evil>")
    t.process.send("\x1b[200~" + EVIL.replace("\x1b", "").replace("\x07", "").replace("\r", "") + "\x1b[201~\r")
    t.wait_for("evil>", count=2)
    t.type("/context")
    t.wait_for("evil>", count=3)
    t.process.send("\x04")
    assert t.end() == 0
    assert "[/red] [bold]b[/]" in t.screen(), "markup is text"
    for forbidden in ("\x1b]0;title", "\x1b]52;", "\x9b31m", "\x1b[31mred", "\u202e", "\u2066", "\x1b[2J\x1b[H"):
        assert forbidden not in t.raw
    panels(t.screen(), 80)


def test_a_spec_that_changes_is_read_again_between_turns(tmp_path: Path, home: Path, opened: list[Terminal]) -> None:
    (tmp_path / "agents.yaml").write_text("version: 1\nagents: {a: {system: {file: p.md}}}\n")
    (tmp_path / "p.md").write_text("The code word is marlin.\n")
    opened.append(t := Terminal("chat", "a", "--view", "bar", cwd=tmp_path, home=home))
    t.wait_for("a>")
    t.type("What is the code word?")
    t.wait_for('The code word is marlin." [m1]')
    (tmp_path / "p.md").write_text("The code word is sturgeon.\n")
    t.wait_for("a>", count=2)
    t.type("What is the code word now?")
    t.wait_for('The code word is sturgeon." [m4]')
    (tmp_path / "agents.yaml").write_text("version: 1\nagents: {a: {sistem: Hi}}\n")
    t.wait_for("a>", count=3)
    t.type("And what is the code word?")
    t.wait_for("a>", count=4)
    text = " ".join(t.screen().split())
    assert "agents.yaml:2:14: unknown key" in text
    assert 'Did you mean "system"? The old spec stays in use.' in text
    assert "the spec changed. system: another text" in text
    t.process.send("\x04")
    assert t.end() == 0


@pytest.mark.parametrize(
    ("size", "env"), [((20, 10), {}), ((80, 30), {"TERM": "dumb"}), ((80, 30), {"PYTHONIOENCODING": "ascii"})]
)
def test_odd_terminals_are_served(
    project: Path, home: Path, opened: list[Terminal], size: tuple[int, int], env: dict[str, str]
) -> None:
    opened.append(t := Terminal("chat", "tools", cwd=project, home=home, size=size, env=env))
    t.wait_for("tools>")
    t.type("Go")
    t.wait_for("Fine.")
    t.process.setwinsize(12, 33)
    t.wait_for("tools>", count=2)
    t.type("Again")
    t.wait_for("Still fine.")
    t.process.send("\x04")
    assert t.end() == 0
    assert "Traceback" not in t.screen()
    if "PYTHONIOENCODING" in env:
        assert "+-" in t.screen()
        assert "\\u6674\\u5929" in t.screen() or "?" in t.screen()


def test_the_line_stays_at_the_terminal_when_errors_go_to_a_file(
    project: Path, home: Path, opened: list[Terminal], tmp_path: Path
) -> None:
    """What tools print goes to stderr; the prompt and the panels don't follow it there."""
    opened.append(t := Terminal("chat", "slow", cwd=project, home=home, errors=tmp_path / "errors.txt"))
    t.wait_for("slow>")
    t.type("Hi")
    t.wait_for("slow>", count=2)
    t.process.send("\x04")
    assert t.end() == 0
    assert (tmp_path / "errors.txt").read_text() == ""
