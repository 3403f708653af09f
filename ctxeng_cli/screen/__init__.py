"""Drawing only: entries of the log become rows, bars and lines, and nothing of it decides anything.

Knows the words of `core` and rich; knows no session, no file and no keyboard. All text that comes from models, people,
tools and files goes through `safe` first. `board` folds entries into `drawables`, without rich; `stream` draws them on a
console, `plain` writes them as lines, `jsonl` as JSON; `panels` and `tables` are pure functions of data.

    safe(text) -> str                                      screen.safe: harmless text, no rich
    console_for(stream, *, width=None, color=None)         screen.console: a rich Console
    LiveScreen(console, *, view="full", counter=None, state=None, answers=True, questions=False)   screen.stream: an observer;
                                                           `.view` and `.counter` may be set while it runs
    PlainScreen(stream, *, view="off", counter=None, state=None, answers=True, questions=False)    screen.plain: without rich
    JsonLines(stream, *, payload=False)                    observer; `ctxeng.event/1` lines
    window_panel(view, *, view_mode="full", max_rows=None, details=False), evictions_panel(drawable), tool_panel(trip),
    message_panel(role, text, id="", tokens=None), error_text(text), notice_text(notice)            screen.panels
    rows_table(title, rows), grid(columns, rows, *, title="", right=()), agents_table(rows), sessions_table(rows),
    tools_table(rows), stages_table(stages), lint_table(findings), doctor_table(rows)               screen.tables
"""

from __future__ import annotations

from typing import Any

_DOOR = {
    "SafeStream": "safe", "Board": "board", "evictions": "board", "console_for": "console", "JsonLines": "jsonl",
    "LiveScreen": "stream", "PlainScreen": "plain",
    "window_panel": "panels", "evictions_panel": "panels", "tool_panel": "panels", "message_panel": "panels",
    "error_text": "panels", "notice_text": "panels",
    "rows_table": "tables", "grid": "tables", "agents_table": "tables", "sessions_table": "tables", "tools_table": "tables",
    "stages_table": "tables", "lint_table": "tables", "doctor_table": "tables",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """What the door hands out, loaded when it is asked for: plain output must not pay for rich."""
    if name not in _DOOR:
        raise AttributeError(name)
    import importlib

    return getattr(importlib.import_module(f"ctxeng_cli.screen.{_DOOR[name]}"), name)
