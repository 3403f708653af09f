"""Tables of the commands. Rows are plain values; a table that is too wide for its console becomes a list of records."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.text import Text

from ctxeng_cli.core.events import Finding, PolicyRow, ReplayRequest, StageFinished
from ctxeng_cli.screen.layout import Canvas, Drawing, fold
from ctxeng_cli.screen.words import says

GAP = 2
LEAST = 12
"""A last column that would get fewer cells than this makes records of the rows."""


def grid(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "", right: Iterable[str] = ()
) -> RenderableType:
    """A table without a box: every column as wide as it needs, the last one folded into what is left.

    `right` names the columns that hold numbers. Numbers get thousands separators, None is empty.
    """
    kept, to_right = [tuple(row) for row in rows], frozenset(right)
    return Drawing(lambda canvas: _grid(canvas, columns, kept, title, to_right))


def _grid(
    canvas: Canvas, columns: Sequence[str], rows: list[tuple[object, ...]], title: str, right: frozenset[str]
) -> RenderableType:
    cells = [[_cell(canvas, value) for value in row] for row in rows]
    columns = [_cell(canvas, name) for name in columns]
    widths = [max([cell_len(name), *(cell_len(row[i]) for row in cells)]) for i, name in enumerate(columns[:-1])]
    room = canvas.width - sum(widths) - GAP * len(widths)
    lines = [Text(line, "bold") for line in fold(canvas.text(title), canvas.width)] if title else []
    if room < LEAST and len(columns) > 1:
        return Group(*lines, *_records(canvas, columns, cells))
    if any(columns):
        lines += _row(canvas, [*columns], widths, room, columns, right, "bold")
    for row in cells:
        lines += _row(canvas, row, widths, room, columns, right, "")
    return Group(*lines)


def _cell(canvas: Canvas, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}"
    return canvas.line(str(value), 2000)


def _row(
    canvas: Canvas, row: list[str], widths: list[int], room: int, columns: Sequence[str], right: frozenset[str], style: str
) -> list[Text]:
    gap = " " * GAP
    sized = zip(row, widths, columns, strict=False)
    start = "".join(canvas.pad(cell, width, right=name in right) + gap for cell, width, name in sized)
    last = fold(row[-1], room) if row else [""]
    if columns[-1] in right:
        last = [canvas.pad(last[0], min(room, max(cell_len(columns[-1]), 9)), right=True)]
    lines = [start + last[0], *(" " * cell_len(start) + line for line in last[1:])]
    return [Text(line.rstrip(), style, no_wrap=True) for line in lines]


def _records(canvas: Canvas, columns: Sequence[str], rows: list[list[str]]) -> list[Text]:
    """Each row as a paragraph: its first value, the others below it with their names."""
    lines: list[Text] = []
    for row in rows:
        lines += [Text(line, "bold") for line in fold(row[0], canvas.width)]
        for name, value in zip(columns[1:], row[1:], strict=False):
            if value:
                text = f"{name}: {value}" if name else value
                lines += [Text("  " + line, no_wrap=True) for line in fold(text, canvas.width - 2)]
    return lines


def rows_table(title: str, rows: Iterable[tuple[str, object]]) -> RenderableType:
    """Names and what belongs to them."""
    return grid(("", ""), rows, title=title)


def agents_table(rows: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Rows with name, model, window, tools, inputs, description."""
    return grid(
        ("agent", "model", "window", "tools", "inputs", "description"),
        [(r["name"], r.get("model"), r.get("window"), len(r.get("tools") or ()) or None,
          ", ".join(str(i["name"]) for i in r.get("inputs") or ()), r.get("description")) for r in rows],
        right=("tools",),
    )  # fmt: skip


def sessions_table(rows: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Rows with id, agent, turns, messages, changed, first."""
    return grid(
        ("session", "agent", "turns", "messages", "changed", "first message"),
        [(r["id"], r.get("agent"), r.get("turns"), r.get("messages"), _minute(r.get("changed")), r.get("first")) for r in rows],
        right=("turns", "messages"),
    )  # fmt: skip


def _minute(at: object) -> str:
    return str(at or "")[:16].replace("T", " ")


def tools_table(rows: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Rows with name, tokens, description."""
    cells = [(r["name"], r.get("tokens"), r.get("description")) for r in rows]
    return grid(("tool", "tokens", "description"), cells, right=("tokens",))


def stages_table(stages: Iterable[StageFinished]) -> RenderableType:
    """The stages of an assembly."""
    return grid(
        ("stage", "before", "after", "ms", "changed", "detail"),
        [(s.stage, s.tokens_before, s.tokens_after, f"{s.duration_ms:,.1f}", s.changed, s.detail) for s in stages],
        right=("before", "after", "ms"),
    )


def lint_table(findings: Iterable[Finding]) -> RenderableType:
    """What the lint says of a request."""
    return grid(
        ("code", "severity", "part", "finding"),
        [(f.code, f.severity, f.part, f.message + says(f)) for f in findings],
    )


def doctor_table(rows: Iterable[Mapping[str, Any]]) -> RenderableType:
    """Rows with check, state, detail."""
    return grid(("check", "state", "detail"), [(r["check"], r.get("state"), r.get("detail")) for r in rows])


def requests_table(policy: str, rows: Iterable[tuple[int, ReplayRequest]], exact: bool) -> RenderableType:
    """The requests of a replay under one policy: what each would have held, and what had left before it."""

    def draw(canvas: Canvas) -> RenderableType:
        tokens = "tokens" if exact else f"{canvas.about} tokens"
        kept = list(rows)
        recorded = ("recorded",) if any(row.recorded_input is not None for _, row in kept) else ()
        names = ("request", "turn", "messages", tokens, *recorded, "stable", "evicted", "notes")
        cells: list[tuple[object, ...]] = [
            (
                row.request, turn, len(row.window), row.tokens, *((row.recorded_input,) if recorded else ()),
                row.stable_prefix_tokens, len(row.evicted) or None, "; ".join(_notes(row)),
            )
            for turn, row in kept
        ]  # fmt: skip
        return _grid(canvas, names, cells, policy, frozenset(names[:-1]))

    return Drawing(draw)


def _notes(row: ReplayRequest) -> list[str]:
    found = [f"{finding.code}: {finding.message}" for finding in row.lint]
    return [*(["pending"] if row.pending else []), *found, *([row.overflow] if row.overflow else [])]


def policies_table(rows: Iterable[PolicyRow]) -> RenderableType:
    """What a recording comes to, a row for each policy."""
    kept = list(rows)
    numbers: dict[str, Callable[[PolicyRow], object]] = {
        "requests": lambda row: row.requests,
        "peak": lambda row: row.peak_tokens,
        "input": lambda row: row.input_tokens,
        "evicted": lambda row: row.evicted_messages,
        "stable": lambda row: f"{row.stable_prefix_share:.0%}",
        "illegal": lambda row: row.illegal_requests,
    }
    if any(row.summaries for row in kept):
        numbers["summaries"] = lambda row: f"{row.summaries} simulated" if row.label else row.summaries
    if any(row.overflows for row in kept):
        numbers["overflows"] = lambda row: row.overflows
    return grid((*numbers, "policy"), [(*(of(row) for of in numbers.values()), row.policy) for row in kept], right=numbers)
