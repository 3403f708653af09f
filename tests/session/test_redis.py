"""What only Redis does: it goes away and comes back, loses answers, lets locks expire, has keys, users and a limit of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from ctxeng_cli.core.errors import SessionError
from ctxeng_cli.core.events import MessageAdded, SessionHealed, TurnFailed
from ctxeng_cli.session.stores import delete, read, store_for
from tests.commands import ROOT, ctxeng
from tests.session.places import Place, append, place_of
from tests.session.redis_server import RedisServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    """A server that a test may kill."""
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    yield server
    server.stop()


def test_redis_that_goes_away_in_mid_turn(server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_of("redis", tmp_path, server, monkeypatch)
    opened = place.session()
    assert asyncio.run(opened.say("One")).error is None
    append_line = opened.journal.lines.append
    count = 0

    def dying(text: str) -> None:
        nonlocal count
        count += 1
        if count == 4:
            server.stop()
        append_line(text)

    monkeypatch.setattr(opened.journal.lines, "append", dying)
    outcome = asyncio.run(opened.say("Two"))
    assert outcome.error == "store"
    assert f"the store redis://127.0.0.1:{server.port}/0 can't be reached" in outcome.text
    assert ".." not in outcome.text
    assert asyncio.run(opened.say("Three")).error == "store", "and it says so again"
    server.start()
    assert asyncio.run(opened.say("Four")).error is None, "the same session goes on"
    opened.close()
    entries = read(place.store(), "s").entries
    assert [e.seq for e in entries] == sorted({e.seq for e in entries})
    assert any(isinstance(e.event, TurnFailed) and e.event.error == "interrupted" for e in entries)
    asked = [e.event.message.text for e in entries if isinstance(e.event, MessageAdded) and e.event.message.role == "user"]
    assert asked == ["One", "Two", "Four"]


def test_a_command_whose_redis_dies_says_so_and_the_next_one_closes_its_turn(
    server: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tool kills the server. The lock is that of a dead process when the server is back, with all that it had."""
    place = place_of("redis", tmp_path, server, monkeypatch)
    call = {"id": "c", "type": "function", "function": {"name": "stop", "arguments": f'{{"pid": {server.pid}}}'}}
    said = [{"content": None, "tool_calls": [call]}, {"content": "Back."}]
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(reply) + "\n" for reply in said))
    (tmp_path / "stopper.py").write_text(
        'import os\n\n\ndef stop(pid: int) -> str:\n    """Stop a process."""\n    os.kill(pid, 9)\n    return "stopped"\n'
    )
    agent = {"model": "scripted:replies.jsonl", "memory": {"store": place.text}, "tools": [{"python": "stopper:stop"}]}
    (tmp_path / "agents.yaml").write_text(json.dumps({"version": 1, "agents": {"a": agent}}))

    failed = ctxeng("chat", "a", "--session", "s", "-m", "Stop it", cwd=tmp_path, home=tmp_path / "home")
    assert (failed.exit, failed.out) == (1, ""), failed.err
    assert f"the turn failed (store): the store redis://127.0.0.1:{server.port}/0 can't be reached" in failed.err
    assert "Traceback" not in failed.err
    server.stop()
    server.start()
    ended = ctxeng("chat", "a", "--session", "s", "-m", "Again", cwd=tmp_path, home=tmp_path / "home")
    assert (ended.exit, ended.out) == (0, "Back.\n"), ended.err
    assert "turn 1 was interrupted; it was closed so that the history is legal" in ended.err
    entries = read(place.store(), "s").entries
    assert [e.event.what for e in entries if isinstance(e.event, SessionHealed)] == ["open_turn"]
    assert [e.event.message.role for e in entries if isinstance(e.event, MessageAdded)] == [
        "user", "assistant", "tool", "user", "assistant",
    ]  # fmt: skip


