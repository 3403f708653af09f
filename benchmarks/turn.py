"""What a turn costs as a session grows, as multiples of an early turn. Aim: 2 or less under a bounded window, at any length."""

from __future__ import annotations

import asyncio
import statistics
import tempfile
import time
from pathlib import Path

from ctxeng_cli.session import FileStore, open_session
from ctxeng_cli.spec import load

TURNS = 3000
SPAN = 100
WINDOWS = ("tokens:4000", "messages:40")
SPEC = """\
version: 1
agents:
  a: {model: "scripted:a.jsonl", system: Be brief., memory: {window: WINDOW}}
"""


def spans_s(window: str, folder: Path) -> list[float]:
    """The median time of a turn, for each span of turns."""
    (folder / "agents.yaml").write_text(SPEC.replace("WINDOW", f'"{window}"'))
    (folder / "a.jsonl").write_text('{"content": "An answer of a dozen words or so, as they often are."}\n')
    session = open_session(load(folder / "agents.yaml"), "a", store=FileStore(folder), environ={})

    async def talk() -> list[float]:
        spans = []
        for _ in range(TURNS // SPAN):
            times = []
            for number in range(SPAN):
                start = time.perf_counter()
                await session.say(f"Question {number}: what follows from what was said?")
                times.append(time.perf_counter() - start)
            spans.append(statistics.median(times))
        return spans

    try:
        return asyncio.run(talk())
    finally:
        session.close()


def main() -> None:
    for window in WINDOWS:
        with tempfile.TemporaryDirectory() as folder:
            spans = spans_s(window, Path(folder))
        early, late = spans[1], statistics.median(spans[-3:])
        print(f"turn {TURNS:,} as a multiple of turn {2 * SPAN:,}, window {window:12} {late / early:5.2f}   (aim: 2 or less)")


if __name__ == "__main__":
    main()
