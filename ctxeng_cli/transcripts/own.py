"""Our own session logs as recordings: what was said, where the model was asked, and what came from outside.

What a window policy decided is told too, for `as-recorded`; what a person decided (a `/clear`, a `/restore`) and how a
failed turn was taken back holds under any policy.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from ctxeng_cli.core.codec import NotAnEvent, loads
from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.events import (
    Entry,
    HookAnswered,
    MessageAdded,
    PartDefined,
    RequestSent,
    SessionOpened,
    SummaryMade,
    WindowEdited,
)
from ctxeng_cli.core.request import ToolDefinition
from ctxeng_cli.transcripts.recording import Asked, Item, Recording

MARK = b'"ctxeng.event/'
"""Stands in each line of a log of ours."""


def recording(lines: Iterable[tuple[int, str]], first: Iterable[tuple[int, str]]) -> Recording:
    """The recording of a session out of its numbered lines; `first` are some of them, to find its model in."""
    opened = next((e.event for e in _entries(first) if isinstance(e.event, SessionOpened)), None)
    return Recording(
        "ctxeng",
        lambda _: _items(_entries(lines)),
        model=opened.model if opened else "",
        provider=opened.provider if opened else "openai",
    )


def _entries(lines: Iterable[tuple[int, str]]) -> Iterator[Entry]:
    for _, line in lines:
        try:
            yield loads(line)
        except NotAnEvent:
            continue


def _items(entries: Iterable[Entry]) -> Iterator[Item]:
    """The items of a session. A request is told when what follows it is seen: the last one of all may have no answer."""
    tools: dict[str, ToolDefinition] = {}
    waiting: Asked | None = None
    said = False
    for entry in entries:
        event = entry.event
        if isinstance(event, MessageAdded | RequestSent) and waiting is not None:
            yield waiting
            waiting = None
        if isinstance(event, MessageAdded):
            said = True
            yield event.message
        elif isinstance(event, RequestSent):
            waiting = Asked(tools=_tools(event, tools))
        elif isinstance(event, PartDefined) and event.part == "tools":
            tools[event.hash] = _definition(event)
        elif isinstance(event, SummaryMade | HookAnswered | WindowEdited | PartDefined):
            yield event
    if waiting is not None:
        yield Asked(pending=True, tools=waiting.tools)
    if not said:
        raise InputError("the session holds no messages")


def _tools(event: RequestSent, tools: Mapping[str, ToolDefinition]) -> tuple[ToolDefinition, ...]:
    return tuple(tools[ref] for ref in event.parts if ref in tools)


def _definition(event: PartDefined) -> ToolDefinition:
    try:
        body = json.loads(event.text)
        return ToolDefinition(body["name"], body["description"], body["parameters"])
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"a tool's definition can't be read: {error}") from None


__all__ = ["MARK", "recording"]
