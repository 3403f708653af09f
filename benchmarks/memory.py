"""Peak memory of a replay of long recordings: 200 MB of our own log, and 200 MB of OpenAI messages, line by line."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.generated import generated
from ctxeng_cli.core.codec import dumps
from ctxeng_cli.core.events import (
    Entry,
    Event,
    MessageAdded,
    ModelAnswered,
    RequestSent,
    SessionOpened,
    TurnFinished,
    TurnStarted,
    Usage,
)
from ctxeng_cli.core.messages import Message, ranges
from ctxeng_cli.core.request import openai_message

MEGABYTES = int(sys.argv[1]) if len(sys.argv) > 1 else 200
AIM_MB = 300
RUNS = (
    ("--policy", "tokens:8000,overflow=keep"),
    ("--policy", "tokens:8000,low_water=0.7,clear_tool_results=3", "--policy", "messages:40"),
)
CHILD = """
import resource, sys
from ctxeng_cli.cli.main import main
sys.argv = ["ctxeng", *sys.argv[1:]]
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)
"""


def messages() -> Iterator[Message]:
    """The generated conversation again and again, without its system message but the first time."""
    number = 0
    talk = generated(3200, seed=7).messages
    while True:
        for message in talk if number == 0 else talk[1:]:
            number += 1
            yield message.with_id(f"m{number}")


def our_log(path: Path) -> None:
    """A log as a session writes it: each request with its window of the last messages, each answer with its usage."""
    seq = turn = request = 0
    window: list[str] = []
    opened = SessionOpened(session="s", model="offline", policy="tokens:8000", tokenizer="o200k_base", spec="sha256:0")
    with path.open("w", encoding="utf-8") as file:

        def write(event: Event) -> None:
            nonlocal seq
            seq += 1
            file.write(dumps(Entry(seq, "2026-12-01T09:00:00.000+00:00", turn, "a", event)) + "\n")

        write(opened)
        for message in messages():
            if path.stat().st_size > MEGABYTES * 1_000_000:
                break
            if message.role == "user":
                turn += 1
                write(TurnStarted(inputs={}, clock="2026-12-01T09:00:00.000+00:00"))
            if message.role == "assistant":
                request += 1
                held = ranges(tuple(window[-60:]))
                write(
                    RequestSent(request=request, round=1, window=held, parts=held, tokens={"history": 9}, fingerprint="sha256:0")
                )
            write(MessageAdded(message=message, tokens=9))
            window.append(message.id)
            if message.role == "assistant":
                write(ModelAnswered(message=message.id, usage=Usage(900, 40)))
                if not message.tool_calls:
                    write(TurnFinished(text=message.text[:40], message=message.id))


def openai_lines(path: Path) -> None:
    with path.open("w", encoding="utf-8") as file:
        for message in messages():
            if path.stat().st_size > MEGABYTES * 1_000_000:
                break
            body: dict[str, Any] = openai_message(message)
            file.write(json.dumps(body) + "\n")


def replayed(path: Path, options: tuple[str, ...]) -> tuple[int, float, int]:
    """Peak memory in MB, seconds, and how many lines came out."""
    started = time.perf_counter()
    command = [sys.executable, "-c", CHILD, "replay", str(path), *options, "--json"]
    with tempfile.TemporaryFile() as out:
        ended = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, text=True)
        out.seek(0)
        lines = sum(1 for _ in out)
    return int(ended.stderr.splitlines()[-1]), time.perf_counter() - started, lines


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, make in (("our log", our_log), ("OpenAI messages", openai_lines)):
            path = Path(folder) / f"{name.split()[0]}.jsonl"
            make(path)
            for options in RUNS:
                peak, took_s, lines = replayed(path, options)
                policies = " ".join(option for option in options if option != "--policy")
                size = path.stat().st_size // 1_000_000
                figures = f"{peak:4} MB at its peak   (aim: {AIM_MB} or less), {took_s:.0f} s, {lines:,} lines"
                print(f"{size} MB of {name:16} {policies:65} {figures}", flush=True)
            path.unlink()


if __name__ == "__main__":
    main()
