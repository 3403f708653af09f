"""Functions of a person's own get what they name, as they annotate it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pytest

from ctxeng_cli import V
from ctxeng_cli.assembly import HOOKS, call_hook, hook_problem
from ctxeng_cli.core.errors import HookError

OFFERED = {"session": "7", "inputs": {"role": "guest"}, "model": "offline", "tokens_left": None}


def ask(function: Callable[..., Any]) -> Any:
    return call_hook("memory.window", "app:limit", function, OFFERED)


def test_parameters_are_given_by_name_by_alias_and_as_they_are_annotated() -> None:
    def by_name(model: str, inputs: dict[str, str]) -> Any:
        return model, inputs["role"]

    def by_alias(who: Annotated[str, V("session")], left: Annotated[int | None, V("tokens_left")] = 5) -> Any:
        return who, left

    def coerced(session: int) -> Any:
        return session + 1

    def everything(model: Annotated[str, "what answers"], **rest: Any) -> Any:
        return model, sorted(rest)

    assert ask(by_name) == ("offline", "guest")
    assert ask(by_alias) == ("7", None)
    assert ask(coerced) == 8
    assert ask(everything) == ("offline", ["inputs", "session", "tokens_left"])
    assert ask(lambda: 9) == 9


def test_what_cannot_be_is_told_with_the_hooks_place_and_the_functions_name() -> None:
    def refuses(model: int) -> int:
        return model

    def fails() -> int:
        raise KeyError("x")

    with pytest.raises(HookError, match=r"memory.window: app:limit asks for model as <class 'int'>, and it is 'offline'"):
        ask(refuses)
    with pytest.raises(HookError, match=r"memory.window: app:limit failed: KeyError: 'x'"):
        ask(fails)


def scope(scope: str) -> int:
    return 1


def near(tokens_lft: int) -> int:
    return 1


def optional(more: int = 1, *rest: object, **other: object) -> int:
    return 1


def by_place(model: str, /) -> int:
    return 1


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (scope, 'it asks for "scope". memory.window may ask for session, inputs, model, tokens_left.'),
        (near, 'it asks for "tokens_lft". Did you mean "tokens_left"?'),
        (optional, None),
        (by_place, "its signature can't be read: model can't be given by name"),
    ],
)
def test_a_signature_is_checked_before_anything_is_called(function: Callable[..., Any], told: str | None) -> None:
    assert hook_problem("memory.window", function) == told
    assert "may ask for folder, data" in (hook_problem("memory.store", scope) or "")


def test_each_hook_says_what_it_answers() -> None:
    assert all(answers for _, answers in HOOKS.values())
