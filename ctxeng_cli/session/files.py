"""Logs as files: one JSON-lines transcript for each session in the data directory.

The folder is made 0700, logs 0600. One writer for each session: the log itself is locked (flock, so a dead process
holds nothing), and a note beside it says who. A line is one write; a torn last line is cut off when the log is next
opened for writing, and reported.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ctxeng_cli.core.codec import NotAnEvent, loads
from ctxeng_cli.core.errors import InputError, SessionError, UsageError, nearest
from ctxeng_cli.core.events import Entry, MessageAdded, SessionOpened

_ID = re.compile(r"[^\W_][\w.-]{0,99}")
_POLL_S = 0.05


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """What a list of sessions shows."""

    id: str
    agent: str
    opened: str
    changed: str
    turns: int
    messages: int
    bytes: int
    path: str
    file: str
    first: str
    """The beginning of the first user message."""


@dataclass(slots=True)
class Loaded:
    """A log as read: its entries, and what could not be read."""

    entries: list[Entry]
    torn: bytes = b""
    """The last line, where it is half."""
    unreadable: int = 0
    """Bytes of lines in the middle that are no events."""
    open_end: bool = False
    """The last line is whole and lacks its newline."""


class Log:
    """An open, locked log. `append` writes one line; `close` lets go of the lock."""

    def __init__(self, path: Path, descriptor: int, loaded: Loaded) -> None:
        self.path, self.loaded, self._descriptor = path, loaded, descriptor
        self._size = os.fstat(descriptor).st_size

    def append(self, line: str) -> None:
        """Write a line and its newline. Raises SessionError; then the file is as it was."""
        data = line.encode("utf-8") + b"\n"
        try:
            written = 0
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._descriptor, self._size)
            raise SessionError(f"can't write {self.path}: {(error.strerror or str(error)).lower()}") from None
        self._size += len(data)

    def sync(self) -> None:
        """Make sure that what was written survives a power cut."""
        with contextlib.suppress(OSError):
            os.fsync(self._descriptor)

    def close(self, *, discard: bool = False) -> None:
        """Unlock. `discard` removes the log: for a session in which nothing was said."""
        if self._descriptor < 0:
            return
        _note(self.path).unlink(missing_ok=True)
        if discard:
            self.path.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1


class FileStore:
    """All sessions of a person, in one folder."""

    def __init__(self, data: Path) -> None:
        self.folder = data / "sessions"

    def path(self, id: str) -> Path:
        """Where a session's log lies. Raises UsageError for an id that could leave the folder."""
        if not _ID.fullmatch(id) or ".." in id:
            raise UsageError(
                f'"{id}" can\'t be a session id: use letters, digits, ".", "_" and "-", and begin with a letter or digit'
            )
        return self.folder / f"{id}.jsonl"

    def exists(self, id: str) -> bool:
        return self.path(id).exists()

    def read(self, id: str) -> Loaded:
        """A session's log, without a lock. Raises UsageError when there is none."""
        path = self.path(id)
        if not path.is_file():
            hint = nearest(id, self.ids())
            raise UsageError(f'there is no session "{id}".{hint or " `ctxeng sessions list` shows them."}')
        return read_log(path)

    def open(self, id: str, *, wait: bool = False, waiting: Callable[[str], None] = lambda holder: None) -> Log:
        """Open a log for writing, new or not, and heal it. Raises SessionError when another process has it.

        With `wait` it waits instead; `waiting` is told once who holds it.
        """
        path = self.path(id)
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            for folder in (self.folder.parent, self.folder):
                if folder.stat().st_uid == os.getuid():
                    folder.chmod(0o700)
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise SessionError(
                f"can't write sessions in {self.folder}: {why}. Mend that, or set CTXENG_DATA_DIR to another folder."
            ) from None
        try:
            self._lock(descriptor, path, id, wait, waiting)
            loaded = read_log(path)
            if loaded.torn:
                os.ftruncate(descriptor, os.fstat(descriptor).st_size - len(loaded.torn))
            elif loaded.open_end:
                os.write(descriptor, b"\n")
            if not path.exists() or path.stat().st_ino != os.fstat(descriptor).st_ino:
                raise SessionError(f"session {id} was deleted while it was being opened; try again")
        except BaseException:
            os.close(descriptor)
            raise
        return Log(path, descriptor, loaded)

    def _lock(self, descriptor: int, path: Path, id: str, wait: bool, waiting: Callable[[str], None]) -> None:
        told = False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                holder = _holder(path)
                if not wait:
                    raise SessionError(
                        f"session {id} is open in {holder}. Wait with --wait, or take another --session."
                    ) from None
                if not told:
                    waiting(f"session {id} is open in {holder}; waiting")
                    told = True
                threading.Event().wait(_POLL_S)
        since = datetime.datetime.now().astimezone().isoformat(timespec="seconds")  # noqa: TID251  # a note for people
        note = _note(path)
        with contextlib.suppress(OSError):
            note.unlink(missing_ok=True)
            handle = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "w") as file:
                json.dump({"pid": os.getpid(), "since": since}, file)

    def keep(self, id: str, handle: str, text: str) -> None:
        """Write a text that a session has offloaded into a file of its own, `ID.offloaded/HANDLE.txt`. Raises SessionError."""
        folder = self.path(id).with_suffix(".offloaded")
        path = folder / f"{handle}.txt"
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
                file.write(text.encode("utf-8", "surrogatepass"))
        except OSError as error:
            raise SessionError(f"can't write {path}: {(error.strerror or str(error)).lower()}") from None

    def ids(self) -> list[str]:
        """All sessions, the one written last first."""
        if not self.folder.is_dir():
            return []
        paths = [p for p in self.folder.glob("*.jsonl") if p.is_file() and not p.is_symlink()]
        return [p.stem for p in sorted(paths, key=lambda p: (p.stat().st_mtime_ns, p.name), reverse=True)]

    def latest(self, agent: str, file: str) -> str | None:
        """The session of an agent of this spec file that was written last, or None."""
        for id in self.ids():
            first = self.first(id)
            if first is None or not isinstance(first.event, SessionOpened) or first.agent != agent:
                continue
            if first.event.file in ("", file):
                return id
        return None

    def first(self, id: str) -> Entry | None:
        """The first entry of a log, without reading the rest."""
        with contextlib.suppress(OSError, NotAnEvent, ValueError), self.path(id).open("rb") as file:
            return loads(file.readline())
        return None

    def list(self) -> Iterator[SessionInfo]:
        """All sessions, newest first. Reads them whole."""
        for id in self.ids():
            with contextlib.suppress(OSError):
                yield self.info(id)

    def info(self, id: str) -> SessionInfo:
        path = self.path(id)
        entries = read_log(path).entries
        opened = next((e for e in entries if isinstance(e.event, SessionOpened)), None)
        added = [e.event.message for e in entries if isinstance(e.event, MessageAdded)]
        first = next((m.text for m in added if m.role == "user"), "")
        stat = path.stat()
        changed = entries[-1].at if entries else ""
        turns = max((e.turn for e in entries), default=0)
        agent = opened.agent if opened else ""
        file = opened.event.file if opened and isinstance(opened.event, SessionOpened) else ""
        return SessionInfo(
            id, agent, entries[0].at if entries else "", changed, turns, len(added), stat.st_size, str(path), file, first[:200]
        )

    def delete(self, id: str) -> None:
        """Remove a session. Raises UsageError when there is none, SessionError when somebody has it open."""
        self.read(id)
        log = self.open(id)
        shutil.rmtree(self.path(id).with_suffix(".offloaded"), ignore_errors=True)
        log.close(discard=True)


def read_log(path: Path) -> Loaded:
    """Read a log to its end, across what can't be read. Raises InputError when the file itself can't be opened."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"can't read {path}: {(error.strerror or str(error)).lower()}") from None
    return parse_log(data)


def parse_log(data: bytes) -> Loaded:
    """A log out of its bytes."""
    loaded = Loaded([])
    lines = data.split(b"\n")
    for number, line in enumerate(lines):
        if not line.strip():
            continue
        last = number == len(lines) - 1
        try:
            loaded.entries.append(loads(line.strip(b"\x00\r ")))
            loaded.open_end = last
        except (NotAnEvent, UnicodeDecodeError, RecursionError):
            if last:
                loaded.torn = line
            else:
                loaded.unreadable += len(line)
    return loaded


def _note(path: Path) -> Path:
    return path.with_suffix(".lock")


def _holder(path: Path) -> str:
    """Who holds the lock, in words."""
    try:
        note = json.loads(_note(path).read_text())
        return f"process {int(note['pid'])} since {str(note['since'])[11:16]}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"
