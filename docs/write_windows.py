"""Write the tables of docs/windows.md: `CTXENG_SHARED=../shared python docs/write_windows.py`. The text between them is ours."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.generated import generated
from ctxeng_cli.core.tokens import counter_for
from ctxeng_cli.replay import Run, simulate, summary
from ctxeng_cli.spec import parse_policy
from ctxeng_cli.transcripts import Recording, read

PAGE = Path(__file__).parent / "windows.md"
AIRLINE = "openai_chat_tau_bench_airline.json"
POLICIES = (
    "unlimited", "messages:20", "tokens:B", "tokens:B,low_water=0.7", "tokens:B,unit=message",
    "tokens:B,clear_tool_results=3", "tokens:B,low_water=0.7,clear_tool_results=3", "tokens:B,low_water=0.7,summarize=1",
)  # fmt: skip
HEAD = "| policy | peak | input | evicted | summaries | illegal | overflows | stable |\n|---|--:|--:|--:|--:|--:|--:|--:|\n"


def table(recording: Recording, budget: int) -> str:
    """A row for each policy: tokens at most and in all, messages evicted, what a provider would refuse, what did not fit."""
    lines = []
    for text in POLICIES:
        policy = parse_policy(text.replace("B", str(budget)))
        run = Run(policy)
        row = summary(run, simulate(recording, (run,), counter_for(recording.model)))
        figures = (
            row.peak_tokens, row.input_tokens, row.evicted_messages, row.summaries, row.illegal_requests, row.overflows,
        )  # fmt: skip
        cells = [f"`{policy}`", *(f"{figure:,}" for figure in figures), f"{row.stable_prefix_share:.0%}"]
        lines.append(f"| {' | '.join(cells)} |\n")
    return HEAD + "".join(lines)


def tables(shared: Path | None) -> dict[str, str]:
    """Name of a table in the page → its rows. Without the shared recordings the generated ones alone."""
    long = generated(3200)
    made = {f"generated {budget}": table(long, budget) for budget in (8000, 32_000)}
    if shared is not None:
        airline = read((shared / "transcripts" / AIRLINE).read_bytes(), AIRLINE)
        made |= {f"airline {budget}": table(airline, budget) for budget in (2500, 4500)}
    return made


def written(page: str, shared: Path | None) -> str:
    """The page with its tables made anew."""
    for name, rows in tables(shared).items():
        before, mark, rest = page.partition(f"<!-- {name} -->\n")
        page = before + mark + rows + rest[rest.index("<!-- end -->") :]
    return page


if __name__ == "__main__":
    folder = Path(os.environ.get("CTXENG_SHARED", Path(__file__).parent.parent.parent / "shared"))
    PAGE.write_text(written(PAGE.read_text("utf-8"), folder), encoding="utf-8")