class LosesAnswers:
    """Stands before a server and passes everything on; told to, it drops one answer together with the connection."""

    def __init__(self, port: int) -> None:
        self._behind, self.lose = port, threading.Event()
        self._door = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._door.getsockname()[1])
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                link, _ = self._door.accept()
            except OSError:
                return
            behind = socket.create_connection(("127.0.0.1", self._behind))
            for pair in ((link, behind), (behind, link)):
                threading.Thread(target=self._pass, args=(*pair, pair[0] is behind), daemon=True).start()

    def _pass(self, here: socket.socket, there: socket.socket, answers: bool) -> None:
        try:
            while data := here.recv(65_536):
                if answers and self.lose.is_set():
                    self.lose.clear()
                    break
                there.sendall(data)
        except OSError:
            pass
        for end in (here, there):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)  # wakes the thread that reads from it
            end.close()

    def close(self) -> None:
        self._door.close()


@pytest.mark.parametrize("before", [0, 2])
def test_a_line_whose_answer_got_lost_is_there_once_or_not_at_all(redis_place: Place, before: int) -> None:
    """The server has pushed it and nobody knows: it counts as not written, and the next one takes its place."""
    port = int(redis_place.text.rpartition(":")[2].partition("/")[0])
    between = LosesAnswers(port)
    log = store_for(f"redis://127.0.0.1:{between.port}/0", redis_place.folder, redis_place.folder).open("s")
    append(log, *range(1, before + 1))
    between.lose.set()
    with pytest.raises(SessionError, match="can't be reached"):
        append(log, 101)
    assert not between.lose.is_set()
    append(log, before + 1, before + 2)
    log.close()
    between.close()
    assert [entry.seq for entry in read(redis_place.store(), "s").entries] == list(range(1, before + 3))


# -- the lock --------------------------------------------------------------------------------------------------------


def test_who_has_lost_the_lock_cannot_write(redis_place: Place, redis_server: RedisServer) -> None:
    log = redis_place.store().open("lost")
    append(log, 1)
    redis_server.ask("DEL ctxeng:lock:lost")  # as if it had expired
    other = redis_place.store().open("lost")
    with pytest.raises(SessionError, match="no longer locked by this process"):
        append(log, 2)
    append(other, 2)
    other.close()
    with pytest.raises(SessionError, match=r"is not in redis://.* as this process left it"):
        append(log, 3)
    log.close(discard=True)
    assert [entry.seq for entry in read(redis_place.store(), "lost").entries] == [1, 2], "nor throw away what others wrote"


def test_a_lock_that_expired_is_taken_again_if_nobody_has_written_since(redis_place: Place, redis_server: RedisServer) -> None:
    log = redis_place.store().open("slept")
    append(log, 1)
    redis_server.ask("DEL ctxeng:lock:slept")
    append(log, 2)
    with pytest.raises(SessionError, match="session slept is open in process"):
        redis_place.store().open("slept")
    log.close()
    assert [entry.seq for entry in read(redis_place.store(), "slept").entries] == [1, 2]


def test_a_session_that_redis_has_lost_takes_no_line(redis_place: Place, redis_server: RedisServer) -> None:
    log = redis_place.store().open("gone")
    append(log, 1)
    redis_server.ask("FLUSHDB")
    with pytest.raises(SessionError, match=r"is not in redis://.* as this process left it"):
        append(log, 2)
    log.close()
    assert redis_place.store().ids() == []


@pytest.mark.parametrize("other", ["host", "pids"])
def test_the_lock_of_another_machine_is_waited_for_until_it_expires(
    redis_place: Place, redis_server: RedisServer, other: str
) -> None:
    """Whether its process lives can't be seen from here, whatever its number; two containers may share a host name."""
    log = redis_place.store().open("s")
    held = json.loads(redis_server.ask("GET ctxeng:lock:s").partition("\r\n")[2])
    log.close()
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    there = json.dumps({**held, "pid": dead.pid, other: "elsewhere"}, separators=(",", ":")).replace('"', '\\"')
    redis_server.ask(f'SET ctxeng:lock:s "{there}" PX 300')
    with pytest.raises(SessionError, match=rf"session s is open in process {dead.pid}"):
        redis_place.store().open("s")
    told: list[str] = []
    redis_place.store().open("s", wait=True, waiting=told.append).close()
    assert re.fullmatch(rf"session s is open in process {dead.pid}.* since \d\d:\d\d; waiting", told[0])


