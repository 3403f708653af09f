"""Every row of the built areas holds under `compat: langchain4j`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from ctxeng_cli.core.messages import Message
from ctxeng_cli.window.langchain4j import ChatMemory, Estimator, OpenAiEstimator, SingleSlot
from tests.conformance.rows import AREAS, message, rows


class Given:
    """An estimator that knows what a row's messages weigh."""

    def __init__(self, tokens: dict[str, int], overhead: int) -> None:
        self._tokens, self._overhead = tokens, overhead

    def message(self, message: Message) -> int:
        return self._tokens[message.id]

    def request(self, messages: Sequence[Message]) -> int:
        return self._overhead + sum(map(self.message, messages))


class Counted(SingleSlot):
    """A store that counts its hits."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.hits = {"get": 0, "update": 0, "delete": 0}

    def get_messages(self, id: str) -> tuple[Message, ...]:
        self.hits["get"] += 1
        return super().get_messages(id)

    def update_messages(self, id: str, messages: Sequence[Message]) -> None:
        self.hits["update"] += 1
        super().update_messages(id, messages)

    def delete_messages(self, id: str) -> None:
        self.hits["delete"] += 1
        super().delete_messages(id)


def names(messages: Sequence[Message]) -> list[str]:
    return [message.id for message in messages]


def memory(row: dict[str, Any]) -> None:
    window, most = row["window"], {"most": row["window"]["max"]}
    said = {name: message(body, name) for name, body in row["messages"].items()}
    estimator: Estimator | None = None
    if window["type"] == "tokens":
        estimator = Given({name: body["tokens"] for name, body in row["messages"].items()}, window["request_overhead"])
    store = SingleSlot("default")
    held = ChatMemory(
        lambda id: most["most"], store=store, keep_system_first=window["system_first"], estimator=estimator
    )  # fmt: skip
    for op in row["ops"]:
        if "add" in op:
            held.add(said[op["add"]])
        elif "set" in op:
            held.set([said[name] for name in op["set"]])
        elif "clear" in op:
            held.clear()
        else:
            most["most"] = op["set_max"]
        if "expect" in op:
            assert names(held.messages()) == op["expect"], op
        if "expect_stored" in op:
            assert names(store.get_messages("default")) == op["expect_stored"], op
        if "expect_total" in op:
            assert estimator is not None
            assert estimator.request(held.messages()) == op["expect_total"]


def three() -> list[Message]:
    return [message({"role": "user", "text": name}, name) for name in ("a1", "a2", "a3")]


def memory_store(row: dict[str, Any]) -> None:
    store = Counted("default")
    held = ChatMemory(row["window"]["max"], store=store)
    given = three()
    acts: dict[str, Callable[[], object]] = {
        "add three messages in one varargs call": lambda: held.add(*three()),
        "messages()": lambda: held.messages(),
        "set(two messages)": lambda: held.set(three()[:2]),
        "set(list L=[a1,a2,a3])": lambda: held.set(given),
        "append a4 to L": lambda: given.append(message({"role": "user", "text": "a4"}, "a4")),
    }
    for step in row["steps"]:
        store.hits = dict.fromkeys(store.hits, 0)
        acts[step["do"]]()
        if "expect_hits" in step:
            assert store.hits == step["expect_hits"], step
        if "expect_L" in step:
            assert names(given) == step["expect_L"]
        if "expect" in step:
            assert names(held.messages()) == step["expect"], step


def token_estimator(row: dict[str, Any]) -> None:
    assert OpenAiEstimator(row["model"]).message(message(row["message"])) == row["expect"]


def token_estimator_formula(row: dict[str, Any]) -> None:
    estimator = OpenAiEstimator(row["input"]["model"])
    assert estimator.request(()) + sum(row["input"]["message_tokens"]) == row["expect"]


HELD = {
    "memory": memory,
    "memory_store": memory_store,
    "token_estimator": token_estimator,
    "token_estimator_formula": token_estimator_formula,
}


@pytest.mark.parametrize("row", rows(*AREAS), ids=lambda row: row["id"])
def test_row(row: dict[str, Any]) -> None:
    """A row of a kind that is not in the table fails here: none is skipped."""
    HELD[row["area"]](row)
