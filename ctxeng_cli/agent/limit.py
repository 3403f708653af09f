"""A window whose limit a Python function answers, each turn anew (SPEC 3)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ctxeng_cli.agent.wires import Agent, Wires
from ctxeng_cli.core.errors import HookError
from ctxeng_cli.core.events import HookAnswered

OFFERED = ("session", "inputs", "model", "tokens_left")
"""What the function may ask for, by parameter name: the session's id, the turn's inputs, the model string, and what the
model's window has left beside the window as it stands, in tokens, or None where that is not known."""


def limit_problem(function: Callable[..., Any]) -> str | None:
    """What is wrong with a function as a limit, or None."""
    for parameter in inspect.signature(function).parameters.values():
        variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        if not variadic and parameter.name not in OFFERED and parameter.default is parameter.empty:
            return f'it asks for "{parameter.name}"; a limit may ask for {", ".join(OFFERED)}'
    return None


def ask_limit(function: Callable[..., Any], name: str, offered: Mapping[str, Any]) -> Any:
    """What the function answers. Raises HookError where it fails."""
    parameters = inspect.signature(function).parameters.values()
    every = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    given = {key: value for key, value in offered.items() if every or any(p.name == key for p in parameters)}
    try:
        return function(**given)
    except Exception as error:
        raise HookError(f"memory.window: {name} failed: {type(error).__name__}: {error}") from error


def checked_limit(value: Any, name: str) -> int:
    """The limit that a function has answered. Raises HookError for what is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise HookError(f"memory.window: {name} answered {value!r}; a limit is a whole number of tokens")
    if value < 1:
        raise HookError(f"memory.window: {name} answered {value}; a limit must be greater than zero")
    return value


async def set_limit(agent: Agent, wires: Wires, inputs: Mapping[str, Any]) -> None:
    """Ask for the limit of this turn, and record the answer: a replay reads it from there. Raises HookError."""
    agent.policy = None
    if agent.limit is None:
        return
    history, state = wires.history(agent), wires.state
    name = agent.spec.policy.function
    left = None if agent.context_window is None else agent.context_window - history.window_tokens
    session = state.session.session if state.session else ""
    offered = {"session": session, "inputs": dict(inputs), "model": agent.spec.model.model, "tokens_left": left}
    value = ask_limit(agent.limit, name, offered)
    if inspect.isawaitable(value):
        value = await value
    limit = checked_limit(value, name)
    wires.record(HookAnswered(hook="memory.window", function=name, value=limit))
    agent.policy = agent.spec.policy.limited(limit)
