"""What a turn costs as a session grows, as multiples of an early turn, within one open session and with the same window."""

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
FULL = ("tokens:500", "messages:16", "tokens:500,low_water=0.7", "messages:16,summarize=4")
"""Windows that are full after twenty messages: then nothing but the session's length differs."""
ROUNDS = 5
SPEC = """\
version: 1
agents:
  a: {model: "scripted:a.jsonl", system: Be brief., memory: {window: WINDOW}}
"""


def turns_s(window: str, turns: int) -> list[float]:
    """The time of each turn of a session. The model answers at once, so that it is the engine's share."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "agents.yaml").write_text(SPEC.replace("WINDOW", f'"{window}"'))
        (folder / "a.jsonl").write_text('{"content": "An answer of a dozen words or so, as they often are."}\n')
        session = open_session(load(folder / "agents.yaml"), "a", store=FileStore(folder), environ={})

        async def talk() -> list[float]:
            times = []
            for number in range(turns):
                start = time.perf_counter()
                await session.say(f"Question {number}: what follows from what was said?")
                times.append(time.perf_counter() - start)
            return times

        try:
            return asyncio.run(talk())
        finally:
            session.close()


def grown(window: str) -> tuple[float, float]:
    """The median of twenty turns after 20 messages, and after 2,000, in seconds."""
    times = turns_s(window, 1020)
    return statistics.median(times[10:30]), statistics.median(times[1000:1020])


def main() -> None:
    for window in FULL:
        pairs = [grown(window) for _ in range(ROUNDS)]
        early, late = (statistics.median(figures) for figures in zip(*pairs, strict=True))
        raw = f"{early * 1000:.2f} ms and {late * 1000:.2f} ms, median of {ROUNDS}"
        what = f"a turn after 2,000 messages as a multiple of one after 20, window {window:26}"
        print(f"{what} {late / early:5.2f}   (aim: 1.5 or less), {raw}", flush=True)
    for window in WINDOWS:
        times = turns_s(window, TURNS)
        spans = [statistics.median(times[at : at + SPAN]) for at in range(0, TURNS, SPAN)]
        early, late = spans[1], statistics.median(spans[-3:])
        print(f"turn {TURNS:,} as a multiple of turn {2 * SPAN:,}, window {window:12} {late / early:5.2f}   (aim: 2 or less)")


if __name__ == "__main__":
    main()
