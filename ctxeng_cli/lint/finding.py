"""How a rule says what it has found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ctxeng_cli.core.events import Finding
from ctxeng_cli.core.messages import Message


def error(code: str, message: str, says: str, part: str | None = None) -> Finding:
    """The provider would refuse the request."""
    return Finding(code, "error", message, says, part or None)


def warning(code: str, message: str, part: str | None = None, says: str = "") -> Finding:
    """The provider would take the request, and it does harm."""
    return Finding(code, "warning", message, says, part or None)


def in_order(findings: Iterable[Finding], messages: Sequence[Message]) -> tuple[Finding, ...]:
    """The findings in the order of the messages that they name; what names none comes first."""
    found = list(findings)
    if len(found) < 2:
        return tuple(found)
    place = {message.id: at for at, message in enumerate(messages)}
    return tuple(sorted(found, key=lambda finding: place.get(finding.part or "", -1)))


def listed(ids: Iterable[str]) -> str:
    return ", ".join(map(repr, ids))
