"""Passages: pieces of text that a retriever gave, each with where it stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document, or a message of a session.

    `source` is the file as the person would name it, or what else holds the text; lines count from 1, both inclusive.
    `session` and `message` are set where it was said in a session. Two passages are the same where text and metadata are.
    """

    text: str
    source: str = ""
    line: int | None = None
    end_line: int | None = None
    session: str | None = None
    message: str | None = None
    score: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What else is known of it, by name: `title`, `page`, … What `retrieval.metadata` may name besides the fields here."""

    @property
    def place(self) -> str:
        """`docs/windows.md:12-40`, or `session guide-1, m7`."""
        if self.session is not None:
            return f"session {self.session}" + (f", {self.message}" if self.message else "")
        lines = "" if self.line is None else f":{self.line}" + (f"-{self.end_line}" if self.end_line else "")
        return self.source + lines
