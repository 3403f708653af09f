"""Drawing only: entries of the log become rows, bars and lines, and nothing of it decides anything.

Knows the words of `core` and rich; knows no session, no file and no keyboard. All text that comes from models, people,
tools and files goes through `safe` first. `board` folds entries into `drawables`, without rich; `stream` draws them on a
console, `jsonl` writes them as JSON; `panels` and `tables` are pure functions of data.

    safe(text) -> str                                      screen.safe: harmless text, no rich
    console_for(stream, *, width=None, color=None)         screen.console: a rich Console
    LiveScreen(console, *, view="full", …)                 screen.stream: an observer that draws; `.view` may be set
    JsonLines(stream, *, payload=False)                    screen.jsonl: an observer; `ctxeng.event/1` lines
    window_panel(view, …), evictions_panel(drawable), tool_panel(trip)                       screen.panels
    rows_table(title, rows), agents_table(rows), sessions_table(rows), tools_table(rows)     screen.tables
"""
