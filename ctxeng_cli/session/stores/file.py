"""Logs as files: one JSON-lines transcript for each session in the data directory.

The folder is made 0700, logs 0600. The log itself is locked. A line is one write; a torn last line is cut off when the
log is next opened for writing, and reported.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from ctxeng_cli.core.errors import InputError, SessionError
from ctxeng_cli.session.stores.lock import acquire, is_at, sign
from ctxeng_cli.session.stores.store import Loaded, checked_id, is_id, parse_log


class FileLog:
    """An open, locked file. `append` writes one line; `close` lets go of the lock."""

    def __init__(self, path: Path, descriptor: int, loaded: Loaded) -> None:
        self.path, self.loaded, self._descriptor = path, loaded, descriptor
        self.place = str(path)
        self._size = os.fstat(descriptor).st_size
        self._torn = False

    def append(self, line: str) -> None:
        """Write a line and its newline. Raises SessionError; then the file is as it was."""
        data = line.encode("utf-8") + b"\n"
        try:
            if os.fstat(self._descriptor).st_nlink == 0:  # locked, and out of everybody's sight
                raise SessionError(f"{self.path} was deleted while the session was open, so nothing was written")
            if self._torn:
                self._mend()
            written = 0
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
        except OSError as error:
            self._torn = True
            with contextlib.suppress(OSError):  # else before the next line
                self._mend()
            raise SessionError(f"can't write {self.path}: {(error.strerror or str(error)).lower()}") from None
        self._size += len(data)

    def _mend(self) -> None:
        """Cut off what there is of a line that could not be written."""
        os.ftruncate(self._descriptor, self._size)
        self._torn = False

    def sync(self) -> None:
        with contextlib.suppress(OSError):
            os.fsync(self._descriptor)

    def close(self, *, discard: bool = False) -> None:
        """Unlock. `discard` removes the log: for a session in which nothing was said."""
        if self._descriptor < 0:
            return
        try:
            if is_at(self._descriptor, self.path):
                _note(self.path).unlink(missing_ok=True)
                if discard:
                    self.path.unlink(missing_ok=True)
        except OSError as error:
            raise SessionError(f"can't remove {self.path}: {(error.strerror or str(error)).lower()}") from None
        finally:
            os.close(self._descriptor)
            self._descriptor = -1


class FileStore:
    """All sessions of a person, in one folder of the data directory."""

    def __init__(self, data: Path) -> None:
        self.folder = data / "sessions"

    def path(self, id: str) -> Path:
        """Where a session's log lies. Raises UsageError for an id that could leave the folder."""
        return self.folder / f"{checked_id(id)}.jsonl"

    def place(self, id: str) -> str:
        return str(self.path(id))

    def data(self, id: str) -> bytes | None:
        path = self.path(id)
        return _bytes(path) if path.is_file() else None

    def head(self, id: str) -> bytes | None:
        try:
            with self.path(id).open("rb") as file:
                return file.readline()
        except OSError:
            return None

    def open(self, id: str, *, wait: bool = False, waiting: Callable[[str], None] = lambda holder: None) -> FileLog:
        """Open a log for writing, new or not, and heal it. Raises SessionError when another process has it."""
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
            acquire(descriptor, _note(path), id, wait, waiting)
            if not is_at(descriptor, path):
                raise SessionError(f"session {id} was deleted while it was being opened; try again")
            sign(_note(path))
            return FileLog(path, descriptor, _healed(path, descriptor))
        except BaseException:
            os.close(descriptor)
            raise

    def keep(self, id: str, handle: str, text: str) -> None:
        """Write a text that a session has offloaded into a file of its own, `ID.offloaded/HANDLE.txt`."""
        keep_file(self.path(id).with_suffix(".offloaded"), handle, text)

    def forget(self, id: str) -> None:
        shutil.rmtree(self.path(id).with_suffix(".offloaded"), ignore_errors=True)

    def ids(self) -> list[str]:
        if not self.folder.is_dir():
            return []
        found: list[tuple[int, str]] = []
        for path in self.folder.glob("*.jsonl"):
            with contextlib.suppress(OSError):  # deleted meanwhile
                if is_id(path.stem) and path.is_file() and not path.is_symlink():
                    found.append((path.stat().st_mtime_ns, path.stem))
        return [id for _, id in sorted(found, reverse=True)]


def keep_file(folder: Path, handle: str, text: str) -> None:
    """Write an offloaded text, readable to its owner alone. Raises SessionError."""
    path = folder / f"{handle}.txt"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
            file.write(text.encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise SessionError(f"can't write {path}: {(error.strerror or str(error)).lower()}") from None


def _healed(path: Path, descriptor: int) -> Loaded:
    """Read a log that is locked, and mend its end: half a line goes, a whole one gets its newline. Raises SessionError."""
    loaded = read_log(path)
    try:
        if loaded.torn:
            os.ftruncate(descriptor, os.fstat(descriptor).st_size - len(loaded.torn))
        elif loaded.open_end:
            os.write(descriptor, b"\n")
    except OSError as error:
        raise SessionError(f"can't mend {path}: {(error.strerror or str(error)).lower()}") from None
    return loaded


def read_log(path: Path) -> Loaded:
    """Read a log to its end, across what can't be read. Raises InputError when the file itself can't be opened."""
    return parse_log(_bytes(path))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"can't read {path}: {(error.strerror or str(error)).lower()}") from None


def _note(path: Path) -> Path:
    return path.with_suffix(".lock")
