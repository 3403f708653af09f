"""The panel of an assembled window: figures, a bar by kind, and in full the table of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from ctxeng_cli.core.view import Context, Part
from ctxeng_cli.screen.layout import Canvas, Drawing, box, fold
from ctxeng_cli.screen.meter import KINDS, OTHER, bar, legend
from ctxeng_cli.screen.words import (
    GONE,
    calibrated,
    figures,
    finding_text,
    free_of,
    is_exact,
    reason_text,
    source_label,
    stage_text,
)

NARROW = 60
"""Below this many cells a part takes two lines."""


def window_panel(view: Context, *, view_mode: str = "full", max_rows: int | None = None, details: bool = False) -> RenderableType:
    """The window of one request. `bar` has no table; `max_rows` folds the middle of a long one into a line of sums;
    `details` adds the stages and the lint findings."""
    return Drawing(lambda canvas: _panel(canvas, view, view_mode, max_rows, details))


def _panel(canvas: Canvas, view: Context, view_mode: str, max_rows: int | None, details: bool) -> RenderableType:
    cells = canvas.inner
    title = canvas.join(
        ("window" if cells >= NARROW else "", f"turn {view.turn}", f"request {view.request}", canvas.line(view.agent))
    )
    lines = [Text(line) for line in fold(canvas.join((canvas.line(view.model), _tokenizer(canvas, view))), cells)]
    over = free_of(view) < 0
    lines += [Text(line, "bold red" if over else "") for line in fold(figures(view), cells)]
    lines.append(bar(canvas, view, cells))
    lines += legend(canvas, view, cells)
    if view_mode == "full":
        lines.append(Text())
        lines += part_lines(canvas, view.parts, max_rows)
    if details:
        lines += _stage_lines(canvas, view)
        lines += _lint_lines(canvas, view)
    elif view.lint:
        codes = ", ".join(dict.fromkeys(finding.code for finding in view.lint))
        lines += [Text(line, "red") for line in fold(canvas.line(f"lint: {codes}"), cells)]
    return box(canvas, title, lines, "red" if over else "cyan")


def _tokenizer(canvas: Canvas, view: Context) -> str:
    name = canvas.line(view.tokenizer)
    return name if is_exact(view) else f"{canvas.about} {name}{calibrated(view, canvas.times)}"


# -- the table of parts ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Folded:
    """Parts that a long table does not list."""

    parts: tuple[Part, ...]


def part_lines(canvas: Canvas, parts: Sequence[Part], max_rows: int | None = None) -> list[Text]:
    """The table of parts: one line each, two where it is narrow; what a rule did stands below its part."""
    lines: list[Text] = []
    ids = max([4, *(len(part.id) for part in parts[-1:])])
    if canvas.inner >= NARROW:
        lines.append(_wide(canvas, ids, ("part", "kind", "tokens", "state", "source", "preview"), "bold"))
    for row in _chosen(parts, max_rows):
        if isinstance(row, _Folded):
            gone = sum(part.state in GONE for part in row.parts)
            ghosts = f", {gone:,} of them out of the window" if gone else ""
            tokens = sum(part.tokens for part in row.parts)
            text = f"{canvas.ellipsis} {len(row.parts):,} parts more, {tokens:,} tokens{ghosts}"
            lines += [Text(line, "dim") for line in fold(text, canvas.inner)]
        else:
            lines += _part(canvas, ids, row)
    return lines


def _chosen(parts: Sequence[Part], max_rows: int | None) -> list[Part | _Folded]:
    """All parts, or the first and the newest of them with the middle folded. Ghosts give way before what is sent."""
    if max_rows is None or len(parts) <= max_rows:
        return list(parts)
    sent = [i for i, part in enumerate(parts) if part.state not in GONE]
    head = [i for i in sent if parts[i].kind in ("system", "tools", "summary", "context", "format")][: max_rows // 3]
    rest = [i for i in sent if i not in head]
    ghosts = [i for i, part in enumerate(parts) if part.state in GONE][-max(max_rows // 4, 1) :]
    room = max(max_rows - len(head) - min(len(ghosts), max_rows // 4), 1)
    keep = {*head, *rest[-room:], *ghosts}
    rows: list[Part | _Folded] = []
    folded: list[Part] = []
    for i, part in enumerate(parts):
        if i not in keep:
            folded.append(part)
            continue
        if folded:
            rows.append(_Folded(tuple(folded)))
            folded = []
        rows.append(part)
    return [*rows, _Folded(tuple(folded))] if folded else rows


def _part(canvas: Canvas, ids: int, part: Part) -> list[Text]:
    """One part; `ids` cells are kept for its id."""
    gone = part.state in GONE
    style = "dim" if gone else ""
    source = source_label(part.source, part.message)
    id, kind, state, preview = (canvas.line(text) for text in (part.id, part.kind, part.state, part.preview))
    tokens = f"{part.tokens:,}"
    if canvas.inner >= NARROW:
        lines = [_wide(canvas, ids, (id, kind, tokens, state, source, preview), style)]
    else:
        columns = (canvas.pad(id, ids), canvas.pad(kind, 11), canvas.pad(tokens, 8, right=True), state)
        lines = [Text(canvas.cut(" ".join(columns), canvas.inner), style)]
        below = canvas.join((_tail(canvas, source, 18), preview))
        lines += [Text("  " + canvas.cut(below, canvas.inner - 2), style)] if below else []
    if part.reason is not None:
        text = f"{part.state} by {reason_text(part.reason)}"
        lines += [Text("  " + line, style or "yellow") for line in fold(canvas.line(text), canvas.inner - 2)]
    fill = KINDS.get(part.kind, OTHER)
    if not gone:
        lines[0].stylize(fill.style.partition(" on ")[2], ids + 1, ids + 1 + min(len(kind), 11))
    return lines


def _wide(canvas: Canvas, ids: int, row: tuple[str, str, str, str, str, str], style: str) -> Text:
    id, kind, tokens, state, source, preview = row
    wide = canvas.inner >= 110
    columns = (
        canvas.pad(id, ids),
        canvas.pad(kind, 11),
        canvas.pad(tokens, 9 if wide else 7, right=True),
        canvas.pad(state, 10 if wide else 9),
        canvas.pad(_tail(canvas, source, 30 if wide else 18), 30 if wide else 18),
    )
    start = " ".join(columns) + " "
    return Text(canvas.cut(f"{start}{preview}", canvas.inner), style)


def _tail(canvas: Canvas, source: str, cells: int) -> str:
    """A source cut from the front: the end of a path and its line say more."""
    text = canvas.line(source[-400:])
    if cell_len(text) <= cells:
        return text
    while cell_len(text) > cells - len(canvas.ellipsis):
        text = text[1:]
    return canvas.ellipsis + text


def _stage_lines(canvas: Canvas, view: Context) -> list[Text]:
    if not view.stages:
        return []
    arrow = "→" if canvas.unicode else "->"
    words = canvas.join(stage_text(stage, arrow) for stage in view.stages)
    return [Text(line, "dim") for line in fold(canvas.line(f"stages: {words}", 2000), canvas.inner)]


def _lint_lines(canvas: Canvas, view: Context) -> list[Text]:
    lines: list[Text] = []
    for finding in view.lint:
        style = "red" if finding.severity == "error" else "yellow"
        lines += [Text(line, style) for line in fold(canvas.line(finding_text(finding), 1000), canvas.inner)]
    return lines
