"""Conversations in one line, for tests that read as their own picture.

`s u a[x,y] x y a` is a system message, a question, a model message that calls x and y, their results, an answer.
Digits make names unique (`u1 a1`); a name's letters tell the role: s system, u user, a assistant, anything else a tool
result of the call with that name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from ctxeng_cli.core.events import Entry, Event, MessageAdded
from ctxeng_cli.core.history import History, State
from ctxeng_cli.core.messages import Message, Text, ToolCall


def message(word: str, number: int) -> Message:
    """One word of the notation as a message; its text is the word."""
    name, _, calls = word.partition("[")
    role = {"s": "system", "u": "user", "a": "assistant"}.get(re.sub(r"\d", "", name), "tool")
    tool_calls = tuple(ToolCall(call, "look", "{}") for call in calls.rstrip("]").split(",") if call)
    id = f"m{number}"
    if role == "tool":
        return Message("tool", (Text(name),), id=id, tool_call_id=name.split("#")[0], name="look")
    return Message(role, (Text(name),), id=id, tool_calls=tool_calls)  # type: ignore[arg-type]


def entries(line: str, tokens: Mapping[str, int] | None = None, agent: str = "a") -> list[Entry]:
    """The log of a conversation: only its messages. Turns count at user messages; a message weighs 10 unless said."""
    log: list[Entry] = []
    turn = 0
    for number, word in enumerate(line.split(), 1):
        added = message(word, number)
        turn += added.role == "user"
        weight = (tokens or {}).get(re.sub(r"[\d\[].*", "", word), 10)
        log.append(Entry(number, "", turn, agent, MessageAdded(message=added, tokens=weight)))
    return log


def history(line: str, tokens: Mapping[str, int] | None = None) -> History:
    """The folded history of a conversation."""
    state = State()
    for entry in entries(line, tokens):
        state.apply(entry)
    return state.history("a")


def window(folded: History) -> str:
    """What the window holds, in words."""
    return " ".join(folded.messages[id].text for id in folded.window())


def entry(seq: int, event: Event, turn: int = 1) -> Entry:
    return Entry(seq, "2026-12-01T09:00:00.000+00:00", turn, "a", event)
