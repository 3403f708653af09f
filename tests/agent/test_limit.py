"""A Python function as the window's limit: asked each turn, recorded, and told when it fails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from ctxeng_cli.core.events import HookAnswered, RequestSent
from tests.play import play, says

LONG = "word " * 50


def test_the_limit_is_asked_each_turn_and_recorded() -> None:
    asked: list[tuple[Mapping[str, Any], str, int | None]] = []

    def limit(inputs: Mapping[str, Any], model: str, tokens_left: int | None) -> int:
        asked.append((inputs, model, tokens_left))
        return 500 if len(asked) < 3 else 100

    staged = play(says("ok"), window="python:app:limit", limit=limit)
    staged.agent.context_window = 1000
    for _ in range(3):
        staged.say(LONG, role="guest")
    assert [event.value for event in staged.events(HookAnswered)] == [500, 500, 100]
    assert [event.budget["limit"] for event in staged.events(RequestSent)] == [500, 500, 100]
    assert asked[0] == ({"role": "guest"}, "scripted:play", 1000 - 55)
    assert asked[1][2] == 1000 - 2 * 55 - 5
    assert staged.events(RequestSent)[-1].window == ("m5",)


@pytest.mark.parametrize(
    ("answer", "told"),
    [(0, "must be greater than zero"), ("many", "a whole number of tokens"), (True, "a whole number"), (None, "a whole number")],
)
def test_what_is_no_limit_fails_the_turn_with_the_functions_name(answer: Any, told: str) -> None:
    staged = play(says("ok"), window="python:app:limit", limit=lambda: answer)
    outcome = staged.say("Hi.")
    assert outcome.error == "hook"
    assert told in outcome.text
    assert "app:limit" in outcome.text
    assert staged.history.window() == ()


def test_a_function_that_raises_or_waits() -> None:
    def broken() -> int:
        raise KeyError("x")

    async def later() -> int:
        return 300

    assert "KeyError: 'x'" in play(says("ok"), window="python:app:limit", limit=broken).say("Hi.").text
    staged = play(says("ok"), window="python:app:limit", limit=later)
    assert staged.say("Hi.").error is None
    assert staged.events(RequestSent)[0].budget["limit"] == 300
