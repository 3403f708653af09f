"""One suite for all stores: what is written is read back, one writer at a time, and a failure loses nothing."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter as Tally
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from ctxeng_cli.core.codec import dumps, loads
from ctxeng_cli.core.errors import SessionError, UsageError
from ctxeng_cli.core.events import Entry, MessageAdded, SessionHealed, TurnFailed
from ctxeng_cli.core.messages import user
from ctxeng_cli.session import Session, open_session
from ctxeng_cli.session.stores import Log, Store, delete, first, latest, listed, read, store_for
from ctxeng_cli.session.stores.memory import PROCESS
from ctxeng_cli.spec import load
from tests.session.redis_server import RedisServer

CHILD = Path(__file__).with_name("store_child.py")
KINDS = ["file", "memory", "sqlite", "redis", "python"]
SHARED_KINDS = [kind for kind in KINDS if kind != "memory"]
"""Those that two processes can have at once."""


@dataclass(frozen=True)
class Place:
    """A kind of store in a folder of its own."""

    text: str
    folder: Path

    def store(self) -> Store:
        return store_for(self.text, self.folder, self.folder)

    def child(self, act: str, name: str = "x") -> subprocess.Popen[str]:
        command = [sys.executable, str(CHILD), self.text, str(self.folder), act, name]
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def place_of(kind: str, folder: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("OWN_STORE", str(folder / "own"))
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    names = {"sqlite": "sqlite:logs.db", "redis": redis_server.url, "python": "python:tests.session.own_store:store"}
    return Place(names.get(kind, kind), folder)


@pytest.fixture(params=KINDS)
def place(
    request: pytest.FixtureRequest, tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    found = place_of(request.param, tmp_path, redis_server, monkeypatch)
    yield found
    for id in found.store().ids():
        delete(found.store(), id)
    PROCESS.open_ids.clear()


@pytest.fixture(params=SHARED_KINDS)
def shared(
    request: pytest.FixtureRequest, tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    found = place_of(request.param, tmp_path, redis_server, monkeypatch)
    yield found
    for id in found.store().ids():
        delete(found.store(), id)


def line(number: int, text: str = "Hi") -> str:
    return dumps(
        Entry(number, "2026-12-01T09:00:00+00:00", 1, "a", MessageAdded(message=user(text).with_id(f"m{number}"), tokens=5))
    )


def append(log: Log, *numbers: int) -> None:
    for number in numbers:
        log.append(line(number))


TEXTS = ["plain", "天气 🌦", "two\nlines\r\n", "nul \x00 and \x1b[31m", "lone \ud83d", "\u2028 \u0085", "x" * 100_000]


def test_what_is_written_is_read_back(place: Place) -> None:
    log = place.store().open("s")
    for number, text in enumerate(TEXTS, 1):
        log.append(line(number, text))
    log.sync()
    log.close()
    entries = read(place.store(), "s").entries
    assert [dumps(entry) for entry in entries] == [line(number, text) for number, text in enumerate(TEXTS, 1)]
    again = place.store().open("s")
    assert again.loaded.entries == entries
    assert not again.loaded.torn
    append(again, 8)
    again.close()
    assert [entry.seq for entry in read(place.store(), "s").entries] == list(range(1, 9))
    assert first(place.store(), "s") == loads(line(1, TEXTS[0]))
    assert again.place


def test_sessions_are_told_apart_listed_and_deleted(place: Place) -> None:
    store = place.store()
    for id in ("one", "two", "three"):
        log = store.open(id)
        append(log, 1)
        log.close()
    log = store.open("one")
    append(log, 2)
    log.close()
    assert place.store().ids()[0] == "one", "the one written last"
    assert {info.id: info.messages for info in listed(store, str)} == {"one": 2, "two": 1, "three": 1}
    delete(store, "two")
    assert sorted(place.store().ids()) == ["one", "three"]
    with pytest.raises(UsageError, match='there is no session "two"'):
        read(store, "two")
    with pytest.raises(UsageError, match='Did you mean "three"'):
        read(store, "thre")
    assert latest(store, "a", "x") is None, "no session.opened, no agent"


def test_a_session_in_which_nothing_was_said_leaves_nothing(place: Place) -> None:
    log = place.store().open("s")
    append(log, 1)
    log.close(discard=True)
    log.close()
    assert place.store().ids() == []
    assert place.store().data("s") is None


@pytest.mark.parametrize("id", ["", "../x", "a/b", ".hidden", "-x", "a\x00b", "a..b", "x" * 200, "a b"])
def test_an_id_that_can_be_none_is_refused(place: Place, id: str) -> None:
    with pytest.raises(UsageError, match="can't be a session id"):
        place.store().open(id)


def test_a_second_writer_in_the_same_process_is_refused(place: Place) -> None:
    log = place.store().open("s")
    with pytest.raises(SessionError, match="session s is open in "):
        place.store().open("s")
    log.close()
    place.store().open("s").close()


def test_a_second_process_is_told_who_has_it_and_a_dead_ones_lock_holds_nothing(shared: Place) -> None:
    with shared.child("hold") as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        told = rf"session s is open in process {holder.pid} since \d\d:\d\d. Wait with --wait, or take another --session."
        with pytest.raises(SessionError, match=told):
            shared.store().open("s")
        holder.kill()
        holder.wait()
        log = shared.store().open("s")
        append(log, 1)
        log.close()


def test_two_processes_that_write_a_thousand_lines_each_wait_for_each_other(shared: Place) -> None:
    """Nothing interleaves: one has its thousand lines in, whole and in order, before the other begins."""
    children = [shared.child("write", name) for name in ("left", "right")]
    ended = [child.communicate(timeout=120)[0].split() for child in children]
    assert sorted(words[-1] for words in ended) == ["closed", "closed"]
    agents = [entry.agent for entry in read(shared.store(), "s").entries]
    assert Tally(agents) == {"left": 1000, "right": 1000}
    assert agents == [agents[0]] * 1000 + [agents[-1]] * 1000
    assert [entry.seq for entry in read(shared.store(), "s").entries] == [*range(1, 1001), *range(1, 1001)]


def test_one_that_waits_is_told_for_whom_and_one_that_does_not_is_refused(shared: Place) -> None:
    with shared.child("hold") as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with shared.child("refused") as other:
            assert other.communicate(timeout=30)[0].startswith(f"refused: session s is open in process {holder.pid}")
        with shared.child("write", "late") as late:
            assert late.stdout is not None
            assert late.stdout.readline() == "waits\n"
            holder.communicate()
            assert late.communicate(timeout=60)[0].endswith("closed\n")
    assert len(read(shared.store(), "s").entries) == 1000


# -- failures --------------------------------------------------------------------------------------------------------

SPEC = "version: 1\nagents: {a: {model: 'scripted:replies.jsonl', memory: {store: STORE}}}\n"


def session(place: Place, id: str = "s") -> Session:
    (place.folder / "replies.jsonl").write_text(json.dumps({"content": "Well."}) + "\n")
    (place.folder / "agents.yaml").write_text(SPEC.replace("STORE", json.dumps(place.text)))
    return open_session(load(place.folder / "agents.yaml"), "a", store=place.store(), id=id, environ={})


class Failing:
    """A log whose every n-th write fails, as on a full disk."""

    def __init__(self, log: Log, every: int) -> None:
        self._log, self._every, self._count = log, every, 0
        self.loaded, self.place = log.loaded, log.place

    def append(self, line: str) -> None:
        self._count += 1
        if self._count % self._every == 0:
            raise SessionError("can't write: no space left on device")
        self._log.append(line)

    def sync(self) -> None:
        self._log.sync()

    def close(self, *, discard: bool = False) -> None:
        self._log.close(discard=discard)


@pytest.mark.parametrize("every", [2, 3, 5, 7])
def test_whatever_write_fails_the_turn_says_so_and_the_session_is_whole(place: Place, every: int) -> None:
    opened = session(place)
    assert opened.log is not None
    opened.journal.lines = Failing(opened.log, every)
    outcomes = [asyncio.run(opened.say(f"Question {n}")) for n in range(6)]
    assert any(outcome.error is not None for outcome in outcomes)
    assert all("no space left" in outcome.text for outcome in outcomes if outcome.error is not None)
    shown = list(opened.journal.state.history("a").messages)
    opened.close()
    again = session(place)
    kept = read(place.store(), "s").entries
    assert [e.event.message.id for e in kept if isinstance(e.event, MessageAdded)] == shown, "memory and store agree"
    assert len({entry.seq for entry in kept}) == len(kept)
    assert asyncio.run(again.say("And now?")).error is None
    assert not again.wires.history(again.agent).open_calls()
    again.close()


def test_redis_that_goes_away_in_mid_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    place = place_of("redis", tmp_path, server, monkeypatch)
    try:
        opened = session(place)
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
        assert asyncio.run(opened.say("Three")).error == "store", "and it says so again"
        server.start()
        assert asyncio.run(opened.say("Four")).error is None, "the same session goes on"
        opened.close()
        entries = read(place.store(), "s").entries
        assert [e.seq for e in entries] == sorted({e.seq for e in entries})
        assert any(isinstance(e.event, TurnFailed) and e.event.error == "interrupted" for e in entries)
        asked = [e.event.message.text for e in entries if isinstance(e.event, MessageAdded) and e.event.message.role == "user"]
        assert asked == ["One", "Two", "Four"]
    finally:
        server.stop()


def test_a_process_killed_while_redis_was_away_leaves_a_turn_that_is_closed(
    tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of("redis", tmp_path, redis_server, monkeypatch)
    opened = session(place, "killed")
    assert opened.log is not None
    failing = Failing(opened.log, 4)
    opened.journal.lines = failing
    asyncio.run(opened.say("One"))
    failing._every = 1
    asyncio.run(opened.say("Two"))
    opened.log.close()
    again = session(place, "killed")
    assert asyncio.run(again.say("Three")).error is None
    again.close()
    healed = [e.event for e in read(place.store(), "killed").entries if isinstance(e.event, SessionHealed)]
    assert all(event.what == "open_turn" for event in healed)


def test_who_has_lost_the_lock_cannot_write(tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    place = place_of("redis", tmp_path, redis_server, monkeypatch)
    import redis

    log = place.store().open("lost")
    append(log, 1)
    redis.Redis.from_url(redis_server.url).delete("ctxeng:lock:lost")
    other = place.store().open("lost")
    with pytest.raises(SessionError, match="no longer locked by this process"):
        append(log, 2)
    append(other, 2)
    log.close()
    append(other, 3)
    other.close()
    assert [entry.seq for entry in read(place.store(), "lost").entries] == [1, 2, 3]


LIMITED = """
import asyncio, resource, signal, sys
from pathlib import Path
from ctxeng_cli.session import open_session, store_for
from ctxeng_cli.spec import load
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
folder = Path(sys.argv[2])
session = open_session(load(folder / "agents.yaml"), "a", store=store_for(sys.argv[1], folder, folder), id="s", environ={})
resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))
for number in range(60):
    outcome = asyncio.run(session.say("word " * 400))
    if outcome.error:
        print(outcome.error, outcome.text, flush=True)
        break
