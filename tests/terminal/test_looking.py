"""The commands that look, at a terminal: the same panels as in chat, unbroken at any width; steps wait for a key."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from ctxeng_cli.session import FileStore, open_session
from ctxeng_cli.spec import load
from tests.commands import ROOT, Terminal, ctxeng, in_terminal
from tests.terminal.test_repl import panels


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A session with an eviction, recorded with pipes."""
    folder = tmp_path_factory.mktemp("home")
    for question in ("My dog is called Waldi. 我的狗叫旺财。", "What is a ghost?", "什么是幽灵？"):
        ran = ctxeng("chat", "guide", "--session", "s", "--window", "messages:4", "-m", question, home=folder)
        assert ran.exit == 0, ran.err
    return folder


@pytest.mark.parametrize("columns", [30, 40, 80, 120])
@pytest.mark.parametrize(
    "args",
    ["replay s", "inspect-context --session s", "inspect-context weather -m Hi", "inspect-context analyst -m 北区的销售额？",
     "sessions show s", "sessions list", "agents", "doctor"],
)  # fmt: skip
def test_what_a_command_draws_is_unbroken_at_any_width(home: Path, args: str, columns: int) -> None:
    ran = in_terminal(*args.split(), home=home, size=(columns, 40))
    assert ran.exit == 0, ran.screen
    drawn = panels(ran.screen, columns)
    assert drawn or not args.startswith(("replay", "inspect")), ran.screen
    assert "Traceback" not in ran.screen


def test_a_replay_draws_what_chat_drew(home: Path, tmp_path: Path) -> None:
    chat = Terminal("chat", "guide", "--session", "t", "--window", "messages:4", home=home)
    chat.wait_for("guide>")
    for number, question in enumerate(("What is a token?", "What is a unit?"), 2):
        chat.type(question)
        chat.wait_for("guide>", count=number)
    chat.process.send("\x04")
    assert chat.end() == 0
    replayed = in_terminal("replay", "t", home=home)
    assert panels(replayed.screen, 80) == panels(chat.screen(), 80)
    second = in_terminal("replay", "t", "--turn", "2", home=home)
    assert panels(second.screen, 80) == panels(chat.screen(), 80)[1:]


def test_a_replay_waits_for_a_key_after_each_turn(home: Path) -> None:
    t = Terminal("replay", "s", "--step", home=home)
    t.wait_for("Enter: next turn, q: leave")
    assert "turn 1 · request 1" in t.screen()
    assert "turn 2 · request 2" not in t.screen()
    t.process.send("\r")
    t.wait_for("turn 2 · request 2")
    t.wait_for("Enter: next turn, q: leave", count=2)
    t.process.send("q\r")
    assert t.end() == 0
    assert "turn 3" not in t.screen()


def test_a_single_turn_draws_panels_and_says_how_to_go_on(home: Path) -> None:
    ran = in_terminal("chat", "weather", "-m", "The climate in Bern and in Cairo in July?", cwd=ROOT, home=home, size=(60, 40))
    assert ran.exit == 0
    drawn = panels(ran.screen, 60)
    assert [title for title in (panel[0] for panel in drawn) if "tool climate" in title] != []
    assert "goonwith:ctxengchatweather--session" in "".join(ran.screen.split()), "the terminal folds it where it likes"


def test_a_terminal_without_colour_or_power_gets_none(home: Path) -> None:
    for env in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        ran = in_terminal("inspect-context", "--session", "s", home=home, env=env)
        assert ran.exit == 0
        assert not re.search(r"\x1b\[[0-9;]*(?:3[0-9]|4[0-9]|9[0-9])m", ran.out)


def test_no_window_is_drawn_where_none_is_wanted(home: Path) -> None:
    ran = in_terminal("replay", "s", "--view", "off", home=home)
    assert panels(ran.screen, 80) == []
    assert "What is a ghost?" in ran.screen
    bar = in_terminal("replay", "s", "--view", "bar", home=home)
    assert "preview" not in bar.screen
    assert len(panels(bar.screen, 80)) >= 3


def test_a_long_window_is_folded_for_a_person_and_whole_for_a_pipe(home: Path, tmp_path: Path) -> None:
    """Hundreds of ghosts: the ends of the list with ids that --part takes, and a line of sums for the rest."""
    store = FileStore(tmp_path / ".local/share/ctxeng")
    session = open_session(load(ROOT / "agents.yaml"), "guide", store=store, id="long", environ={})
    for number in range(600):
        asyncio.run(session.say(f"Fact {number}: it is so."))
    session.close()
    shown = in_terminal("inspect-context", "--session", "long", home=tmp_path, size=(100, 40)).screen
    assert "parts more" in shown
    assert len(shown.splitlines()) < 600
    newest = re.findall(r"│ (p\d+) +overhead", shown)
    assert newest != []
    piped = ctxeng("inspect-context", "--session", "long", home=tmp_path).out
    assert "parts more" not in piped
    assert "Fact 0: it is so." in piped
    assert ctxeng("inspect-context", "--session", "long", "--part", "m2", home=tmp_path).out == "Fact 0: it is so.\n"
