"""The edges of the engine: protocols of one or two methods. What stands behind them is wired in `session.open`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from ctxeng_cli.core.events import Entry, Event, Usage
from ctxeng_cli.core.messages import ToolCall
from ctxeng_cli.core.request import Request, ToolDefinition

Record = Callable[[Event], Entry]
"""Append and flush (signals only pass), fold, tell the observers; called before the act that the event announces.
Answers the entry as recorded: a `message.added` comes back with its message's id."""

Observer = Callable[[Entry], None]
"""Runs after the flush. Does nothing that can block; one that raises is detached."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said. `cost` in US dollars, None where unknown; `served` where another model answered than was asked."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    finish_reason: str = "stop"
    cost: float | None = None
    served: str | None = None


class Model(Protocol):
    """What answers a request."""

    async def answer(self, request: Request, signal: Callable[[Event], None]) -> Answer:
        """Answer one request. Text is told as it comes by `signal(ModelDelta(text=…))`; the deltas add up to the text.

        Raises ModelError. May be cancelled at any await; then it lets go of its connection.
        """
        ...


class Tool(Protocol):
    """Something that a model may call."""

    @property
    def definition(self) -> ToolDefinition: ...

    @property
    def timeout_s(self) -> float: ...

    async def call(self, arguments: Mapping[str, Any]) -> str:
        """Run and answer the text for the model. Raises ToolError for arguments that do not fit, anything else as it comes."""
        ...
