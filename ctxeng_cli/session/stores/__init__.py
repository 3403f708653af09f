"""Where the logs of sessions are kept: files, this process's memory, SQLite, Redis, or an object of one's own.

One small protocol (`store.Store`), one writer for each session at a time, one module for each kind. What else there is to
say of sessions (a list, the latest one) is told from the protocol, the same way for all.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ctxeng_cli.core.errors import CtxengError, SessionError
from ctxeng_cli.session.stores.file import FileLog, FileStore, read_log
from ctxeng_cli.session.stores.store import Loaded, Log, SessionInfo, Store, delete, first, latest, listed, parse_log, read
from ctxeng_cli.spec.keys import store_problem


def _memory(rest: str, folder: Path, data: Path) -> Store:
    from ctxeng_cli.session.stores.memory import PROCESS

    return PROCESS


def _sqlite(rest: str, folder: Path, data: Path) -> Store:
    from ctxeng_cli.session.stores.sqlite import SqliteStore

    return SqliteStore(folder / Path(rest).expanduser())


def _redis(rest: str, folder: Path, data: Path) -> Store:
    from ctxeng_cli.session.stores.redis import RedisStore

    return RedisStore(rest, data)


def _hook(rest: str, folder: Path, data: Path) -> Store:
    from ctxeng_cli.core.errors import ToolError
    from ctxeng_cli.session.stores.hook import HookStore
    from ctxeng_cli.tools import load_function

    try:
        function = load_function(rest, str(folder))
    except ToolError as error:
        raise SessionError(f"store {rest}: {error.message}") from None
    return HookStore.made_by(function, rest, folder, data)


STORES: dict[str, Callable[[str, Path, Path], Store]] = {
    "file": lambda rest, folder, data: FileStore(data),
    "memory": _memory,
    "sqlite": _sqlite,
    "redis": _redis,
    "rediss": _redis,
    "python": _hook,
}


def store_for(text: str, folder: Path, data: Path) -> Store:
    """The store that `memory.store` names. `folder` is the spec's, `data` the data directory. Raises SessionError."""
    wrong = store_problem(text)
    if wrong:
        raise SessionError(f"memory.store: {wrong}")
    kind, _, rest = text.partition(":")
    return STORES[kind](text if kind.startswith("redis") else rest, folder, data)


def data_folder(environ: Mapping[str, str]) -> Path:
    """The data directory: CTXENG_DATA_DIR, else the platform's (XDG on Linux)."""
    named = environ.get("CTXENG_DATA_DIR")
    if named:
        return Path(named).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("ctxeng", appauthor=False))


@dataclass(frozen=True, slots=True)
class Stores:
    """Several stores to look for a session in. The first that has an id has it; one that can't be asked is left out, and
    `told`."""

    stores: Sequence[Callable[[], Store]]
    told: Callable[[str], None]

    def with_id(self, id: str) -> Store | None:
        return next((store for store in self._asked() if store.data(id) is not None), None)

    def _asked(self) -> Iterator[Store]:
        for make in self.stores:
            try:
                store = make()
                store.ids()
            except CtxengError as error:
                self.told(f"left out: {error.message}")
                continue
            yield store

    def infos(self) -> list[SessionInfo]:
        """All sessions of all stores, the one written last first; once each, however often its store is named."""
        found = {(info.id, info.path): info for store in self._asked() for info in listed(store)}
        return sorted(found.values(), key=_written, reverse=True)

    def ids(self) -> list[str]:
        return [id for store in self._asked() for id in store.ids()]


def _written(info: SessionInfo) -> float:
    try:
        return datetime.datetime.fromisoformat(info.changed).timestamp()
    except (ValueError, OverflowError, OSError):  # nothing that could be read is in it
        return 0.0


__all__ = [
    "STORES", "FileLog", "FileStore", "Loaded", "Log", "SessionInfo", "Store", "Stores", "data_folder", "delete", "first",
    "latest", "listed", "parse_log", "read", "read_log", "store_for",
]  # fmt: skip
