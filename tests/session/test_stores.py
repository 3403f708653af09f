"""One suite for all stores: what is written is read back, one writer at a time, and a failure loses nothing."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sqlite3
import subprocess
import threading
from collections import Counter as Tally
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from ctxeng_cli.core.codec import dumps, loads
from ctxeng_cli.core.errors import SessionError, UsageError
from ctxeng_cli.core.events import MessageAdded
from ctxeng_cli.session import open_session
from ctxeng_cli.session.stores import delete, first, latest, listed, read, store_for
from ctxeng_cli.spec import load
from tests.commands import CTXENG, ROOT, ctxeng, environment
from tests.session.places import Failing, Place, append, line, place_of
from tests.session.redis_server import RedisServer

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
    assert {info.id: info.messages for info in listed(store)} == {"one": 2, "two": 1, "three": 1}
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


def test_a_writer_that_is_killed_leaves_whole_lines(shared: Place) -> None:
    with shared.child("endless") as writer:
        while len(shared.store().data("s") or b"") < 20_000:
            threading.Event().wait(0.01)
        writer.kill()
    log = shared.store().open("s")
    seqs = [entry.seq for entry in log.loaded.entries]
    assert (seqs, log.loaded.unreadable) == (list(range(1, len(seqs) + 1)), 0)
    append(log, len(seqs) + 1)
    log.close()
    assert len(read(shared.store(), "s").entries) == len(seqs) + 1


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


@pytest.mark.parametrize("every", [2, 3, 5, 7])
def test_whatever_write_fails_the_turn_says_so_and_the_session_is_whole(place: Place, every: int) -> None:
    opened = place.session()
    assert opened.log is not None
    opened.journal.lines = Failing(opened.log, every)
    outcomes = [asyncio.run(opened.say(f"Question {n}")) for n in range(6)]
    assert any(outcome.error is not None for outcome in outcomes)
    assert all("no space left" in outcome.text for outcome in outcomes if outcome.error is not None)
    shown = list(opened.journal.state.history("a").messages)
    opened.close()
    again = place.session()
    kept = read(place.store(), "s").entries
    assert [e.event.message.id for e in kept if isinstance(e.event, MessageAdded)] == shown, "memory and store agree"
    assert len({entry.seq for entry in kept}) == len(kept)
    assert asyncio.run(again.say("And now?")).error is None
    assert not again.wires.history(again.agent).open_calls()
    again.close()


@contextmanager
def full(place: Place, redis_server: RedisServer) -> Iterator[tuple[list[str], dict[str, str]]]:
    """No room is left for much more: what to put before a command, and into its environment."""
    before: list[str] = []
    env: dict[str, str] = {}
    if place.kind in ("file", "sqlite"):
        kilobytes = 40 if place.kind == "sqlite" else (place.folder / "sessions/s.jsonl").stat().st_size // 1024 + 2
        before = ["bash", "-c", f'ulimit -f {kilobytes}; exec "$0" "$@"']
    elif place.kind == "python":
        env["OWN_STORE_FULL"] = "yes"
    else:
        redis_server.ask("CONFIG SET maxmemory 1")
    try:
        yield before, env
    finally:
        if place.kind == "redis":
            redis_server.ask("CONFIG SET maxmemory 0")


WORDS = {
    "file": "can't write .*s.jsonl: file too large",
    "sqlite": "can't write .*logs.db: ",
    "redis": "the store redis://127.0.0.1:.* answered: .*memory",  # it takes not even a lock
    "python": "store tests.session.own_store:store: append failed: OSError: .* full",
}


def test_a_full_store_ends_the_turn_with_a_sentence_and_the_session_goes_on_when_there_is_room(
    shared: Place, redis_server: RedisServer
) -> None:
    """Through the command, in a process whose files may not grow: partial lines and transactions are taken back."""
    shared.spec()
    env = {"CTXENG_DATA_DIR": str(shared.folder), "OWN_STORE": os.environ["OWN_STORE"]}

    def chat(*before: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [*before, *CTXENG, "chat", "a", "--session", "s", "-m", "word " * 2000]
        surroundings = environment(shared.folder / "home", {**env, **more})
        return subprocess.run(command, cwd=shared.folder, env=surroundings, capture_output=True, text=True, timeout=60)

    assert chat().returncode == 0
    with full(shared, redis_server) as (before, more):
        ended = chat(*before, **more)
    assert (ended.returncode, ended.stdout) == (1, ""), ended.stderr
    assert re.search(rf"ctxeng: (the turn failed \(store\): )?{WORDS[shared.kind]}", ended.stderr), ended.stderr
    assert "Traceback" not in ended.stderr
    left = read(shared.store(), "s")
    assert not left.torn
    assert not left.unreadable
    again = chat()
    assert (again.returncode, again.stdout) == (0, "Well.\n"), again.stderr
    asked = [e.event.message.role for e in read(shared.store(), "s").entries if isinstance(e.event, MessageAdded)]
    assert asked.count("assistant") == 2


def test_a_new_session_whose_first_line_cannot_be_written_is_none(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    store = place.store()
    opens = store.open

    class Full:
        """The store, on a disk that takes no line."""

        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        def open(self, *args: object, **options: object) -> Failing:
            return Failing(opens(*args, **options), 1)  # type: ignore[arg-type]  # handed on as they come

    with pytest.raises(SessionError, match="no space left"):
        open_session(load(place.spec()), "a", store=Full(), id="s", environ={})  # type: ignore[arg-type]  # by its methods
    assert place.store().ids() == []


def test_the_store_of_the_spec_is_the_one_that_a_program_gets(place: Place) -> None:
    environ = {"CTXENG_DATA_DIR": str(place.folder)}
    opened = open_session(load(place.spec()), "a", environ=environ)
    assert asyncio.run(opened.say("Hi")).text == "Well."
    assert opened.lasts == (place.kind != "memory")
    assert opened.recorded()
    opened.close()
    assert place.store().ids() == [opened.id]
    assert not (place.folder / "sessions").exists() or place.kind == "file"


def test_stores_that_cannot_be_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    (tmp_path / "no.db").write_text("this is no database, and long enough to be told apart from an empty one" * 20)
    wrong = {
        "sqlite:no.db": "can't read the store sqlite:.*no.db: file is not a database",
        "redis://:secret@127.0.0.1:1/0": r"the store redis://127.0.0.1:1/0 can't be reached. Start Redis there",
        "redis://127.0.0.1:1?password=secret": r"the store redis://127.0.0.1:1/0 can't be reached",
        "redis://:sec/secret@127.0.0.1:1/0": "this is no address of a Redis store. Write redis://host:port/db; in a password /",
        "redis://:secret@127.0.0.1:1/zero": "the database of a Redis store is a number",
        "redis://:secret@127.0.0.1:1/0?colour=red": r"the store redis://127.0.0.1:1/0 can't be set up: .*colour",
        "rediss:": "this is no address of a Redis store",
        "python:tests.session.own_store:broken": "object has no lines, append, ids, delete",
        "python:tests.session.own_store:failing": "RuntimeError: no network",
        "python:tests.session.own_store:wanting": 'memory.store: .*: it asks for "database". Did you mean "data"',
        "python:tests.session.own_store:stroe": 'has no function stroe. Did you mean "store"',
        "python:no_such_module:store": "there is no module no_such_module",
        "sqlite:": "Write sqlite:PATH",
        "flie": 'Did you mean "file"',
    }
    for text, told in wrong.items():
        with pytest.raises(SessionError, match=told) as caught:
            store_for(text, tmp_path, tmp_path).open("s")
        assert "secret" not in str(caught.value)


def test_a_store_of_ones_own_is_told_the_folders_that_it_asks_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT))
    log = store_for("python:tests.session.own_store:asking", tmp_path, tmp_path).open("s")
    append(log, 1)
    log.close()
    assert (tmp_path / "mine/s").is_file()


def test_the_store_that_the_documentation_shows_is_one(tmp_path: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/stores.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    (tmp_path / "my_store.py").write_text(program)
    (tmp_path / "agents.yaml").write_text(
        "version: 1\nagents: {a: {model: offline, memory: {store: 'python:my_store:archive'}}}\n"
    )

    def run(*args: str) -> str:
        ran = ctxeng(*args, cwd=tmp_path, home=tmp_path / "home")
        assert ran.exit == 0, ran.err
        return ran.out

    run("chat", "a", "--session", "s", "-m", "My dog is Waldi.")
    assert "Waldi" in run("chat", "a", "-c", "-m", "What is my dog called?")
    (row,) = json.loads(run("sessions", "list", "--json"))["sessions"]
    assert (row["id"], row["path"], row["turns"]) == ("s", "python:my_store:archive", 2)
    run("sessions", "delete", "s")
    assert json.loads(run("sessions", "list", "--json"))["sessions"] == []


def test_the_database_is_readable_to_its_owner_alone(tmp_path: Path) -> None:
    log = store_for("sqlite:deep/er/logs.db", tmp_path, tmp_path).open("s")
    append(log, 1)
    log.close()
    assert (tmp_path / "deep/er/logs.db").stat().st_mode & 0o777 == 0o600


def test_a_look_into_a_database_of_somebody_else_makes_no_table(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "theirs.db")) as theirs:
        theirs.execute("create table people (name text)")
    store = store_for("sqlite:theirs.db", tmp_path, tmp_path)
    assert (store.ids(), store.data("s"), store.head("s")) == ([], None, None)
    assert store_for("sqlite:none.db", tmp_path, tmp_path).ids() == []
    with closing(sqlite3.connect(tmp_path / "theirs.db")) as theirs:
        assert theirs.execute("select name from sqlite_master").fetchall() == [("people",)]
    assert [path.name for path in tmp_path.iterdir()] == ["theirs.db"]


def test_two_sessions_are_written_at_once(shared: Place) -> None:
    def write(id: str) -> None:
        log = shared.store().open(id)
        append(log, *range(1, 201))
        log.close()

    threads = [threading.Thread(target=write, args=(id,)) for id in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for id in ("one", "two"):
        assert [entry.seq for entry in read(shared.store(), id).entries] == list(range(1, 201))


@pytest.mark.parametrize("kind", ["sqlite", "python"])
def test_a_lock_leaves_no_file_behind(
    kind: str, tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = place_of(kind, tmp_path, redis_server, monkeypatch)
    log = place.store().open("s")
    assert list(tmp_path.rglob("s.lock"))
    log.close()
    assert not list(tmp_path.rglob("s.*"))
