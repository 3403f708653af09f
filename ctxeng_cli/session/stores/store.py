"""What a store is: logs of sessions by their id, one writer for each at a time.

A store answers the seven questions of `Store`; everything else about sessions (the latest one, a list, whether one is
there) is told from those, the same way for all.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from ctxeng_cli.core.codec import NotAnEvent, loads
from ctxeng_cli.core.errors import CtxengError, InputError, UsageError, nearest
from ctxeng_cli.core.events import Entry, MessageAdded, SessionOpened

_ID = re.compile(r"[^\W_][\w.-]{0,99}")


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

    @property
    def empty(self) -> bool:
        """Nothing is lost with it."""
        return not self.entries and not self.unreadable


class Log(Protocol):
    """An open log that nobody else writes. `loaded` is what it held when it was opened."""

    @property
    def loaded(self) -> Loaded: ...

    @property
    def place(self) -> str:
        """Where it lies, for people."""
        ...

    def append(self, line: str) -> None:
        """Write a line. Raises SessionError; then the log is as it was."""
        ...

    def sync(self) -> None:
        """Make sure that what was written survives a power cut, where the store can."""
        ...

    def close(self, *, discard: bool = False) -> None:
        """Let others write. `discard` removes the log; raises SessionError where that fails."""
        ...


class Store(Protocol):
    """Where sessions are kept."""

    def ids(self) -> list[str]:
        """All sessions, the one written last first."""
        ...

    def data(self, id: str) -> bytes | None:
        """A session's whole log as JSON lines, without a lock; None where there is none."""
        ...

    def head(self, id: str) -> bytes | None:
        """The first line of a log, without reading the rest."""
        ...

    def place(self, id: str) -> str:
        """Where a session lies, for people: never with a password."""
        ...

    def open(self, id: str, *, wait: bool = False, waiting: Callable[[str], None] = lambda holder: None) -> Log:
        """Open a log for writing, new or not. Raises SessionError when somebody else has it; with `wait` it waits instead,
        and `waiting` is told once who that is."""
        ...

    def keep(self, id: str, handle: str, text: str) -> None:
        """Put away a text that a session has offloaded. Raises SessionError."""
        ...

    def forget(self, id: str) -> None:
        """Remove what is kept beside a session's log."""
        ...


def is_id(id: str) -> bool:
    """Whether it can be a session's id: it can't leave a folder, and can be typed."""
    return _ID.fullmatch(id) is not None and ".." not in id


def checked_id(id: str) -> str:
    """The id. Raises UsageError for what can be none."""
    if not is_id(id):
        raise UsageError(
            f'"{id}" can\'t be a session id: use letters, digits, ".", "_" and "-", and begin with a letter or digit'
        )
    return id


def parse_log(data: bytes) -> Loaded:
    """A log out of its bytes, read to the end, across what can't be read."""
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


# -- what is told from a store, the same for all ---------------------------------------------------------------------


def read(store: Store, id: str) -> Loaded:
    """A session's log, without a lock. Raises UsageError when there is none."""
    data = store.data(checked_id(id))
    if data is None:
        hint = nearest(id, store.ids())
        raise UsageError(f'there is no session "{id}".{hint or " `ctxeng sessions list` shows them."}')
    return parse_log(data)


def first(store: Store, id: str) -> Entry | None:
    """The first entry of a log."""
    with contextlib.suppress(CtxengError, NotAnEvent, ValueError):
        head = store.head(id)
        return loads(head) if head else None
    return None


def latest(store: Store, agent: str, file: str) -> str | None:
    """The session of an agent of this spec file that was written last, or None."""
    for id in store.ids():
        opened = first(store, id)
        if opened is None or not isinstance(opened.event, SessionOpened) or opened.agent != agent:
            continue
        if opened.event.file in ("", file):
            return id
    return None


def delete(store: Store, id: str) -> None:
    """Remove a session. Raises UsageError when there is none, SessionError when somebody has it open."""
    read(store, id)
    log = store.open(id)
    store.forget(id)
    log.close(discard=True)


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
    """Where it lies: a file, or the store."""
    file: str
    first: str
    """The beginning of the first user message."""


def listed(store: Store) -> Iterator[SessionInfo]:
    """All sessions, newest first; reads them whole."""
    for id in store.ids():
        with contextlib.suppress(OSError, InputError):
            data = store.data(id)
            if data is not None:
                yield info(id, data, store.place(id))


def info(id: str, data: bytes, place: str) -> SessionInfo:
    entries = parse_log(data).entries
    opened = next((e for e in entries if isinstance(e.event, SessionOpened)), None)
    added = [e.event.message for e in entries if isinstance(e.event, MessageAdded)]
    said = next((m.text for m in added if m.role == "user"), "")
    file = opened.event.file if opened and isinstance(opened.event, SessionOpened) else ""
    return SessionInfo(
        id=id,
        agent=opened.agent if opened else "",
        opened=entries[0].at if entries else "",
        changed=entries[-1].at if entries else "",
        turns=max((e.turn for e in entries), default=0),
        messages=len(added),
        bytes=len(data),
        path=place,
        file=file,
        first=said[:200],
    )
