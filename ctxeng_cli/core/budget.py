"""What a window may hold, why something left it, and what was done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["tokens", "messages"]
Op = Literal["evict", "clear", "cap", "offload", "summarize", "replace", "restore", "drop"]


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit on everything that is sent. `limit` is None for `unlimited`; `reserve` is kept free for the answer.

    Once it is full, as much leaves as brings it down to `low_water` of the room; `leaves` is what leaves together.
    """

    unit: Unit = "tokens"
    limit: int | None = None
    reserve: int = 0
    low_water: float = 1.0
    leaves: Literal["exchange", "message"] = "exchange"

    @property
    def room(self) -> int | None:
        """What a request may use: the limit less the reserve."""
        return None if self.limit is None else self.limit - self.reserve

    @property
    def low(self) -> int | None:
        """What a request is brought down to once it is over the room."""
        return self.room if self.room is None or self.low_water >= 1 else int(self.room * self.low_water)


@dataclass(frozen=True, slots=True)
class Reason:
    """Which rule acted, the limit it holds, the value that was measured, the turn. In the budget's unit."""

    rule: str
    limit: int | None
    measured: int | None
    turn: int


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a window: what was done to which messages, what they weigh in tokens, and why.

    `text` is the hash of a defined part: what stands in the place of the messages' own text (`cap`, `clear`, `offload`), the
    summary that stands for them (`summarize`), or a summary that leaves (`evict`, with no messages) or comes back (`restore`).
    """

    op: Op
    messages: tuple[str, ...]
    tokens: int
    reason: Reason
    text: str | None = None
