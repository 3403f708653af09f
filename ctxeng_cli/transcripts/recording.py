"""What an importer yields."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ctxeng_cli.core.messages import Message
from ctxeng_cli.core.request import ToolDefinition


@dataclass(frozen=True, slots=True)
class Recording:
    """A recorded conversation. Message ids are `m1`, `m2`, … in its order.

    `asked` says where a model was asked: the number of messages that stood before each request. `pending` marks the last
    request as one that the recording holds no answer to.
    """

    format: str
    messages: tuple[Message, ...]
    asked: tuple[int, ...]
    pending: bool = False
    tools: tuple[ToolDefinition, ...] = ()
    model: str = ""
    notes: tuple[str, ...] = ()
    """What the format does not say, and what was not understood."""


def numbered(messages: Iterable[Message]) -> tuple[Message, ...]:
    """The messages with ids in their order."""
    return tuple(message.with_id(f"m{number}") for number, message in enumerate(messages, 1))


def asked_before_answers(messages: tuple[Message, ...]) -> tuple[tuple[int, ...], bool]:
    """Where a bare list of messages implies requests: one before each assistant message, and one more where it ends with a
    question or with tool results (SPEC 8)."""
    asked = [at for at, message in enumerate(messages) if message.role == "assistant" and at > 0]
    pending = bool(messages) and messages[-1].role in ("user", "tool")
    return (*asked, *((len(messages),) if pending else ())), pending
