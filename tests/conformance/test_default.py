"""By default a row holds, or stands in default_differs.yaml with the rule that decides and what is expected instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ctxeng_cli.core.budget import Budget, Edit, Reason
from ctxeng_cli.core.events import Event, MessageAdded, WindowEdited
from ctxeng_cli.core.history import State
from ctxeng_cli.core.messages import Message
from ctxeng_cli.core.tokens import PRIMING, counter_for
from ctxeng_cli.window import squeeze
from tests.conformance.rows import AREAS, differs, message, rows
from tests.notation import entry

ALL = rows(*AREAS)
DIFFERS = differs()


class Held:
    """A history under a budget, as the engine holds it: what must stay and does not fit is kept (overflow=keep)."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row, self.state, self.most = row, State(), row["window"]["max"]
        self.names: dict[str, str] = {}

    def record(self, event: Event) -> None:
        self.state.apply(entry(self.state.seq + 1, event))

    def add(self, name: str, new: Message, tokens: int = 1) -> None:
        history = self.state.history("a")
        if new.role == "system" and history.system and history.messages[history.system].text == new.text:
            return
        id = f"m{self.state.last_message + 1}"
        self.names[id] = name
        self.record(MessageAdded(message=new.with_id(id), tokens=tokens))
        edits = self._edits()
        if edits:
            self.record(WindowEdited(edits=edits))

    def _edits(self) -> tuple[Edit, ...]:
        window = self.row["window"]
        budget = Budget(window["type"], self.most)
        return squeeze(self.state.history("a"), budget, fixed=window.get("request_overhead", 0), turn=1)[0]

    def clear(self) -> None:
        history = self.state.history("a")
        edits = tuple(Edit("evict", tuple(e.ids), e.tokens, Reason("command.clear", None, None, 1)) for e in history.exchanges)
        self.record(WindowEdited(edits=edits))

    def read(self) -> list[str]:
        """What a request would show now: a look changes nothing."""
        gone = {id for edit in self._edits() for id in edit.messages}
        return [self.names[id] for id in self.state.history("a").window() if id not in gone]

    def stored(self) -> list[str]:
        return [self.names[id] for id in self.state.history("a").messages]

    def total(self) -> int:
        return self.state.history("a").window_tokens + int(self.row["window"].get("request_overhead", 0))


def memory(row: dict[str, Any]) -> list[Any]:
    held = Held(row)
    said = {name: (message(body), body.get("tokens", 1)) for name, body in row["messages"].items()}
    found: list[Any] = []
    for op in row["ops"]:
        if "add" in op:
            held.add(op["add"], *said[op["add"]])
        elif "clear" in op or op.get("set") == []:
            held.clear()
        else:
            held.most = op["set_max"]
        found += [held.read()] if "expect" in op else []
        found += [held.stored()] if "expect_stored" in op else []
        found += [held.total()] if "expect_total" in op else []
    return found


def memory_store(row: dict[str, Any]) -> list[Any]:
    """Messages are appended to the log, each once; a look writes nothing, and no list is put in its place."""
    held = Held(row)
    found: list[Any] = []
    for step in row["steps"]:
        before = held.state.seq
        names = {"add three messages in one varargs call": 3, "set(two messages)": 2, "set(list L=[a1,a2,a3])": 3}
        for number in range(1, names.get(step["do"], 0) + 1):
            held.add(f"a{number}", message({"role": "user", "text": "x"}))
        held.read()  # `append a4 to L` is the caller's own list: nothing of it is here
        found += [{"appended": held.state.seq - before}] if "expect_hits" in step else []
        found += [held.read()] if "expect" in step else []
    return found


def token_estimator(row: dict[str, Any]) -> list[Any]:
    return [counter_for(row["model"]).message(message(row["message"]))]


def token_estimator_formula(row: dict[str, Any]) -> list[Any]:
    return [PRIMING + sum(row["input"]["message_tokens"])]


DEFAULT: dict[str, Callable[[dict[str, Any]], list[Any]]] = {
    "memory": memory,
    "memory_store": memory_store,
    "token_estimator": token_estimator,
    "token_estimator_formula": token_estimator_formula,
}


def expected(row: dict[str, Any]) -> list[Any]:
    """What the framework's row expects, in the order in which it is looked at."""
    found = []
    for step in row.get("ops", row.get("steps", [row])):
        found += [step[key] for key in ("expect", "expect_stored", "expect_total", "expect_hits") if key in step]
    return found


@pytest.mark.parametrize("row", ALL, ids=lambda row: row["id"])
def test_row(row: dict[str, Any]) -> None:
    found = DEFAULT[row["area"]](row)
    if row["id"] not in DIFFERS:
        assert found == expected(row)
        return
    listed = DIFFERS[row["id"]]
    assert listed["rule"].startswith("SPEC")
    assert found == listed["expect"]
    assert found != expected(row), "what holds is not listed"


def test_what_is_listed_is_there() -> None:
    assert not ALL or DIFFERS.keys() <= {row["id"] for row in ALL}
