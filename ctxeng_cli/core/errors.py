"""Every error that ctxeng raises on purpose.

    CtxengError
    ├── SpecError        the spec or a template is wrong; carries every problem found, each with its place
    ├── UsageError       a name, an option or an input is wrong
    ├── InputError       a recording or a log could not be understood
    ├── SessionError     a session can't be opened, read or written
    ├── Overflow         what must stay in the window does not fit in it
    ├── ModelError       a model did not answer; `kind` says why
    ├── ToolError        a tool could not be loaded or run
    └── HookError        a function of the person's own failed, or answered what can't be used

An error is data: what was found, where, and what would be right. Only the commands turn it into text and an exit code.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Where something stands. Lines and columns count from 1; 0 means that the place has none."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return self.file + (f":{self.line}" if self.line else "") + (f":{self.column}" if self.column else "")


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong. `message` is a sentence that ends with what would be right."""

    message: str
    place: Place | None = None
    severity: str = "error"
    """`error` or `warning`."""

    def __str__(self) -> str:
        mark = "" if self.severity == "error" else "warning: "
        return f"{self.place}: {mark}{self.message}" if self.place else f"{mark}{self.message}"


class CtxengError(Exception):
    """The root: one sentence that says what to do next, and a place where there is one."""

    def __init__(self, message: str, place: Place | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.place = place

    def __str__(self) -> str:
        return f"{self.place}: {self.message}" if self.place else self.message


class SpecError(CtxengError):
    """`agents.yaml`, a prompt file or a hook in it is wrong. `problems` holds all that was found, in file order."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(p) for p in self.problems))


class UsageError(CtxengError):
    """A command was called with a name or a value that can't work."""


class InputError(CtxengError):
    """A recording or a stored log could not be understood."""


class SessionError(CtxengError):
    """A session is locked, missing, or its folder can't be used."""


class Overflow(CtxengError):
    """The floor of a window (system message, running question, newest round) does not fit. Names the part and its size."""

    def __init__(self, message: str, *, rule: str, limit: int, measured: int, part: str) -> None:
        super().__init__(message)
        self.rule, self.limit, self.measured, self.part = rule, limit, measured, part


class ModelError(CtxengError):
    """A model did not answer.

    `kind`: `missing_key`, `wrong_model`, `refused` (nobody listens), `timeout`, `rate_limit`, `broken` (died in
    mid-answer), `rejected` (the provider refused the request), `scripted` (a script says so), `other`.
    """

    def __init__(self, message: str, *, kind: str = "other") -> None:
        super().__init__(message)
        self.kind = kind


class HookError(CtxengError):
    """A function that the spec names failed, or answered what can't be used. Names it."""


class ToolError(CtxengError):
    """A tool could not be loaded, or its arguments could not be read."""


def nearest(word: str, known: Iterable[str]) -> str:
    """Answer ` Did you mean "x"?` for the known name closest to `word`, or an empty string when none is close."""
    names = sorted(known)
    folded = {name.lower(): name for name in names}
    close = difflib.get_close_matches(word.lower(), list(folded), n=1, cutoff=0.6)
    return f' Did you mean "{folded[close[0]]}"?' if close else ""
