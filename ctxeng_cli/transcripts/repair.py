"""Mend what a provider would refuse in a recording, losing nothing and saying each change (`replay --fix`).

A pure function of a recording's messages. Ids of messages stay, so that what is said of a message before and after is the
same one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ctxeng_cli.core.messages import Message, Text, ToolCall, number, tool_result
from ctxeng_cli.transcripts.recording import Recording, asked_before_answers

_LONGEST_ID = 40


def repaired(recording: Recording) -> tuple[Recording, tuple[str, ...]]:
    """The recording mended, and what was done to it, in order. Its messages are read whole."""
    whole = recording.messages
    repairs = _Repairs([], 1 + max((number(message.id) for message in whole), default=0))
    messages = repairs.messages(whole)
    request = recording.pending and bool(messages) and messages[-1].role == "assistant"
    mended = replace(recording, source=lambda _: asked_before_answers(messages, request=request))
    return mended, tuple(repairs.said)


@dataclass(slots=True)
class _Repairs:
    said: list[str]
    next: int
    """The number of the next id for a message that is put in."""

    def messages(self, messages: Sequence[Message]) -> list[Message]:
        return self._paired(self._identified(self._filled(messages)))

    def _filled(self, messages: Sequence[Message]) -> list[Message]:
        """Without empty texts, and without messages that hold nothing."""
        kept = []
        for message in messages:
            texts = [block for block in message.content if not (isinstance(block, Text) and not block.text.strip())]
            if len(texts) < len(message.content) and message.role != "tool":
                message = replace(message, content=tuple(texts))
                self.said.append(f"{message.id}: its empty text was left out")
            held = message.content or message.tool_calls or message.extra.get("content") or message.extra.get("items")
            if message.role in ("user", "assistant") and not held:
                self.said.append(f"{message.id}: the empty {message.role} message was left out")
                continue
            kept.append(message)
        return kept

    def _identified(self, messages: Sequence[Message]) -> list[Message]:
        """Calls without an id, with one that is too long, or with one that another call of the message has, get one of
        their own; so do their results, in order."""
        changed: dict[str, list[str]] = {}
        """An old id → the new ones, in call order, that wait for their results."""
        mended = []
        for message in messages:
            if message.tool_calls:
                seen: set[str] = set()
                calls = []
                for place, call in enumerate(message.tool_calls, 1):
                    wrong = not 0 < len(call.id) <= _LONGEST_ID or call.id in seen
                    seen.add(call.id)
                    id = f"call_{message.id}_{place}" if wrong else call.id
                    changed.setdefault(call.id, []).append(id)
                    if wrong:
                        self.said.append(f"{message.id}: the call of {call.name} with the id {call.id[:40]!r} got the id {id!r}")
                    calls.append(replace(call, id=id))
                message = replace(message, tool_calls=tuple(calls))
            elif message.role == "tool":
                waiting = changed.get(message.tool_call_id or "", [])
                if waiting:
                    message = replace(message, tool_call_id=waiting.pop(0))
            mended.append(message)
        return mended

    def _paired(self, messages: Sequence[Message]) -> list[Message]:
        """Every result right behind its call, in call order; a call without one gets one that says so; a result without a
        call, or a second one, becomes a message of the user's, which a provider takes."""
        results: dict[str, list[Message]] = {}
        for message in messages:
            if message.role == "tool":
                results.setdefault(message.tool_call_id or "", []).append(message)
        placed: list[Message] = []
        taken: set[str] = set()
        last = len(messages) - 1
        for at, message in enumerate(messages):
            if message.role == "tool":
                if message.id not in taken:
                    placed.append(self._stray(message))
                continue
            placed.append(message)
            behind = self._results_behind(messages, at)
            for call in message.tool_calls:
                found = next((m for m in results.get(call.id, ()) if m.id not in taken and _later(m, message)), None)
                if found is None:
                    if at + len(behind) < last:
                        placed.append(self._missing(message, call))
                    continue
                taken.add(found.id)
                if found.id not in behind:
                    self.said.append(f"{found.id}: the result of {call.id!r} was moved right behind {message.id}")
                placed.append(found)
        return placed

    @staticmethod
    def _results_behind(messages: Sequence[Message], at: int) -> list[str]:
        ids = []
        for message in messages[at + 1 :]:
            if message.role != "tool":
                break
            ids.append(message.id)
        return ids

    def _missing(self, message: Message, call: ToolCall) -> Message:
        self.said.append(f"{message.id}: the call {call.id!r} of {call.name} had no result; one that says so was put in")
        self.next += 1
        return tool_result(call, f"{call.name} has no recorded result.", is_error=True).with_id(f"m{self.next - 1}")

    def _stray(self, message: Message) -> Message:
        self.said.append(f"{message.id}: a result of {message.tool_call_id!r}, which nothing calls; it became a user message")
        text = f"[Result of a tool call that is not recorded]\n{message.text}"
        return Message("user", (Text(text),), id=message.id)


def _later(result: Message, call: Message) -> bool:
    return number(result.id) > number(call.id)
