"""Logs in one SQLite file: a row for each line. `sqlite:PATH`, from the spec's folder.

A line is a transaction: after a crash it is there or it is not. It goes into SQLite's write-ahead log, and reaches the disk
itself with `sync`, at the end of a turn, as in a file: one that waits for the disk takes 8 ms, this one 0.05. While a
session is open, or after its process was killed, `PATH-wal` belongs to the database. Writers of one session are kept
apart by a lock file in `PATH.locks`, whose lock dies with its process (a row would have to be told from a dead one's).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

from ctxeng_cli.core.errors import SessionError
from ctxeng_cli.session.stores.file import keep_file
from ctxeng_cli.session.stores.lock import FileLock
from ctxeng_cli.session.stores.store import Loaded, checked_id, parse_log

_SCHEMA = """
begin immediate;
create table if not exists lines (session text not null, number integer not null, line text not null,
                                  primary key (session, number)) without rowid;
create table if not exists sessions (id text primary key, written integer not null) without rowid;
commit;
"""
_BUSY_MS = 10_000
"""How long a write waits for those of other sessions."""


class SqliteLog:
    def __init__(self, store: SqliteStore, id: str, lock: FileLock, loaded: Loaded, number: int) -> None:
        self._store, self._id, self._lock, self.loaded, self._number = store, id, lock, loaded, number
        self._connection = store.connect()
        self.place = store.place(id)

    def append(self, line: str) -> None:
        try:
            with self._connection:
                self._connection.execute("insert into lines values (?, ?, ?)", (self._id, self._number + 1, line))
                self._connection.execute(
                    "insert into sessions values (?, (select coalesce(max(written), 0) + 1 from sessions)) "
                    "on conflict (id) do update set written = excluded.written",
                    (self._id,),
                )
        except sqlite3.IntegrityError:  # the primary key is the fence, should somebody remove the lock file
            raise SessionError(f"session {self._id} was written by another process, so nothing was written") from None
        except sqlite3.Error as error:
            raise SessionError(f"can't write {self._store.path}: {error}") from None
        self._number += 1

    def sync(self) -> None:
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("pragma wal_checkpoint(passive)")

    def close(self, *, discard: bool = False) -> None:
        if not self._lock.held:
            return
        try:
            if discard:
                with self._connection:
                    for statement in ("delete from lines where session = ?", "delete from sessions where id = ?"):
                        self._connection.execute(statement, (self._id,))
        except sqlite3.Error as error:
            raise SessionError(f"can't write {self._store.path}: {error}") from None
        finally:
            self._connection.close()
            self._lock.release()


class SqliteStore:
    """All sessions in one database file, readable to its owner alone."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def place(self, id: str) -> str:
        return f"sqlite:{self.path}"

    def connect(self) -> sqlite3.Connection:
        """A connection that writes. Raises SessionError where the file can't be opened, or is no database."""
        try:
            if not self.path.exists():
                self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            connection = sqlite3.connect(self.path, timeout=_BUSY_MS / 1000, check_same_thread=False)
            try:
                with contextlib.suppress(sqlite3.OperationalError):  # somebody else is just doing so, or the drive can't
                    connection.execute("pragma journal_mode = wal")
                connection.execute("pragma synchronous = normal")
                connection.executescript(_SCHEMA)
            except BaseException:
                connection.close()
                raise
        except (sqlite3.Error, OSError) as error:
            raise SessionError(f"can't open the store sqlite:{self.path}: {error}") from None
        return connection

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection | None]:
        """A connection, or None where no session is yet: a look makes no file and no table."""
        try:
            if not self.path.exists():
                yield None
                return
            with contextlib.closing(sqlite3.connect(self.path, timeout=_BUSY_MS / 1000)) as connection:
                made = connection.execute("select count(*) = 2 from sqlite_master where name in ('lines', 'sessions')")
                yield connection if made.fetchone()[0] else None
        except (sqlite3.Error, OSError) as error:
            raise SessionError(f"can't read the store sqlite:{self.path}: {error}") from None

    def ids(self) -> list[str]:
        with self._reading() as connection:
            rows = connection.execute("select id from sessions order by written desc") if connection else ()
            return [id for (id,) in rows]

    def data(self, id: str) -> bytes | None:
        with self._reading() as connection:
            query = "select line from lines where session = ? order by number"
            lines = [line for (line,) in connection.execute(query, (id,))] if connection else []
        return "".join(line + "\n" for line in lines).encode("utf-8") if lines else None

    def head(self, id: str) -> bytes | None:
        with self._reading() as connection:
            query = "select line from lines where session = ? order by number limit 1"
            row = connection.execute(query, (id,)).fetchone() if connection else None
        return None if row is None else str(row[0]).encode("utf-8")

    def open(self, id: str, *, wait: bool = False, waiting: Callable[[str], None] = lambda holder: None) -> SqliteLog:
        lock = FileLock(self._beside(".locks"), checked_id(id), wait=wait, waiting=waiting)
        try:
            data = self.data(id) or b""
            return SqliteLog(self, id, lock, parse_log(data), data.count(b"\n"))
        except BaseException:
            lock.release()
            raise

    def _beside(self, suffix: str) -> Path:
        return self.path.with_name(self.path.name + suffix)

    def keep(self, id: str, handle: str, text: str) -> None:
        keep_file(self._beside(".offloaded") / checked_id(id), handle, text)

    def forget(self, id: str) -> None:
        shutil.rmtree(self._beside(".offloaded") / checked_id(id), ignore_errors=True)
