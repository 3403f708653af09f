"""Our own session logs as recordings: what was said, and where the model was asked."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.events import Entry, MessageAdded, PartDefined, RequestSent, SessionOpened, SpecChanged
from ctxeng_cli.core.messages import Message
from ctxeng_cli.core.request import ToolDefinition
from ctxeng_cli.transcripts.recording import Recording


def recording(entries: Iterable[Entry]) -> Recording:
    """The recording of a session. Its messages keep their ids. Raises InputError where it holds none."""
    messages: list[Message] = []
    asked: list[int] = []
    texts: dict[str, PartDefined] = {}
    tools: tuple[str, ...] = ()
    model = ""
    for entry in entries:
        event = entry.event
        if isinstance(event, MessageAdded):
            messages.append(event.message)
        elif isinstance(event, RequestSent):
            asked.append(len(messages))
            tools = tuple(ref for ref in event.parts if ref.startswith("#"))
        elif isinstance(event, PartDefined):
            texts[event.hash] = event
        elif isinstance(event, SessionOpened | SpecChanged):
            model = event.model
    if not messages:
        raise InputError("the session holds no messages")
    pending = bool(asked) and asked[-1] == len(messages)
    try:
        defined = [json.loads(texts[ref].text) for ref in tools if ref in texts and texts[ref].part == "tools"]
        definitions = tuple(ToolDefinition(body["name"], body["description"], body["parameters"]) for body in defined)
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"a tool's definition can't be read: {error}") from None
    return Recording("ctxeng", tuple(messages), tuple(asked), pending, definitions, model)
