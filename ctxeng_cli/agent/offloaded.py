"""The tool by which a model reads back what its window has offloaded: out of the log, which holds all of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ctxeng_cli.agent.wires import Agent, Wires
from ctxeng_cli.core.errors import ToolError, nearest
from ctxeng_cli.core.history import History
from ctxeng_cli.core.ports import Tool
from ctxeng_cli.core.request import ToolDefinition
from ctxeng_cli.spec.policy import Offload
from ctxeng_cli.window.offload import LONGEST, READ, read_back


class ReadOffloaded:
    """Reads tool results of one history by their handle, which is the message's id."""

    timeout_s = 5.0

    def __init__(self, history: History) -> None:
        self._history = history

    @property
    def definition(self) -> ToolDefinition:
        return READ

    async def call(self, arguments: Mapping[str, Any]) -> str:
        handle = str(arguments.get("handle", ""))
        offloaded = [id for id, ghost in self._history.capped.items() if ghost.op == "offload"]
        if handle not in offloaded:
            known = ", ".join(offloaded[-12:]) or "none yet"
            raise ToolError(f'Nothing was offloaded as "{handle}".{nearest(handle, offloaded)} Handles: {known}.')
        try:
            start, length = int(arguments.get("start", 0)), int(arguments.get("length", LONGEST // 2))
        except (TypeError, ValueError):
            raise ToolError("start and length are whole numbers of characters.") from None
        return read_back(self._history.messages[handle].text, start, length)


def equipped(agent: Agent, wires: Wires) -> Mapping[str, Tool]:
    """The agent's tools, and the one that reads back where its window offloads."""
    if not any(isinstance(step, Offload) for step in agent.spec.policy.pipeline):
        return agent.tools
    return {**agent.tools, READ.name: ReadOffloaded(wires.history(agent))}
