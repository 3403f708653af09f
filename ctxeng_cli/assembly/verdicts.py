"""What a guardrail answers: its verdict on a question or on an answer (SPEC 2).

A guardrail is a function that asks for what it wants by name and answers a verdict; None, or nothing, is a success.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["success", "rewrite", "failure", "fatal", "retry", "reprompt"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """One guardrail's result.

    `success` lets pass; `rewrite` lets another `text` pass; `failure` is collected while the chain goes on; `fatal` stops
    it. Of an answer alone: `retry` asks again with the same request, `reprompt` with the answer and `text` behind it.
    `flags` are remarks on what passed, shown and recorded. `remove`: the rejected answer leaves the memory whatever the store.
    """

    kind: Kind = "success"
    message: str = ""
    text: str | None = None
    flags: tuple[str, ...] = ()
    value: Any = None
    """What a rewritten answer means as a value, where the guardrail has parsed it."""
    remove: bool = False


def success(*flags: str) -> Verdict:
    return Verdict("success", flags=flags)


def rewrite(text: str, message: str = "", value: Any = None) -> Verdict:
    """Let another text pass. `message` says what was changed; it must not hold what was taken out."""
    return Verdict("rewrite", message, text, value=value)


def failure(message: str, *, remove: bool = False) -> Verdict:
    return Verdict("failure", message, remove=remove)


def fatal(message: str) -> Verdict:
    return Verdict("fatal", message)


def retry(message: str) -> Verdict:
    """Ask again with the same request."""
    return Verdict("retry", message)


def reprompt(message: str, text: str) -> Verdict:
    """Ask again, with the rejected answer and a new prompt behind it."""
    return Verdict("reprompt", message, text)
