"""A model that says what a file says, in order: for tests and demonstrations."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ctxeng_cli.core.codec import NotAnEvent, from_json
from ctxeng_cli.core.errors import ModelError, Place, Problem, SpecError
from ctxeng_cli.core.events import Event, MessageAdded, ModelDelta, Usage
from ctxeng_cli.core.messages import ToolCall, assistant
from ctxeng_cli.core.ports import Answer
from ctxeng_cli.core.request import Request
from ctxeng_cli.core.tokens import PRIMING, Counter

LONGEST_DELAY_S = 3600


@dataclass(frozen=True, slots=True)
class Reply:
    """One line of a script."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    error: str | None = None
    delay_s: float = 0.0


class Scripted:
    """Replies in order, the last one again and again. A resumed session goes on where its history stands: the reply
    after as many as the agent's assistant messages in the log (`skip`)."""

    def __init__(self, replies: Iterable[Reply]) -> None:
        self._replies = tuple(replies)
        self._next = 0

    @classmethod
    def read(cls, path: Path) -> Scripted:
        """Read a script, or a session's log. Raises SpecError with file and line."""
        try:
            lines = path.read_bytes().decode("utf-8-sig").split("\n")
        except (OSError, UnicodeDecodeError) as error:
            raise SpecError([Problem(f"can't read the script: {error}", Place(str(path)))]) from None
        replies = []
        for number, line in enumerate(lines, 1):
            if line.strip():
                reply = _reply(line, Place(path.name, number))
                replies += [reply] if reply else []
        if not replies:
            raise SpecError([Problem('the script holds no reply; write lines such as {"content": "hello"}', Place(path.name))])
        return cls(replies)

    def skip(self, answers: int) -> None:
        self._next = answers

    async def answer(self, request: Request, signal: Callable[[Event], None]) -> Answer:
        reply = self._replies[min(self._next, len(self._replies) - 1)]
        self._next += 1
        if reply.delay_s:
            await asyncio.sleep(reply.delay_s)
        for piece in re.findall(r"\S*\s*", reply.text):
            if piece:
                signal(ModelDelta(text=piece))
                await asyncio.sleep(0)
        if reply.error is not None:
            raise ModelError(reply.error, kind="broken" if reply.text else "scripted")
        counter = Counter("o200k_base", True)
        sent = sum(map(counter.message, request.messages)) + sum(map(counter.tool, request.tools))
        usage = Usage(
            sent + counter.tools_overhead(request.tools) + PRIMING, counter.message(assistant(reply.text, reply.tool_calls)) - 4
        )
        return Answer(reply.text, reply.tool_calls, usage, "tool_calls" if reply.tool_calls else "stop")


def _reply(line: str, place: Place) -> Reply | None:
    try:
        body = json.loads(line)
        if not isinstance(body, dict):
            raise ValueError("not an object")
    except (ValueError, RecursionError) as error:
        raise SpecError([Problem(f"a script has one JSON object on each line: {error}", place)]) from None
    if "schema" in body:
        return _recorded(body)
    if body.get("role", "assistant") != "assistant":
        return None
    try:
        calls = tuple(
            ToolCall(str(c.get("id", "")), str(c["function"]["name"]), _arguments(c["function"].get("arguments", "")))
            for c in body.get("tool_calls") or ()
        )
        text, failure = body.get("content") or "", body.get("error")
        if not isinstance(text, str) or not (calls or text or failure is not None or "content" in body):
            raise TypeError
        delay_s = float(body.get("delay_s", 0))
        if not 0 <= delay_s <= LONGEST_DELAY_S:
            raise ValueError
        return Reply(text, calls, None if failure is None else str(failure), delay_s)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise SpecError(
            [Problem('a reply is {"content": "…"}, {"content": null, "tool_calls": […]} or {"error": "…"}', place)]
        ) from None


def _arguments(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _recorded(body: dict[str, Any]) -> Reply | None:
    """What a model said in a session of ours."""
    try:
        event = from_json(body).event
    except NotAnEvent:
        return None
    if isinstance(event, MessageAdded) and event.message.role == "assistant":
        return Reply(event.message.text, event.message.tool_calls)
    return None