"""


@pytest.mark.parametrize("kind", ["file", "sqlite"])
def test_a_file_that_may_not_grow_is_a_full_disk(
    kind: str, tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(kind, tmp_path, redis_server, monkeypatch)
    session(place).close()
    command = [sys.executable, "-c", LIMITED, place.text, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.startswith(("store ", "error ", "session ")), ended.stdout + ended.stderr
    again = session(place)
    assert asyncio.run(again.say("And now?")).error is None
    again.close()
    kept = read(place.store(), "s")
    assert not kept.unreadable
    assert not kept.torn


def test_stores_that_cannot_be_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    (tmp_path / "no.db").write_text("this is no database, and long enough to be told apart from an empty one" * 20)
    wrong = {
        "sqlite:no.db": "can't open the store sqlite:.*no.db: file is not a database",
        "redis://:secret@127.0.0.1:1/0": r"the store redis://127.0.0.1:1/0 can't be reached. Start Redis there",
        "python:tests.session.own_store:broken": "object has no lines, append, ids, delete",
        "python:tests.session.own_store:failing": "RuntimeError: no network",
        "python:tests.session.own_store:stroe": 'has no function stroe. Did you mean "store"',
        "python:no_such_module:store": "there is no module no_such_module",
    }
    for text, told in wrong.items():
        with pytest.raises(SessionError, match=told) as caught:
            store_for(text, tmp_path, tmp_path).open("s")
        assert "secret" not in str(caught.value)


def test_the_database_is_readable_to_its_owner_alone(tmp_path: Path) -> None:
    log = store_for("sqlite:deep/er/logs.db", tmp_path, tmp_path).open("s")
    append(log, 1)
    log.close()
    assert (tmp_path / "deep/er/logs.db").stat().st_mode & 0o777 == 0o600
