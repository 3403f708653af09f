"""Logs in the memory of this process: gone when it ends. For tests, and for what must leave no trace."""

from __future__ import annotations

from collections.abc import Callable

from ctxeng_cli.core.errors import SessionError
from ctxeng_cli.session.stores.lock import taken
from ctxeng_cli.session.stores.store import Loaded, checked_id, parse_log


class MemoryLog:
    place = "memory"

    def __init__(self, store: MemoryStore, id: str, loaded: Loaded) -> None:
        self._store, self._id, self.loaded = store, id, loaded

    def append(self, line: str) -> None:
        if self._id not in self._store.open_ids:
            raise SessionError(f"session {self._id} is closed")
        lines = self._store.logs.pop(self._id, [])
        lines.append(line)
        self._store.logs[self._id] = lines

    def sync(self) -> None:
        """There is nothing that would survive."""

    def close(self, *, discard: bool = False) -> None:
        self._store.open_ids.discard(self._id)
        if discard:
            self._store.logs.pop(self._id, None)


class MemoryStore:
    """All sessions of one process. What was written last stands last in `logs`."""

    def __init__(self) -> None:
        self.logs: dict[str, list[str]] = {}
        self.open_ids: set[str] = set()

    def place(self, id: str) -> str:
        return "memory"

    def ids(self) -> list[str]:
        return list(reversed(self.logs))

    def data(self, id: str) -> bytes | None:
        lines = self.logs.get(id)
        return None if lines is None else "".join(line + "\n" for line in lines).encode("utf-8")

    def head(self, id: str) -> bytes | None:
        lines = self.logs.get(id)
        return lines[0].encode("utf-8") if lines else None

    def open(self, id: str, *, wait: bool = False, waiting: Callable[[str], None] = lambda holder: None) -> MemoryLog:
        """Raises SessionError for a session that is open: whoever has it is in this process, so waiting would never end."""
        if checked_id(id) in self.open_ids:
            raise SessionError(taken(id, "this process"))
        self.open_ids.add(id)
        return MemoryLog(self, id, parse_log(self.data(id) or b""))

    def keep(self, id: str, handle: str, text: str) -> None:
        """The log holds the text; a file would outlive it."""

    def forget(self, id: str) -> None:
        """Nothing is kept beside a log."""


PROCESS = MemoryStore()
"""The one of this process."""
