"""A store of each kind in a folder of its own, and what is written into it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from ctxeng_cli.core.codec import dumps
from ctxeng_cli.core.errors import SessionError
from ctxeng_cli.core.events import Entry, MessageAdded
from ctxeng_cli.core.messages import user
from ctxeng_cli.session import Session, open_session
from ctxeng_cli.session.stores import Log, Store, delete, store_for
from ctxeng_cli.session.stores.memory import PROCESS
from ctxeng_cli.spec import load
from tests.commands import ROOT
from tests.session.redis_server import RedisServer

CHILD = Path(__file__).with_name("store_child.py")
KINDS = ["file", "memory", "sqlite", "redis", "python"]
SHARED_KINDS = [kind for kind in KINDS if kind != "memory"]
"""Those that two processes can have at once."""
SPEC = "version: 1\nagents: {a: {model: 'scripted:replies.jsonl', memory: {store: STORE}}}\n"


@dataclass(frozen=True)
class Place:
    """A kind of store in a folder of its own."""

    kind: str
    text: str
    folder: Path

    def store(self) -> Store:
        return store_for(self.text, self.folder, self.folder)

    def child(self, act: str, name: str = "x") -> subprocess.Popen[str]:
        command = [sys.executable, str(CHILD), self.text, str(self.folder), act, name]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)

    def spec(self) -> Path:
        """An agents.yaml whose one agent keeps its sessions here."""
        (self.folder / "replies.jsonl").write_text(json.dumps({"content": "Well."}) + "\n")
        (self.folder / "agents.yaml").write_text(SPEC.replace("STORE", json.dumps(self.text)))
        return self.folder / "agents.yaml"

    def session(self, id: str = "s") -> Session:
        return open_session(load(self.spec()), "a", store=self.store(), id=id, environ={})

    def clear(self) -> None:
        for id in self.store().ids():
            delete(self.store(), id)
        PROCESS.open_ids.clear()


def place_of(kind: str, folder: Path, server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("OWN_STORE", str(folder / "own"))
    monkeypatch.syspath_prepend(str(ROOT))
    names = {"sqlite": "sqlite:logs.db", "redis": server.url, "python": "python:tests.session.own_store:store"}
    return Place(kind, names.get(kind, kind), folder)


def line(number: int, text: str = "Hi") -> str:
    return dumps(
        Entry(number, "2026-12-01T09:00:00+00:00", 1, "a", MessageAdded(message=user(text).with_id(f"m{number}"), tokens=5))
    )


def append(log: Log, *numbers: int) -> None:
    for number in numbers:
        log.append(line(number))


class Failing:
    """A log whose every n-th write fails, as on a full disk."""

    def __init__(self, log: Log, every: int) -> None:
        self._log, self.every, self._count = log, every, 0
        self.loaded, self.place = log.loaded, log.place

    def append(self, line: str) -> None:
        self._count += 1
        if self._count % self.every == 0:
            raise SessionError("can't write: no space left on device")
        self._log.append(line)

    def sync(self) -> None:
        self._log.sync()

    def close(self, *, discard: bool = False) -> None:
        self._log.close(discard=discard)
