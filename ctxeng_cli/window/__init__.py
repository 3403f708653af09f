"""What stays in the window and what goes: pure functions over the folded history. No clock, no randomness, no I/O.

`fit` answers the edits that bring a window under its budget. Whole exchanges leave, oldest first; of the running
exchange only whole rounds. Knows the core and policies; knows no agent and no log.
"""

from ctxeng_cli.window.cap import Rewritten, cap, newest_results
from ctxeng_cli.window.fit import budget_of, budgets_of, fit, overflow, squeeze, start
from ctxeng_cli.window.hold import Held, Hold
from ctxeng_cli.window.pins import Pins
from ctxeng_cli.window.pipeline import apply_step

__all__ = [
    "Held",
    "Hold",
    "Pins",
    "Rewritten",
    "apply_step",
    "budget_of",
    "budgets_of",
    "cap",
    "fit",
    "newest_results",
    "overflow",
    "squeeze",
    "start",
]
