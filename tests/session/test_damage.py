"""A log that was damaged anywhere, by a disk or a hand, is read as far as it goes: a command answers or tells, none fails."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
from collections.abc import Callable
from pathlib import Path
from random import Random  # noqa: TID251  seeded: the same draws in every run
from typing import Any

import pytest

from ctxeng_cli.cli.inspect_context import view_of
from ctxeng_cli.core.errors import CtxengError, UsageError
from ctxeng_cli.core.view import context_json
from ctxeng_cli.screen.console import console_for
from ctxeng_cli.screen.stream import LiveScreen
from ctxeng_cli.session import FileStore, open_session
from ctxeng_cli.session.open import Overrides
from ctxeng_cli.session.stores import listed, read_log
from ctxeng_cli.spec import load, parse_policy
from tests.commands import ROOT

PROJECT = load(ROOT / "agents.yaml")
WINDOW = Overrides(policy=parse_policy("messages:8"))
TALK = ["The climate in Bern and in Cairo in July?", "And in Oslo in May?", "In Paris in May?", "Thanks"]
VALUES: list[Any] = [
    None, 0, -1, "", "zzz", [], {}, True, 1e308, 2**70, "m1", "m999", "#x", ["m1..m99"], ["m5..m1"], ["m1..m999999999"],
    ["mx..my"], ["#zz", "m1=#zz"], {"unit": 5},
]  # fmt: skip
JUNK = ["{", "[]", "null", "\x00\x00", '{"schema":"ctxeng.event/1"}', '"']


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A session with parallel calls, results and evictions."""
    store = FileStore(tmp_path_factory.mktemp("whole"))
    session = open_session(PROJECT, "weather", store=store, id="s", environ={}, overrides=WINDOW)
    for text in TALK:
        asyncio.run(session.say(text))
    session.close()
    return store.path("s").read_text("utf-8").splitlines()


def damaged(random: Random, lines: list[str]) -> str:
    lines = list(lines)
    for _ in range(random.randint(1, 3)):
        at, other = random.randrange(len(lines)), random.randrange(len(lines))
        how = random.choice(["lose", "repeat", "swap", "change", "change", "change", "junk", "cut"])
        if how == "lose":
            del lines[at]
        elif how == "repeat":
            lines.insert(other, lines[at])
        elif how == "swap":
            lines[at], lines[other] = lines[other], lines[at]
        elif how == "change":
            with contextlib.suppress(ValueError):
                lines[at] = json.dumps(changed(random, json.loads(lines[at])))
        elif how == "junk":
            lines[at] = random.choice(JUNK)
        else:
            lines[at] = lines[at][: random.randrange(len(lines[at]) + 1)]
    return "\n".join(lines) + random.choice(["", "\n"])


def changed(random: Random, body: Any) -> Any:
    """The JSON with one value, at any depth, taken out or replaced."""
    held, key, value = None, None, body
    while isinstance(value, dict | list) and value and random.random() < 0.8:
        held, key = value, random.choice(list(value) if isinstance(value, dict) else range(len(value)))
        value = held[key]
    if isinstance(held, dict) and random.random() < 0.25:
        del held[key]
    elif held is not None:
        held[key] = random.choice(VALUES)  # type: ignore[index]
    return body


@pytest.mark.parametrize("block", range(4))
def test_any_damage_is_survived_or_told(block: int, log: list[str], tmp_path: Path) -> None:
    told = 0
    for seed in range(block, 400, 4):
        store = FileStore(tmp_path / str(seed))
        store.folder.mkdir(parents=True)
        path = store.path("s")
        path.write_text(damaged(Random(seed), log), "utf-8")
        entries = read_log(path).entries
        told += not answered(lambda entries=entries: context_json(view_of(entries, None, None, None, UsageError, "s")))  # type: ignore[misc]
        screen = LiveScreen(console_for(io.StringIO(), width=80), questions=True)
        for entry in entries:
            screen(entry)
        assert len(list(listed(store))) == 1
        answered(lambda store=store: goes_on(store))  # type: ignore[misc]
    assert told > 5, "the damage does reach what is shown"


def answered(act: Callable[[], Any]) -> bool:
    """Whether it worked; an error of ours is an answer too, and has a message."""
    try:
        act()
    except CtxengError as error:
        return not str(error)
    return True


def goes_on(store: FileStore) -> None:
    session = open_session(PROJECT, "weather", store=store, id="s", environ={}, overrides=WINDOW)
    try:
        outcome = asyncio.run(session.say("The climate in Lima in June?"))
        assert outcome.error in (None, "window.overflow"), outcome
    finally:
        session.close()
