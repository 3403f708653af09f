"""OpenAI Chat Completions: which histories are refused. Rules and texts: shared/reference/protocol_rules.md 4.1.

Built: OC001 to OC005, as far as a request of our own can break them. The other families and rules are still to come.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from ctxeng_cli.core.events import Finding
from ctxeng_cli.core.messages import Message
from ctxeng_cli.core.request import Request

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def check(request: Request) -> tuple[Finding, ...]:
    """Everything that the provider would refuse (`error`) or that does harm (`warning`), in message order."""
    return (*_pairs(request.messages), *_names(request))


def _pairs(messages: Sequence[Message]) -> Iterator[Finding]:
    """OC001 and OC002: a call's results follow it at once, and no result stands without its call."""
    open: dict[str, Message] = {}
    for message in messages:
        if message.role == "tool":
            if message.tool_call_id in open:
                del open[message.tool_call_id]
                continue
            yield Finding(
                "OC002", "error",
                f"{message.id} is the result of {message.tool_call_id}, and no call of that id stands right before it.",
                "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
                message.id,
            )  # fmt: skip
            continue
        yield from _unanswered(open)
        open = {call.id: message for call in message.tool_calls}
    yield from _unanswered(open)


def _unanswered(open: dict[str, Message]) -> Iterator[Finding]:
    if open:
        ids = ", ".join(open)
        yield Finding(
            "OC001", "error", f"The calls {ids} have no result right behind them.",
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
            f"The following tool_call_ids did not have response messages: {ids}", next(iter(open.values())).id,
        )  # fmt: skip


def _names(request: Request) -> Iterator[Finding]:
    """OC003 to OC005: ids, names and arguments."""
    for tool in request.tools:
        if not _TOOL_NAME.fullmatch(tool.name):
            yield Finding(
                "OC003",
                "error",
                f"The tool name {tool.name!r} holds what the provider refuses.",
                "Invalid pattern for tools[].function.name",
                None,
            )
    for message in request.messages:
        if message.role == "tool" and not message.tool_call_id:
            yield Finding(
                "OC003",
                "error",
                f"{message.id} is a tool result without tool_call_id.",
                "Missing parameter 'tool_call_id'",
                message.id,
            )
        if message.role == "user" and not message.content:
            yield Finding("OC005", "warning", f"{message.id} is an empty user message.", "", message.id)
        for call in message.tool_calls:
            if not call.id or len(call.id) > 40:
                yield Finding(
                    "OC003",
                    "error",
                    f"{message.id} calls with the id {call.id!r}; it must have 1 to 40 characters.",
                    "string_above_max_length",
                    message.id,
                )
            if not _TOOL_NAME.fullmatch(call.name):
                yield Finding(
                    "OC003",
                    "error",
                    f"{message.id} calls {call.name!r}, a name that the provider refuses.",
                    "Invalid pattern",
                    message.id,
                )
            try:
                json.loads(call.arguments or "{}")
            except ValueError:
                yield Finding(
                    "OC005", "warning", f"{message.id} calls {call.name} with arguments that are not JSON.", "", message.id
                )
