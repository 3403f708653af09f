"""Old tool results give way to a placeholder; the whole of them stays in the log (SPEC 3, edits before eviction)."""

from __future__ import annotations

from collections.abc import Callable

from ctxeng_cli.core.budget import Edit, Reason
from ctxeng_cli.core.history import History
from ctxeng_cli.core.request import text_hash
from ctxeng_cli.core.tokens import RESULT_FRAME
from ctxeng_cli.spec.policy import ClearResults
from ctxeng_cli.window.cap import Rewritten, newest_results


def clear_step(
    history: History, step: ClearResults, over: int, count: Callable[[str], int], reason: Reason
) -> tuple[Rewritten, ...]:
    """Clear results, oldest first, until `over` tokens are saved.

    The newest `step.keep` stay, and those of the newest round in any case: no model has read them yet. A result that is no
    longer than the placeholder stays. `count` counts a text's tokens.
    """
    results = [id for exchange in history.exchanges for id in exchange.ids if history.messages[id].role == "tool"]
    stay = {*results[len(results) - step.keep :], *newest_results(history)} if step.keep else set(newest_results(history))
    after = RESULT_FRAME + count(step.placeholder)
    cleared = []
    for id in results:
        if over <= 0:
            break
        before = history.tokens[id]
        done = id in history.capped and history.capped[id].op == "clear"
        if id in stay or done or after >= before or history.messages[id].name in step.exclude:
            continue
        over -= before - after
        cleared.append(Rewritten(step.placeholder, Edit("clear", (id,), after, reason, text_hash(step.placeholder))))
    return tuple(cleared)
