"""One writer for each session: a file that is locked (flock), and a note beside it that says who has it.

The kernel lets go of a lock when its process dies, however it dies: there is no stale one to recognise.
"""

from __future__ import annotations

import contextlib
import datetime
import fcntl
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path

from ctxeng_cli.core.errors import SessionError

POLL_S = 0.05
Waiting = Callable[[str], None]


def taken(id: str, holder: str) -> str:
    return f"session {id} is open in {holder}. Wait with --wait, or take another --session."


def now() -> str:
    return datetime.datetime.now().astimezone().isoformat(timespec="seconds")  # noqa: TID251  # a note for people


def acquire(descriptor: int, note: Path, id: str, wait: bool, waiting: Waiting) -> None:
    """Lock an open file. Raises SessionError where somebody else has it and one does not wait, or where no lock can be."""
    told = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            holder = _holder(note)
            if not wait:
                raise SessionError(taken(id, holder)) from None
            if not told:
                waiting(f"session {id} is open in {holder}; waiting")
                told = True
            threading.Event().wait(POLL_S)
        except OSError as error:  # some network drives know no locks
            raise SessionError(f"can't lock {note.parent}: {(error.strerror or str(error)).lower()}") from None


def is_at(descriptor: int, path: Path) -> bool:
    """Whether the open file is the one that lies at the path: who locks one that was removed meanwhile holds nothing."""
    try:
        there = path.stat()
    except OSError:
        return False
    here = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino)


def sign(note: Path) -> None:
    """Write down who has the lock, for the one who is refused."""
    with contextlib.suppress(OSError):
        note.unlink(missing_ok=True)
        handle = os.open(note, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(handle, "w") as file:
            json.dump({"pid": os.getpid(), "since": now()}, file)


def _holder(note: Path) -> str:
    """Who holds the lock, in words."""
    try:
        body = json.loads(note.read_text())
        return f"process {int(body['pid'])} since {str(body['since'])[11:16]}"
    except (OSError, ValueError, KeyError, TypeError):
        return "another process"


class FileLock:
    """A lock on a file of its own, for stores whose logs are no files. It is removed when the lock is let go of, so that the
    folder holds what is open and no more. `release` is safe to call twice."""

    def __init__(self, folder: Path, id: str, *, wait: bool, waiting: Waiting) -> None:
        self._path, self._note = folder / f"{id}.lock", folder / f"{id}.who"
        while not self._taken(id, wait, waiting):
            pass
        sign(self._note)

    def _taken(self, id: str, wait: bool, waiting: Waiting) -> bool:
        """Lock the file; False where whoever had it has removed it in the same moment."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SessionError(f"can't lock sessions in {self._path.parent}: {(error.strerror or str(error)).lower()}") from None
        try:
            acquire(self._descriptor, self._note, id, wait, waiting)
            if is_at(self._descriptor, self._path):
                return True
        except BaseException:
            os.close(self._descriptor)
            raise
        os.close(self._descriptor)
        return False

    @property
    def held(self) -> bool:
        return self._descriptor >= 0

    def release(self) -> None:
        if self.held:
            if is_at(self._descriptor, self._path):
                self._note.unlink(missing_ok=True)
                self._path.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1
