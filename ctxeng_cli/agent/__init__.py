"""One agent's turn: assemble, ask, run the tools that the model calls, ask again, answer.

Knows assembly, window, lint, the spec and the core. Models and tools come in through ports; nothing here imports one.
"""

from ctxeng_cli.agent.limit import ask_limit, checked_limit, limit_problem
from ctxeng_cli.agent.turn import Outcome, take_turn
from ctxeng_cli.agent.wires import Agent, Summarizer, Unsent, Wires

__all__ = [
    "Agent", "Outcome", "Summarizer", "Unsent", "Wires", "ask_limit", "checked_limit", "limit_problem", "take_turn",
]  # fmt: skip
