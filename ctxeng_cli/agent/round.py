"""A round: run what the model called, at the same time, and give every call exactly one result, on every path."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ctxeng_cli.agent.offloaded import equipped
from ctxeng_cli.agent.wires import Agent, Wires
from ctxeng_cli.core.errors import ToolError, nearest
from ctxeng_cli.core.events import MessageAdded, ToolCalled, ToolReturned
from ctxeng_cli.core.messages import ToolCall, tool_result
from ctxeng_cli.core.ports import Tool

PREVIEW = 400
"""Characters of a result that `tool.returned` shows."""


class Results:
    """Results as they come, joined to the history in call order.

    A result whose turn it is becomes a message at once. One that comes before an earlier call's is recorded whole in
    `tool.returned` and becomes a message when the earlier ones are there: a crash in between loses nothing.
    """

    def __init__(self, agent: Agent, wires: Wires, calls: Sequence[ToolCall]) -> None:
        self._agent, self._wires, self._calls = agent, wires, list(calls)
        self._held: dict[str, tuple[str, bool]] = {}

    def take(self, call: ToolCall, text: str, is_error: bool, duration_s: float) -> None:
        message = None
        next_up = bool(self._calls) and self._calls[0] is call
        tokens = self._agent.counter.message(tool_result(call, text))
        if next_up:
            message = self._join(call, text, is_error)
        else:
            self._held[call.id] = (text, is_error)
        self._wires.record(
            ToolReturned(
                id=call.id, name=call.name, preview=text[:PREVIEW], is_error=is_error, duration_s=round(duration_s, 3),
                tokens=tokens, message=message, text=None if message else text,
            )
        )  # fmt: skip
        while self._calls and self._calls[0].id in self._held:
            first = self._calls[0]
            self._join(first, *self._held.pop(first.id))

    def _join(self, call: ToolCall, text: str, is_error: bool) -> str:
        self._calls.pop(0)
        message = tool_result(call, text, is_error=is_error)
        added = self._wires.record(MessageAdded(message=message, tokens=self._agent.counter.message(message))).event
        assert isinstance(added, MessageAdded)
        return added.message.id


async def run_calls(agent: Agent, wires: Wires, calls: Sequence[ToolCall]) -> None:
    """Announce all calls, run them concurrently, record each result as it comes."""
    for call in calls:
        wires.record(ToolCalled(id=call.id, name=call.name, arguments=call.arguments))
    results = Results(agent, wires, calls)

    async def one(call: ToolCall) -> None:
        started = wires.timer()
        text, is_error = await _result(equipped(agent, wires), call)
        results.take(call, text, is_error, wires.timer() - started)

    async with asyncio.TaskGroup() as group:
        for call in calls:
            group.create_task(one(call))


async def _result(tools: Mapping[str, Tool], call: ToolCall) -> tuple[str, bool]:
    """One call's result for the model, and whether it is an error. Never raises but for a cancellation."""
    tool = tools.get(call.name)
    if tool is None:
        known = ", ".join(tools) or "none"
        return f'There is no tool "{call.name}".{nearest(call.name, tools)} Tools: {known}.', True
    try:
        arguments = read_arguments(call.arguments)
        async with asyncio.timeout(tool.timeout_s):
            return await tool.call(arguments), False
    except ToolError as error:
        return error.message, True
    except TimeoutError:
        return f"{call.name} did not answer within {tool.timeout_s:g} s and was given up.", True
    except Exception as error:
        return f"{call.name} failed: {type(error).__name__}: {error}", True


def read_arguments(text: str) -> dict[str, Any]:
    """The arguments as an object; no text at all means none. Raises ToolError."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
        if isinstance(value, str):
            value = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"The arguments are not valid JSON ({error}). Send one JSON object.") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ToolError(f"The arguments must be one JSON object, not {type(value).__name__}.")
    return value
