"""Logs as files: modes, locks, healing, and what can't be a session."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ctxeng_cli.core.codec import dumps
from ctxeng_cli.core.errors import SessionError, UsageError
from ctxeng_cli.core.events import Entry, TurnCancelled
from ctxeng_cli.session import open_session
from ctxeng_cli.session.stores import FileStore, listed, read_log
from ctxeng_cli.spec import load
from tests.commands import ROOT

HOLDER = """
import sys
from pathlib import Path
from ctxeng_cli.session.stores import FileStore

log = FileStore(Path(sys.argv[1])).open("s")
print("held", flush=True)
sys.stdin.read()
"""


def line(seq: int) -> str:
    return dumps(Entry(seq, "2026-12-01T09:00:00+00:00", 1, "a", TurnCancelled()))


def test_the_folder_is_0700_and_a_log_0600_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        log = FileStore(tmp_path / "data").open("s")
    finally:
        os.umask(before)
    log.append(line(1))
    log.close()
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "data" / "sessions").stat().st_mode) == 0o700
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


@pytest.mark.parametrize("id", ["", "../x", "a/b", ".hidden", "-x", "a\x00b", "a..b", "x" * 200, "a b"])
def test_an_id_that_could_leave_the_folder_is_refused(tmp_path: Path, id: str) -> None:
    with pytest.raises(UsageError, match="can't be a session id"):
        FileStore(tmp_path).path(id)


def test_a_chinese_id_is_fine(tmp_path: Path) -> None:
    assert FileStore(tmp_path).path("天气-1").name == "天气-1.jsonl"


def test_a_second_writer_is_told_who_has_the_session(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(SessionError, match=rf"session s is open in process {holder.pid} since \d\d:\d\d. Wait with --wait"):
            FileStore(tmp_path).open("s")
        holder.kill()
        holder.wait()
        FileStore(tmp_path).open("s").close()


def test_wait_waits_and_says_for_whom(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdin is not None
        holder.stdout.readline()
        told: list[str] = []

        def waiting(text: str) -> None:
            told.append(text)
            assert holder.stdin is not None
            holder.stdin.close()

        FileStore(tmp_path).open("s", wait=True, waiting=waiting).close()
        assert told == [f"session s is open in process {holder.pid} since {told[0].split('since ')[1][:5]}; waiting"]


def test_a_torn_last_line_is_cut_off_and_a_whole_one_without_newline_is_kept(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    log = store.open("s")
    log.append(line(1))
    log.close()
    whole = log.path.read_bytes()
    log.path.write_bytes(whole + line(2).encode())
    again = store.open("s")
    assert [e.seq for e in again.loaded.entries] == [1, 2]
    again.append(line(3))
    again.close()
    assert [e.seq for e in read_log(log.path).entries] == [1, 2, 3]
    log.path.write_bytes(whole + line(2).encode()[:20])
    third = store.open("s")
    third.close()
    assert third.loaded.torn == line(2).encode()[:20]
    assert log.path.read_bytes() == whole


def test_what_is_unreadable_in_the_middle_is_read_across_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(line(1).encode() + b"\n" + b"\x00" * 50 + b"\n" + b"not json\n" + b"\x00\x00" + line(2).encode() + b"\n")
    loaded = read_log(path)
    assert [e.seq for e in loaded.entries] == [1, 2]
    assert loaded.unreadable == 58


def test_a_symbolic_link_in_the_place_of_a_log_is_not_followed(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "data")
    store.open("other").close()
    target = tmp_path / "precious"
    target.write_text("mine")
    (store.folder / "s.jsonl").symlink_to(target)
    with pytest.raises(SessionError, match="can't write sessions"):
        store.open("s")
    assert target.read_text() == "mine"


def test_a_data_folder_that_is_no_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file")
    with pytest.raises(SessionError, match=r"can't write sessions in .*Mend that, or set CTXENG_DATA_DIR"):
        FileStore(tmp_path / "data").open("s")


def test_a_log_that_was_deleted_while_it_was_open_takes_no_line(tmp_path: Path) -> None:
    """It would be written where nobody can read it, beside a second writer of the same session."""
    store = FileStore(tmp_path)
    log = store.open("s")
    log.append(line(1))
    log.path.unlink()
    other = store.open("s")
    with pytest.raises(SessionError, match=r"s.jsonl was deleted while the session was open"):
        log.append(line(2))
    log.close(discard=True)
    other.append(line(3))
    assert log.path.with_suffix(".lock").exists(), "the other one's note"
    other.close()
    assert [e.seq for e in read_log(log.path).entries] == [3]


def test_what_is_no_session_in_the_folder_is_left_alone(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    log = store.open("s")
    log.append(line(1))
    log.close()
    for name in ("a b.jsonl", ".hidden.jsonl", "notes.txt"):
        (store.folder / name).touch()
    (store.folder / "link.jsonl").symlink_to(log.path)
    assert store.ids() == ["s"]
    assert [info.id for info in listed(store)] == ["s"]


def test_a_log_of_which_nothing_can_be_read_is_not_thrown_away(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    store.open("s").close()
    store.path("s").write_bytes(b"of a tool that nobody knows\n")
    open_session(load(ROOT / "agents.yaml"), "guide", store=store, id="s", environ={}).close()
    assert store.path("s").read_bytes().startswith(b"of a tool that nobody knows\n")


def test_a_full_disk_loses_no_earlier_line(tmp_path: Path) -> None:
    log = FileStore(tmp_path).open("s")
    log.append(line(1))
    os.close(log._descriptor)
    log._descriptor = os.open("/dev/full", os.O_WRONLY)
    with pytest.raises(SessionError, match="no space left"):
        log.append(line(2))
    assert [e.seq for e in read_log(log.path).entries] == [1]
