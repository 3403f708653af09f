"""What stays in the window and what goes: pure functions over the folded history. No clock, no randomness, no I/O.

`fit` answers the edits that bring a window under its budget. Whole exchanges leave, oldest first; of the running
exchange only whole rounds. Knows the core and policies; knows no agent and no log.
"""

from ctxeng_cli.window.cap import Rewritten, cap, newest_results
from ctxeng_cli.window.fit import budget_of, budgets_of, fit, overflow, squeeze, start
from ctxeng_cli.window.hold import Held, Hold, Holding, held, memory_of
from ctxeng_cli.window.pins import Pins
from ctxeng_cli.window.pipeline import apply_step
from ctxeng_cli.window.shown import shown
from ctxeng_cli.window.summarize import Wanted

__all__ = [
    "Held",
    "Hold",
    "Holding",
    "Pins",
    "Rewritten",
    "Wanted",
    "apply_step",
    "budget_of",
    "budgets_of",
    "cap",
    "fit",
    "held",
    "memory_of",
    "newest_results",
    "overflow",
    "shown",
    "squeeze",
    "start",
]
