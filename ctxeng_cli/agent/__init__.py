"""One agent's turn: assemble, ask, run the tools that the model calls, ask again, answer.

Knows assembly, window, lint, the spec and the core. Models and tools come in through ports; nothing here imports one.
"""

from ctxeng_cli.agent.turn import Outcome, take_turn
from ctxeng_cli.agent.wires import Agent, Unsent, Wires

__all__ = ["Agent", "Outcome", "Unsent", "Wires", "take_turn"]
