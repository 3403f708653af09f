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
    """Lock an open file and write the note. Raises SessionError where somebody else has it and one does not wait."""
    told = False
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except OSError:
            holder = _holder(note)
            if not wait:
                raise SessionError(taken(id, holder)) from None
            if not told:
                waiting(f"session {id} is open in {holder}; waiting")
                told = True
            threading.Event().wait(POLL_S)
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
    """A lock on a file of its own, for stores whose logs are no files. `release` is safe to call twice."""

    def __init__(self, folder: Path, id: str, *, wait: bool, waiting: Waiting) -> None:
        self._path = folder / f"{id}.lock"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise SessionError(f"can't lock sessions in {folder}: {(error.strerror or str(error)).lower()}") from None
        try:
            acquire(self._descriptor, self._path.with_suffix(".who"), id, wait, waiting)
        except BaseException:
            os.close(self._descriptor)
            raise

    def release(self) -> None:
        if self._descriptor >= 0:
            self._path.with_suffix(".who").unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = -1
