"""The law of the log: from it alone, every request that was sent can be rebuilt byte for byte. For every starter agent."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from ctxeng_cli.core.events import Entry, RequestSent, WindowEdited
from ctxeng_cli.core.history import State
from ctxeng_cli.core.request import canonical
from ctxeng_cli.core.tokens import counter_for
from ctxeng_cli.core.view import context, context_json, rebuild, request_of
from ctxeng_cli.session import FileStore, open_session
from ctxeng_cli.session.open import Overrides
from ctxeng_cli.session.stores import read_log
from ctxeng_cli.spec import Policy, load, parse_policy
from tests.contract import assert_context

PROJECT = load(Path(__file__).parents[2] / "agents.yaml")
TALKS = {
    "guide": [
        "What is a context window?",
        "什么是上下文窗口？",
        "My dog is called Waldi.",
        "Why did you forget?",
        "Thanks [/red] \x1b[31m",
    ],
    "support": ["My printer is on fire.", "我的打印机坏了。", "Who are you?", "\ud800 lone", "And the date?"],
    "weather": ["The climate in Bern and in Cairo in July?", "开罗七月的天气怎么样？", "And in Atlantis?", "Oslo in January?"],
    "analyst": ["Revenue by region in 2024?", "2024年各地区的销售额？", "Which product sold most units?", "And the least?"],
}


def talk(store: FileStore, name: str, window: Policy | None) -> list[Entry]:
    """A conversation in two sittings; the entries as observers saw them, with the bodies that went out."""
    seen: list[Entry] = []
    questions = TALKS[name]
    for part in (questions[:2], questions[2:]):
        session = open_session(PROJECT, name, store=store, id="s", overrides=Overrides(policy=window), environ={}, payload=True)
        session.journal.observers.append(seen.append)
        for question in part:
            outcome = asyncio.run(session.say(question))
            assert outcome.error in (None, "window.overflow"), outcome
        session.close()
    return seen


@pytest.mark.parametrize(
    "window", [None, "tight", "messages:3", "none", "messages:4,summarize=1", "messages:3,compat=langchain4j"]
)
@pytest.mark.parametrize("name", PROJECT.agents)
def test_every_request_can_be_rebuilt_from_the_log_alone(tmp_path: Path, name: str, window: str | None) -> None:
    store = FileStore(tmp_path)
    if window == "tight":  # so tight that most questions drive the one before out, and some don't fit at all
        whole = talk(FileStore(tmp_path / "whole"), name, Policy())
        window = f"tokens:{min(e.event.budget['used'] for e in whole if isinstance(e.event, RequestSent)) + 60}"
    seen = talk(store, name, parse_policy(window) if window else None)
    bodies: dict[int, Any] = {e.event.request: e.event.payload for e in seen if isinstance(e.event, RequestSent)}
    state, counter = State(), counter_for("offline")
    evicted = 0
    for entry in read_log(store.path("s")).entries:
        state.apply(entry)
        evicted += isinstance(entry.event, WindowEdited)
        if isinstance(sent := entry.event, RequestSent):
            request = rebuild(state, name, sent)
            assert request.fingerprint == sent.fingerprint
            assert canonical(request.payload()) == canonical(bodies.pop(sent.request))
            view = context(state, name, sent, entry.turn, counter)
            assert canonical(request_of(view).payload()) == canonical(request.payload())
            assert_context(json.loads(json.dumps(context_json(view))))
    assert bodies == {}, "every request is in the log"
    assert evicted or window is None, "the small windows did evict"


def test_each_starter_agent_is_in_the_test() -> None:
    assert set(TALKS) == set(PROJECT.agents)
