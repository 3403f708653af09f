"""Conditions on a replay (`--expect`): on a figure of a policy's row, or on what a request's window holds."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields

from ctxeng_cli.core.errors import UsageError, nearest
from ctxeng_cli.core.events import PolicyRow
from ctxeng_cli.replay.simulate import Row

FIGURES = tuple(f.name for f in fields(PolicyRow) if f.name not in ("policy", "label"))
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "==": operator.eq, "!=": operator.ne, "<": operator.lt, ">": operator.gt,
}  # fmt: skip
_FIGURE = re.compile(r"\s*([a-z_]+)\s*(<=|>=|==|!=|<|>)\s*([0-9][0-9_]*(?:\.[0-9]+)?)\s*")
_WINDOW = re.compile(r"\s*(has|contains)\(\s*(.*?)\s*\)\s*@\s*(last|[1-9][0-9]*)\s*", re.DOTALL)


@dataclass(slots=True)
class Expectation:
    """One condition. `figure` with `sign` and `value`, or `message` or `text` in the window of request `at` (0: the last)."""

    written: str
    figure: str = ""
    sign: str = ""
    value: float = 0.0
    message: str = ""
    text: str = ""
    at: int = 0
    held: dict[int, str | None] = field(default_factory=dict)
    """By the number of the policy: None where it holds, else what was found."""

    def see(self, row: Row) -> None:
        """Look at a request."""
        number = row.request.request
        if self.figure or (self.at and number != self.at):
            return
        if self.message:
            held = self.message in row.request.window
            found = f"the window of request {number} holds {', '.join(row.request.window[:12])}"
        else:
            held = any(self.text in message.text for message in row.sent)
            found = f"no message of request {number} does"
        self.held[row.run] = None if held else found

    def judge(self, run: int, row: PolicyRow) -> str | None:
        """What is wrong under a policy, or None."""
        if self.figure:
            value = getattr(row, self.figure)
            return None if _COMPARE[self.sign](value, self.value) else f"{self.figure} is {value:,}"
        return self.held.get(run, f"there are {row.requests} requests")


def expectation(text: str) -> Expectation:
    """Read a condition. Raises UsageError with what would be right."""
    found = _FIGURE.fullmatch(text)
    if found:
        if found[1] not in FIGURES:
            hint = nearest(found[1], FIGURES) or f" Figures are {', '.join(FIGURES)}."
            raise UsageError(f'--expect {text}: there is no figure "{found[1]}".{hint}')
        return Expectation(text, figure=found[1], sign=found[2], value=float(found[3].replace("_", "")))
    found = _WINDOW.fullmatch(text)
    if found is None:
        raise UsageError(f'--expect {text}: write a figure, such as peak_tokens<=8000, or has(m2)@12, or contains("text")@last')
    at = 0 if found[3] == "last" else int(found[3])
    if found[1] == "has":
        if not re.fullmatch(r"m[1-9][0-9]*", found[2]):
            raise UsageError(f'--expect {text}: has() takes a message id such as m2, not "{found[2]}"')
        return Expectation(text, message=found[2], at=at)
    quoted = re.fullmatch(r"\"(.*)\"|'(.*)'", found[2], re.DOTALL)
    if quoted is None or not (quoted[1] or quoted[2]):
        raise UsageError(f'--expect {text}: contains() takes a text in quotation marks, contains("text")@last')
    return Expectation(text, text=quoted[1] or quoted[2], at=at)
