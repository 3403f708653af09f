"""kill -9 after each event of a turn with a tool round, and inside each write: resume always works, nothing shown is lost."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ctxeng_cli.core.events import RequestSent, SessionHealed, TurnFailed
from ctxeng_cli.core.history import State
from ctxeng_cli.core.view import rebuild
from ctxeng_cli.lint import check
from ctxeng_cli.session import FileStore, open_session
from ctxeng_cli.session.stores import read
from ctxeng_cli.spec import load

SPEC = """
version: 1
agents:
  a:
    model: scripted:replies.jsonl
    system: Be exact.
    tools: [{python: "crash_tools:quick"}, {python: "crash_tools:slow"}]
"""
TOOLS = """
import time
def quick() -> str:
    return "quick result"
def slow() -> str:
    time.sleep(0.05)
    return "slow result"
"""
CALLS = [
    {"id": f"c{i}", "type": "function", "function": {"name": name, "arguments": "{}"}} for i, name in enumerate(("slow", "quick"))
]
REPLIES = [{"content": "Let me look.", "tool_calls": CALLS}, {"content": "Both are in."}]
EVENTS = 21
"""Events of the whole turn; the last position is behind its end."""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    (tmp_path / "agents.yaml").write_text(SPEC)
    (tmp_path / "crash_tools.py").write_text(TOOLS)
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in REPLIES))
    return tmp_path / "agents.yaml"


@pytest.mark.parametrize("where", ["after", "inside"])
@pytest.mark.parametrize("event", range(1, EVENTS + 1))
def test_killed_at_any_event(spec: Path, event: int, where: str) -> None:
    data = spec.parent / "data"
    child = [sys.executable, str(Path(__file__).with_name("crash_child.py")), str(data), str(spec), str(event), where]
    ended = subprocess.run(child, capture_output=True, text=True, timeout=60, cwd=spec.parent, env=_environment())
    shown = [line for line in ended.stdout.splitlines() if line != "end"]
    if event < EVENTS:
        assert ended.returncode == -signal.SIGKILL, ended.stderr
    else:
        assert "end" in ended.stdout, f"the turn has more than {EVENTS - 1} events: raise EVENTS\n{ended.stdout}"

    session = open_session(load(spec), "a", store=FileStore(data), id="s")
    entries = read(FileStore(data), "s").entries
    kept = [f"{entry.seq} {entry.event.type}" for entry in entries]
    assert [line for line in shown if line not in kept] == []
    assert len({entry.seq for entry in entries}) == len(entries)
    healed = [e.event for e in entries if isinstance(e.event, SessionHealed)]
    assert (where == "inside" and event < EVENTS) == any(h.what == "torn_line" for h in healed)
    assert any(isinstance(e.event, TurnFailed) for e in entries) == any(h.what == "open_turn" for h in healed)

    assert not session.wires.history(session.agent).open_calls()
    outcome = asyncio.run(session.say("And now?"))
    assert outcome.state == "answered"
    session.close()
    _rebuilds(read(FileStore(data), "s").entries)


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def _rebuilds(entries: list) -> None:  # type: ignore[type-arg]
    """Every request in the log is legal and can be built again from it."""
    state = State()
    for entry in entries:
        state.apply(entry)
        if isinstance(entry.event, RequestSent):
            request = rebuild(state, entry.agent, entry.event)
            assert request.fingerprint == entry.event.fingerprint
            assert not [f for f in check(request) if f.severity == "error"]
