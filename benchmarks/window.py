"""What windowing costs, as multiples of tokenizing the text once; and how it grows with a conversation. Median of five."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.generated import generated
from ctxeng_cli.core.tokens import counter_for
from ctxeng_cli.replay import Run, simulate
from ctxeng_cli.spec import parse_policy
from ctxeng_cli.transcripts import Recording

ROUNDS = 5
POLICIES = (
    "tokens:8000",
    "tokens:8000,low_water=0.7",
    "tokens:8000,unit=message",
    "tokens:8000,clear_tool_results=3",
    "tokens:8000,cap_result=200",
    "tokens:8000,summarize=4",
    "messages:40",
)


def median_s(act: Callable[[], object]) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def windowing_s(recording: Recording, policy: str) -> float:
    """All requests of a recording under a policy, tokens counted in it."""
    run = Run(parse_policy(policy))
    return median_s(lambda: sum(1 for _ in simulate(recording, (run,), counter_for(recording.model))))


def main() -> None:
    recording = generated(3200)
    counter = counter_for(recording.model)
    counter.text("warm")
    texts = [message.text for message in recording.messages]
    base_s = median_s(lambda: sum(map(counter.text, texts)))
    print(f"tokenizing {len(texts):,} messages once: {base_s * 1000:.0f} ms; median of {ROUNDS}")
    for policy in POLICIES:
        took_s = windowing_s(recording, policy)
        aim = "   (aim: 3 or less)" if policy == "tokens:8000" else ""
        requests = len(recording.asked)
        print(f"all {requests:,} requests under {policy:34} {took_s / base_s:5.2f} times that, {took_s * 1000:5.0f} ms{aim}")
    small, large = windowing_s(generated(1000), "tokens:8000"), windowing_s(generated(10_000), "tokens:8000")
    print(f"ten times the messages take {large / small:5.2f} times as long   (aim: 11 or less)")


if __name__ == "__main__":
    main()
