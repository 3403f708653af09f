"""One agent's turn: assemble, ask, run the tools that the model calls, ask again, answer.

Knows assembly, window, lint, the spec and the core. Models and tools come in through ports; nothing here imports one.
"""

from ctxeng_cli.agent.limit import checked_limit
from ctxeng_cli.agent.turn import Outcome, take_turn
from ctxeng_cli.agent.wires import Agent, Summarizer, Unsent, Wires

__all__ = [
    "Agent", "Outcome", "Summarizer", "Unsent", "Wires", "checked_limit", "take_turn",
]  # fmt: skip
