"""Boxes for what happens in a session, each a pure function of data: evictions, tool round trips, notices."""

from __future__ import annotations

import json

from rich.console import Group, RenderableType
from rich.text import Text

from ctxeng_cli.screen.drawables import Answered, Evictions, Notice, ToolTrip
from ctxeng_cli.screen.layout import Canvas, Drawing, box, fold, paragraph
from ctxeng_cli.screen.safe import encodable, safe
from ctxeng_cli.screen.window import window_panel
from ctxeng_cli.screen.words import answered_words, edit_text

__all__ = [
    "LISTED", "answered_text", "evictions_panel", "notice_text", "plain_text", "tool_line", "tool_panel", "window_panel",
]  # fmt: skip

LISTED = 400
"""Parts that a person at a terminal is shown of one window; a pipe and --json get all, and --part any."""
RESULT_LINES = 12
RESULT_CHARACTERS = 1_200
NOTICE_CHARACTERS = 4_000
NAMED = 12
"""Messages that an eviction lists one by one."""


def evictions_panel(evictions: Evictions) -> RenderableType:
    """What left the window or changed in it, by which rule, with the head of each message."""
    return Drawing(lambda canvas: _evictions(canvas, evictions))


def _evictions(canvas: Canvas, evictions: Evictions) -> RenderableType:
    lines: list[Text] = []
    for edit, messages in evictions.rows:
        lines += [Text(line, "bold") for line in fold(canvas.line(edit_text(edit)), canvas.inner)]
        for message in messages[:NAMED]:
            tokens = canvas.pad(f"{message.tokens:,}", 7, right=True)
            id, role = canvas.pad(canvas.line(message.id), 5), canvas.pad(canvas.line(message.role), 9)
            row = f"  {id} {role} {tokens}  {canvas.line(message.text)}"
            lines.append(Text(canvas.cut(row, canvas.inner), "" if edit.op == "restore" else "dim"))
        if len(messages) > NAMED:
            rest = f"  {canvas.ellipsis} {len(messages) - NAMED:,} more, {messages[NAMED].id} to {messages[-1].id}"
            lines.append(Text(canvas.cut(canvas.line(rest), canvas.inner), "dim"))
    lines += [Text(line) for line in fold(f"{evictions.window:,} tokens of messages are left in the window", canvas.inner)]
    title = canvas.join(("window edited", f"turn {evictions.turn}", canvas.line(evictions.agent)))
    return box(canvas, title, lines, "yellow")


def tool_panel(trip: ToolTrip) -> RenderableType:
    """One tool round trip: call, arguments, result. A long result is cut and the cut is told."""
    return Drawing(lambda canvas: _tool(canvas, trip))


def _tool(canvas: Canvas, trip: ToolTrip) -> RenderableType:
    state = "running" if trip.running else "ERROR" if trip.is_error else "ok"
    time = "" if trip.running else f"{trip.duration_s:,.2f} s"
    title = canvas.join((f"tool {canvas.line(trip.name, 200)}", state, time))
    lines = [line for text in _arguments(trip.arguments) for line in paragraph(canvas, text)]
    if trip.text is not None:
        lines.append(Text(canvas.cut(f"result, {trip.tokens:,} tokens", canvas.inner), "dim"))
        shown, notice = cut_result(canvas, trip)
        lines += [Text(line.plain, "red" if trip.is_error else "") for line in shown]
        if notice:
            lines += [Text(line, "dim") for line in fold(notice, canvas.inner)]
    return box(canvas, title, lines, "red" if trip.is_error else "magenta")


def tool_line(trip: ToolTrip) -> RenderableType:
    """A call, or what came of it, in one line without a box."""

    def build(canvas: Canvas) -> RenderableType:
        call, back = ("▸", "◂") if canvas.unicode else (">", "<")
        name = canvas.line(trip.name, 200)
        if trip.text is None:
            words = f"{call} {name} {canvas.line(trip.arguments)}"
        else:
            state = "ERROR" if trip.is_error else "ok"
            words = canvas.join(
                (f"{back} {name}", state, f"{trip.duration_s:,.2f} s", f"{trip.tokens:,} tokens", canvas.line(trip.text))
            )
        return Text(canvas.cut(words, canvas.width), "red" if trip.is_error else "magenta", no_wrap=True)

    return Drawing(build)


def _arguments(arguments: str) -> list[str]:
    """`name: value` for each argument; the text as it is where it is no JSON object."""
    head = arguments[:RESULT_CHARACTERS]
    if len(arguments) > RESULT_CHARACTERS:
        return [f"{head} (and {len(arguments) - RESULT_CHARACTERS:,} more characters)"]
    try:
        body = json.loads(arguments or "{}")
        if not isinstance(body, dict):
            return [head]
        return [
            f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}" for key, value in body.items()
        ]
    except (ValueError, RecursionError):
        return [head]


def cut_result(canvas: Canvas, trip: ToolTrip) -> tuple[list[Text], str]:
    """The head of a result as lines, and a sentence on what is not shown."""
    text = trip.text or ""
    head = text[:RESULT_CHARACTERS]
    lines = paragraph(canvas, head)
    whole = len(lines) <= RESULT_LINES and len(head) == len(text)
    shown = lines[:RESULT_LINES]
    if whole:
        return shown, "" if trip.whole or len(text) < 400 else f"the head of {trip.tokens:,} tokens"
    seen = min(len(head), sum(len(line.plain) + 1 for line in shown))
    return shown, f"cut here: {max(len(text) - seen, 1):,} of {len(text):,} characters are not shown here"


def plain_text(text: str, style: str = "") -> RenderableType:
    """Untrusted text without a box, as it is; the terminal folds it."""
    return Drawing(lambda canvas: Text(encodable(safe(text), canvas.encoding), style, overflow="fold"))


def notice_text(notice: Notice) -> RenderableType:
    """A sentence of ours about untrusted things; its level is a word before it is a colour."""
    mark = {"error": "error: ", "warning": "! "}.get(notice.level, "- ")
    more = len(notice.text) - NOTICE_CHARACTERS
    text = notice.text if more <= 0 else f"{notice.text[:NOTICE_CHARACTERS]} ({more:,} more characters)"
    return plain_text(mark + text, {"error": "bold red", "warning": "yellow"}.get(notice.level, "dim"))


def answered_text(answered: Answered) -> RenderableType:
    """What an answer cost, in one line."""

    def build(canvas: Canvas) -> RenderableType:
        words = canvas.line(canvas.join(answered_words(answered)))
        return Group(*(Text("  " + line, "dim") for line in fold(words, canvas.width - 2)))

    return Drawing(build)
