"""Edits before eviction: the steps that a policy tries, in its order, until the window fits (SPEC 3)."""

from __future__ import annotations

from collections.abc import Callable

from ctxeng_cli.core.budget import Reason
from ctxeng_cli.core.history import History
from ctxeng_cli.spec.policy import CapResult, ClearResults, Offload
from ctxeng_cli.window.cap import Rewritten, cap_step
from ctxeng_cli.window.clear import clear_step
from ctxeng_cli.window.offload import offload_step


def apply_step(
    history: History, step: ClearResults | CapResult | Offload, over: int, count: Callable[[str], int], *, limit: int, turn: int
) -> tuple[Rewritten, ...]:
    """What one step changes to save `over` tokens, or as much of them as it can. `limit` is the room that was left."""
    measured = limit + over
    if isinstance(step, ClearResults):
        return clear_step(history, step, over, count, Reason("clear_tool_results", limit, measured, turn))
    if isinstance(step, Offload):
        return offload_step(history, step, over, count, Reason("offload", limit, measured, turn))
    return cap_step(history, step, over, count, Reason("cap_result", limit, measured, turn))
