"""Logs behind an object of the person's own: the function of `python:module:function` answers it, and it has four methods.

    def lines(id: str) -> list[str] | None     a session's lines, oldest first; None where there is none
    def append(id: str, line: str) -> None     one more
    def ids() -> list[str]                     all sessions, the one written last first
    def delete(id: str) -> None

What it raises is told with its name. Writers on one machine are kept apart by lock files in the data directory.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ctxeng_cli.assembly import call_hook, hook_problem
from ctxeng_cli.core.errors import HookError, SessionError
from ctxeng_cli.session.stores.file import keep_file
from ctxeng_cli.session.stores.lock import FileLock
from ctxeng_cli.session.stores.store import Loaded, checked_id, parse_log

METHODS = ("lines", "append", "ids", "delete")
T = TypeVar("T")


class HookLog:
    def __init__(self, store: HookStore, id: str, lock: FileLock, loaded: Loaded) -> None:
        self._store, self._id, self._lock, self.loaded = store, id, lock, loaded
        self.place = store.place(id)

    def append(self, line: str) -> None:
        self._store.ask("append", lambda: self._store.inner.append(self._id, line))

    def sync(self) -> None:
        """The object's own business."""

    def close(self, *, discard: bool = False) -> None:
        if not self._lock.held:
            return
        try:
            if discard:
                self._store.ask("delete", lambda: self._store.inner.delete(self._id))
        finally:
            self._lock.release()


class HookStore:
    """All sessions behind an object. Raises SessionError where that has not the methods."""

    def __init__(self, name: str, inner: Any, data: Path) -> None:
        self.inner, self.name, self._folder = inner, name, data / "stores" / name.replace(":", ".")
        missing = [method for method in METHODS if not callable(getattr(inner, method, None))]
        if missing:
            what = type(inner).__name__
            raise SessionError(f"store {name}: {what} has no {', '.join(missing)}; a store has {', '.join(METHODS)}")

    @classmethod
    def made_by(cls, function: Callable[..., Any], name: str, folder: Path, data: Path) -> HookStore:
        """The store that a function answers. Raises SessionError."""
        wrong = hook_problem("memory.store", function)
        if wrong:
            raise SessionError(f"memory.store: {name}: {wrong}")
        try:
            return cls(name, call_hook("memory.store", name, function, {"folder": folder, "data": data}), data)
        except HookError as error:
            raise SessionError(error.message) from error

    def ask(self, what: str, act: Callable[[], T]) -> T:
        try:
            return act()
        except Exception as error:
            raise SessionError(f"store {self.name}: {what} failed: {type(error).__name__}: {error}") from error

    def place(self, id: str) -> str:
        return f"python:{self.name}"

    def ids(self) -> list[str]:
        return self.ask("ids", lambda: [str(id) for id in self.inner.ids()])

    def data(self, id: str) -> bytes | None:
        lines = self.ask("lines", lambda: self.inner.lines(id))
        return "".join(f"{line}\n" for line in lines).encode("utf-8") if lines else None

    def head(self, id: str) -> bytes | None:
        data = self.data(id)
        return None if data is None else data.partition(b"\n")[0]

    def open(self, id: str, *, wait: bool = False, waiting: Callable[[str], None] = lambda holder: None) -> HookLog:
        lock = FileLock(self._folder / "locks", checked_id(id), wait=wait, waiting=waiting)
        try:
            return HookLog(self, id, lock, parse_log(self.data(id) or b""))
        except BaseException:
            lock.release()
            raise

    def keep(self, id: str, handle: str, text: str) -> None:
        keep_file(self._folder / "offloaded" / checked_id(id), handle, text)

    def forget(self, id: str) -> None:
        shutil.rmtree(self._folder / "offloaded" / checked_id(id), ignore_errors=True)