# -- its address, its users, its limits ------------------------------------------------------------------------------


def test_a_prefix_keeps_sessions_apart(redis_place: Place, redis_server: RedisServer) -> None:
    one, two = (
        store_for(f"{redis_place.text}{more}", redis_place.folder, redis_place.folder) for more in ("", "?prefix=team:red")
    )
    for store, number in ((one, 1), (two, 2)):
        log = store.open("s")
        append(log, number)
        log.close()
    assert [read(store, "s").entries[0].seq for store in (one, two)] == [1, 2]
    assert two.place("s") == f"{redis_place.text}?prefix=team:red"
    assert "team:red:log:s" in redis_server.ask("KEYS team*")
    one.keep("s", "m1", "red")
    two.keep("s", "m1", "blue")
    assert {path.read_text() for path in redis_place.folder.rglob("m1.txt")} == {"red", "blue"}
    delete(two, "s")
    assert (one.ids(), two.ids()) == (["s"], [])


def test_what_the_server_refuses_is_told_without_the_password(redis_place: Place, redis_server: RedisServer) -> None:
    host = redis_place.text.removeprefix("redis://").removesuffix("/0")
    redis_server.ask("ACL SETUSER reader on >hunter2 ~* -@all +get +zrevrange")
    wrong = {
        f"redis://reader:hunter3@{host}/0": "refuses this user: .*",
        f"redis://reader:hunter2@{host}/0": "refuses this user: .*no permissions",
        f"redis://{host}/99": "answered: .*out of range",
    }
    for address, told in wrong.items():
        with pytest.raises(SessionError, match=rf"the store redis://{host}/\d+ {told}") as caught:
            store_for(address, redis_place.folder, redis_place.folder).open("s")
        assert "hunter" not in str(caught.value)
    redis_server.ask("ACL DELUSER reader")


def test_a_server_that_is_full_in_mid_turn(redis_place: Place, redis_server: RedisServer) -> None:
    opened = redis_place.session()
    assert asyncio.run(opened.say("One")).error is None
    redis_server.ask("CONFIG SET maxmemory 1")
    try:
        outcome = asyncio.run(opened.say("Two"))
    finally:
        redis_server.ask("CONFIG SET maxmemory 0")
    assert (outcome.error, "when used memory > 'maxmemory'. What was" in outcome.text) == ("store", True)
    assert asyncio.run(opened.say("Three")).error is None
    opened.close()
    entries = read(redis_place.store(), "s").entries
    asked = [e.event.message.text for e in entries if isinstance(e.event, MessageAdded) and e.event.message.role == "user"]
    assert asked == ["One", "Three"]


def test_a_list_of_sessions_shows_no_password(redis_place: Place, redis_server: RedisServer) -> None:
    redis_server.ask("ACL SETUSER writer on >hunter2 ~* +@all")
    secret = redis_place.text.replace("redis://", "redis://writer:hunter2@")
    place = Place("redis", secret, redis_place.folder)
    place.spec()

    def run(*args: str) -> str:
        ran = ctxeng(*args, cwd=place.folder, home=place.folder / "home")
        assert "hunter2" not in ran.out + ran.err
        assert ran.exit == 0, ran.err
        return ran.out

    run("chat", "a", "--session", "s", "-m", "Hi")
    (row,) = json.loads(run("sessions", "list", "--json"))["sessions"]
    assert (row["id"], row["path"]) == ("s", redis_place.text)
    assert "hunter2" not in run("sessions", "show", "s", "--json")
    redis_server.ask("ACL DELUSER writer")


def test_a_library_that_is_not_there_is_named(tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['redis'] = None\n"
        "from pathlib import Path\n"
        "from ctxeng_cli.session.stores import store_for\n"
        "store_for('redis://localhost/0', Path(), Path()).open('s')\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True)
    assert "SessionError: a store in Redis needs the library redis: pip install 'ctxeng-cli[redis]'" in ended.stderr
