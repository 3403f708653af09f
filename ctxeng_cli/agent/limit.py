"""A window whose limit a Python function answers, each turn anew (SPEC 3)."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from ctxeng_cli.agent.wires import Agent, Wires
from ctxeng_cli.assembly import call_hook
from ctxeng_cli.core.errors import HookError
from ctxeng_cli.core.events import HookAnswered

HOOK = "memory.window"


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
    value = call_hook(HOOK, name, agent.limit, offered)
    if inspect.isawaitable(value):
        value = await value
    limit = checked_limit(value, name)
    wires.record(HookAnswered(hook=HOOK, function=name, value=limit))
    agent.policy = agent.spec.policy.limited(limit)
