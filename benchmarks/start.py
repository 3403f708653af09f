"""How long the commands take to start, as multiples of `python -c pass` (median of five). Aims: 7 for help, 25 for a prompt."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pexpect

ROOT = Path(__file__).parent.parent
CTXENG = str(Path(sys.executable).with_name("ctxeng"))
ROUNDS = 5
AIMS = {"ctxeng --help": 7, "ctxeng chat --help": 7, "ctxeng chat guide, to the first prompt": 25}
PROMPT = "guide>"  # what follows it is moved there by the cursor


def median_s(act: Callable[[], object]) -> float:
    """The median time of an act, after one that warms the disk's cache."""
    act()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def run(*command: str) -> Callable[[], object]:
    return lambda: subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=ROOT)


def first_prompt_s(data: str) -> float:
    """From the start of `chat guide` in a terminal until its prompt is drawn. Leaving is not measured."""
    environment: dict[str, str] = {**os.environ, "TERM": "xterm-256color", "XDG_DATA_HOME": data, "COLUMNS": "100"}
    start = time.perf_counter()
    child = pexpect.spawn(
        CTXENG, ["chat", "guide"], cwd=str(ROOT), env=environment, dimensions=(30, 100), encoding="utf-8", timeout=30
    )
    child.expect_exact(PROMPT)
    took_s = time.perf_counter() - start
    child.sendeof()
    child.close(force=True)
    return took_s


def main() -> None:
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # it would have every start compile the package again
    base_s = median_s(run(sys.executable, "-c", "pass"))
    print(f"python -c pass: {base_s * 1000:.0f} ms; all else as multiples of it, median of {ROUNDS}")
    with tempfile.TemporaryDirectory() as data:
        first_prompt_s(data)
        took = {
            "ctxeng --help": median_s(run(CTXENG, "--help")),
            "ctxeng chat --help": median_s(run(CTXENG, "chat", "--help")),
            "ctxeng chat guide, to the first prompt": statistics.median(first_prompt_s(data) for _ in range(ROUNDS)),
        }
    for name, s in took.items():
        print(f"{name:40} {s / base_s:5.1f}   (aim: {AIMS[name]} or less)")


if __name__ == "__main__":
    main()
