"""Puts a streamed answer together, chunk by chunk, in OpenAI's chat shape. Pure: no clock, no wire."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from ctxeng_cli.core.events import Usage
from ctxeng_cli.core.messages import ToolCall


@dataclass
class Call:
    """A tool call that grows: its id and name come once and whole, its arguments in pieces."""

    id: str
    name: str
    arguments: list[str] = field(default_factory=list)

    def finished(self) -> ToolCall:
        """A server that gives no id gets one of ours: each call must be answerable."""
        return ToolCall(self.id or f"call_{uuid.uuid4().hex[:12]}", self.name, "".join(self.arguments))


class Pieces:
    """What has come so far. `usage` is None until the server reports it, `model` is the name that the server gives itself."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.calls: list[Call] = []
        self.usage: Any = None
        self.model: str | None = None
        self.finish_reason: str | None = None
        self._at: dict[int, Call] = {}

    @property
    def started(self) -> bool:
        """Whether anything of the answer has come: from here on the call can't be made again."""
        return bool(self.text or self.calls)

    def add(self, chunk: Any) -> str:
        """Take a chunk in; answer the text that is new in it."""
        if usage := getattr(chunk, "usage", None):
            self.usage = usage
        self.model = (getattr(chunk, "_hidden_params", None) or {}).get("provider_response_model") or self.model
        choices = getattr(chunk, "choices", None)
        if not choices:
            return ""
        self.finish_reason = choices[0].finish_reason or self.finish_reason
        delta = choices[0].delta
        for fragment in getattr(delta, "tool_calls", None) or ():
            self._grow(fragment)
        text: str = getattr(delta, "content", None) or ""
        if text:
            self.text.append(text)
        return text

    def _grow(self, fragment: Any) -> None:
        """Some servers repeat id and name in every fragment, some number all calls 0: a new id with a name is a new call."""
        index = fragment.index or 0
        name = getattr(fragment.function, "name", None) or ""
        call = self._at.get(index)
        if call is None or (name and fragment.id and call.id and fragment.id != call.id):
            call = self._at[index] = Call(fragment.id or "", name)
            self.calls.append(call)
        call.id = call.id or fragment.id or ""
        call.name = call.name or name
        call.arguments.append(getattr(fragment.function, "arguments", None) or "")

    def tool_calls(self) -> tuple[ToolCall, ...]:
        return tuple(call.finished() for call in self.calls)


def usage_of(reported: Any) -> Usage:
    """The figures of a report; all zero where there is none."""
    if reported is None:
        return Usage()
    details = getattr(reported, "prompt_tokens_details", None)
    written = getattr(reported, "cache_creation_input_tokens", None) or getattr(details, "cache_creation_tokens", None)
    return Usage(
        input=reported.prompt_tokens or 0,
        output=reported.completion_tokens or 0,
        cached=getattr(details, "cached_tokens", None) or getattr(reported, "cache_read_input_tokens", None) or 0,
        cache_write=written or 0,
    )
