"""The bar of a window by kind of part, and its legend. A kind is a letter before it is a colour."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.text import Text

from ctxeng_cli.core.view import Context
from ctxeng_cli.screen.layout import Canvas
from ctxeng_cli.screen.words import free_of, kind_tokens


@dataclass(frozen=True, slots=True)
class Fill:
    """How a kind of part is drawn."""

    letter: str
    style: str


KINDS: dict[str, Fill] = {
    "tools": Fill("T", "black on yellow"),
    "system": Fill("S", "black on cyan"),
    "summary": Fill("M", "black on bright_cyan"),
    "context": Fill("C", "black on bright_magenta"),
    "retrieved": Fill("R", "black on bright_green"),
    "format": Fill("F", "black on bright_yellow"),
    "history": Fill("H", "black on blue"),
    "user": Fill("U", "black on green"),
    "tool_call": Fill("c", "black on magenta"),
    "tool_result": Fill("r", "black on bright_blue"),
    "overhead": Fill("o", "black on white"),
}
OTHER = Fill("?", "black on red")


def share(weights: list[int], cells: int) -> list[int]:
    """Cells for each weight by largest remainder; what weighs anything gets a cell as long as there are enough, and where
    there are too few the heavy ones do."""
    total = sum(weights)
    if total <= 0 or cells <= 0:
        return [0] * len(weights)
    exact = [weight * cells / total for weight in weights]
    given = [max(int(part), 1) if weight else 0 for part, weight in zip(exact, weights, strict=True)]
    order = sorted(range(len(weights)), key=lambda i: exact[i] - given[i], reverse=True)
    while sum(given) < cells:
        for i in order:
            if weights[i] and sum(given) < cells:
                given[i] += 1
    while sum(given) > cells:
        most = max(given)
        given[min((i for i, count in enumerate(given) if count == most), key=lambda i: weights[i])] -= 1
    return given


def bar(canvas: Canvas, view: Context, cells: int) -> Text:
    """The window in one line: kinds, what is free, what is kept for the answer."""
    sums = kind_tokens(view)
    used, free, reserve = _shares(view.budget, sum(sums.values()))
    filled, empty, kept = share([used, free, reserve], cells)
    wanted = min(sum(count > 0 for count in sums.values()), filled + empty)  # a cell for each kind, if it costs free ones
    filled, empty = max(filled, wanted), empty - max(wanted - filled, 0)
    text = Text(no_wrap=True)
    for kind, count in zip(sums, share(list(sums.values()), filled), strict=True):
        fill = KINDS.get(kind, OTHER)
        text.append(fill.letter * count, fill.style)
    text.append((canvas.dot if canvas.unicode else ".") * empty, "dim")
    text.append("=" * kept, "dim")
    return text


def _shares(budget: Mapping[str, Any], tokens: int) -> tuple[int, int, int]:
    """What the bar is divided into, in the budget's unit: used, free, reserve."""
    limit = budget.get("limit")
    if not limit:
        return max(tokens, 1), 0, 0
    used = max(int(budget.get("used") or 0), 0)
    reserve = max(int(budget.get("reserve") or 0), 0)
    return used, max(int(limit) - used - reserve, 0), reserve


def legend(canvas: Canvas, view: Context, cells: int) -> list[Text]:
    """What the letters mean, with tokens; as many on a line as fit."""
    budget, sums = view.budget, kind_tokens(view)
    items = [(KINDS.get(kind, OTHER), f"{canvas.line(kind)} {tokens:,}") for kind, tokens in sums.items()]
    if budget.get("limit"):
        items.append((Fill(canvas.dot if canvas.unicode else ".", "dim"), f"free {max(free_of(view), 0):,}"))
        if budget.get("reserve"):
            items.append((Fill("=", "dim"), f"reserve {int(budget['reserve']):,}"))
    lines: list[Text] = [Text()]
    for fill, words in items:
        gap = 2 if lines[-1].plain else 0
        if cell_len(lines[-1].plain) + gap + 2 + cell_len(words) > cells and gap:
            lines.append(Text())
            gap = 0
        lines[-1].append(" " * gap)
        lines[-1].append(fill.letter, fill.style)
        lines[-1].append(" " + canvas.cut(words, max(cells - 2, 1)))
    return lines
