"""Pins: messages that stay whatever their age (SPEC 3)."""

from __future__ import annotations

from collections.abc import Sequence

from ctxeng_cli.core.history import History
from ctxeng_cli.spec.policy import Pin


class Pins:
    """Which messages of a history are pinned: by a policy, and by a person who brought them back. Looks at a message once."""

    def __init__(self, pins: Sequence[Pin]) -> None:
        self._ids = {pin.message for pin in pins if pin.message}
        self._texts = [pin.contains for pin in pins if pin.contains]
        self._seen = 0
        self._found: set[str] = set()

    def of(self, history: History) -> set[str]:
        if not (self._ids or self._texts):
            return history.restored
        for message in history.newest(self._seen):
            self._seen += 1
            if message.id in self._ids or any(text in message.text for text in self._texts):
                self._found.add(message.id)
        return self._found | history.restored
