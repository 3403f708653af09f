"""The cases of public bug reports that lie beside the project (CTXENG_SHARED): areas yaml and terminal.

Steps that replay or inspect another tool's recording wait for the importers; what a case expects of the other steps
holds now. A case is run with its folder as working directory and an empty HOME.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.commands import Ran, ctxeng, in_terminal

SHARED = os.environ.get("CTXENG_SHARED")
AREAS = ("yaml", "terminal", "pairs and windows", "compaction", "counting", "prompt cache")
LOOKED_AT = ("steps", "last", "repeat", "max_seconds", "max_rss_mb")
"""What is expected of the whole case, not of what one step said."""
ALSO = (
    "B37",
    "B40",
    "B44",
    "B49",
    "B60",
    "B62",
    "B63",
    "B65",
    "B66",
    "B70",
    "B77",
    "B80",
    "B81",
    "B82",
)
"""Of other areas, what is built already."""


def cases() -> list[dict[str, Any]]:
    if SHARED is None:
        return []
    found = [json.loads(path.read_text()) for path in sorted((Path(SHARED) / "cases").glob("B*.json"))]
    return [case for case in found if case["area"] in AREAS or case["id"] in ALSO]


def is_foreign(step: dict[str, Any]) -> bool:
    command = step.get("cmd", [""])
    return command[0] == "replay" and "--policy" not in command and "--json" not in command


def run(step: dict[str, Any], folder: Path, attempt: int, most_mb: int | None) -> list[Ran]:
    if "parallel" in step:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor() as pool:
            return list(pool.map(lambda args: ctxeng(*args, cwd=folder, home=folder / "home"), step["parallel"]))
    if "tty" in step:
        return [in_terminal(*step["cmd"], cwd=folder, home=folder / "home", size=tuple(step["tty"]))]
    if "signal" in step:
        return [_killed(step, folder, attempt)]
    return [ctxeng(*step["cmd"], cwd=folder, home=folder / "home", env=step.get("env"), most_mb=most_mb)]


def _killed(step: dict[str, Any], folder: Path, attempt: int) -> Ran:
    import signal
    import subprocess

    from tests.commands import CTXENG, environment

    process = subprocess.Popen([*CTXENG, *step["cmd"]], cwd=folder, env=environment(folder / "home"), stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    try:
        process.wait(_seconds(step["signal"]["after_s"], attempt))
    except subprocess.TimeoutExpired:
        process.send_signal(getattr(signal, "SIG" + step["signal"]["name"].removeprefix("SIG")))
    out, err = process.communicate(timeout=30)
    return Ran(max(process.returncode, 0), out.decode("utf-8", "replace"), err.decode("utf-8", "replace"))


def _seconds(value: float | str, attempt: int) -> float:
    """`0.5`, or a point of `random 0.2..3`: another one at each attempt, the same ones in each run."""
    if not isinstance(value, str):
        return value
    least, most = (float(text) for text in value.removeprefix("random ").split(".."))
    return least + (most - least) * (attempt * 0.618 % 1)


def holds(expect: dict[str, Any], ran: list[Ran], folder: Path) -> str | None:
    """What does not hold, or None."""
    both = "\n".join(r.out + r.err for r in ran)
    shown = both + "\n".join(r.screen for r in ran) + "\n" + "\n".join(_decoded(r.out) for r in ran)
    errors = "\n".join(r.err or r.out for r in ran)
    for key, value in expect.items():
        claims: dict[str, Callable[[Any], bool]] = {
            "exit": lambda v: any(r.exit not in v for r in ran),
            "each_exit": lambda v: any(r.exit not in v for r in ran),
            "no_crash": lambda v: "Traceback" in both or any(r.exit > 3 and r.exit != 130 for r in ran),
            "contains": lambda v: any(text not in shown for text in v),
            "lacks": lambda v: any(text in shown for text in v),
            "stderr": lambda v: any(text not in errors for text in v),
            "raw_lacks": lambda v: any(text in both for text in v),
            "legal": lambda v: '"severity":"error"' in both,
            "either": lambda v: all(holds(one, ran, folder) for one in v),
            "unique": lambda v: _repeated(v, ran),
            "kept": lambda v: any(not set(v["messages"]) <= set(row["window"]) for row in _asked(v["at"], ran)),
            "contains_in_step": lambda v: any(text not in ran[step - 1].out + ran[step - 1].err for step, text in v),
            "summary": lambda v: any(row[key] > bound["max"] for row in _rows(ran) for key, bound in v.items()),
            "compare": lambda v: not _less(v[0], v[1], ran),
            "monotone": lambda v: not _grows([row["tokens"] for row in _printed("replay.request", ran)]),
            "compare_policies": lambda v: not _compares(v[0], v[1], ran),
            "lint": lambda v: not all(_found(one, ran) for one in v),
            "turns": lambda v: max(row["turn"] for row in _printed("replay.request", ran)) != v,
            "requests": lambda v: max(row["request"] for row in _printed("replay.request", ran)) != v,
            "first_role": lambda v: _first_roles(folder, ran) != {v},
            "last_message": lambda v: any(row["window"][-1] != v for row in _asked("last", ran)),
            "order": lambda v: any(a < 0 for a in _places(v, shown)) or _places(v, shown) != sorted(_places(v, shown)),
            "pairs": lambda v: any(not _together(pair, ran) for pair in v),
        }
        if claims[key](value):
            return f"{key}: {value}"
    return None


def _decoded(text: str) -> str:
    lines = []
    for line in text.splitlines():
        try:
            lines.append(
                json.dumps(json.loads(line), ensure_ascii=False).replace('\\"', '"').replace("\\n", "\n").replace("\\\\", "\\")
            )
        except ValueError:
            continue
    return "\n".join(lines)


def _printed(kind: str, ran: list[Ran]) -> list[dict[str, Any]]:
    bodies = [json.loads(line) for r in ran for line in r.out.splitlines() if line.startswith("{")]
    return [body for body in bodies if body.get("type") == kind]


def _asked(at: int | str, ran: list[Ran]) -> list[dict[str, Any]]:
    """The rows of a request, or of the last one, of each policy."""
    rows = _printed("replay.request", ran)
    last = max(row["request"] for row in rows)
    return [row for row in rows if row["request"] == (last if at == "last" else at)]


def _found(wanted: dict[str, Any], ran: list[Ran]) -> bool:
    """Whether a finding with one of the codes mentions all that it should, and nothing that it should not."""
    findings = [finding for row in _printed("replay.request", ran) for finding in row["lint"]]
    for finding in findings:
        text = json.dumps(finding, ensure_ascii=False)
        coded = "codes" not in wanted or finding["code"] in wanted["codes"]
        said = all(word in text for word in wanted.get("mentions", ()))
        if coded and said and not any(word in text for word in wanted.get("lacks", ())):
            return True
    return False


def _first_roles(folder: Path, ran: list[Ran]) -> set[str]:
    """The roles that windows begin with, the system message aside."""
    messages = json.loads((folder / "t.json").read_text())
    roles = {f"m{number}": message["role"] for number, message in enumerate(messages, 1)}
    windows = [[roles[id] for id in row["window"]] for row in _printed("replay.request", ran)]
    return {next(role for role in window if role != "system") for window in windows}


def _together(pair: list[str], ran: list[Ran]) -> bool:
    """Whether each window that holds a call holds its result, and the other way round."""
    return all((pair[0] in row["window"]) == (pair[1] in row["window"]) for row in _printed("replay.request", ran)[-1:])


def _places(words: list[str], shown: str) -> list[int]:
    return [shown.find(word) for word in words]


def _rows(ran: list[Ran]) -> list[dict[str, Any]]:
    return [row for summary in _printed("replay.summary", ran) for row in summary["policies"]]


def _less(field: str, claim: str, ran: list[Ran]) -> bool:
    """`step1 < step2` of a figure that inspect-context shows."""
    assert (field, claim) == ("used", "step1 < step2"), claim
    first, second = (json.loads(r.out)["budget"]["used"] for r in ran)
    return bool(first < second)


def _grows(figures: list[int]) -> bool:
    return figures == sorted(figures)


def _compares(field: str, claim: str, ran: list[Ran]) -> bool:
    """`second > first + 0.2` of a field of the summary's rows."""
    found = re.fullmatch(r"second > first \+ ([\d.]+)", claim)
    assert found is not None, claim
    first, second = (row[field] for row in _rows(ran))
    return bool(second > first + float(found[1]))


def _repeated(key: str, ran: list[Ran]) -> bool:
    values = [json.loads(line)[key] for r in ran for line in r.out.splitlines() if line.startswith("{")]
    return len(values) != len(set(values))


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case['id']} {case['title']}")
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    assert SHARED is not None
    unpack = runpy.run_path(str(Path(SHARED) / "cases" / "unpack.py"))["unpack"]
    expect = case["expect"]
    for attempt in range(expect.get("repeat", 1)):
        unpack(case, tmp_path)
        all_ran: list[Ran] = []
        for number, step in enumerate(case["run"]):
            if is_foreign(step):
                continue
            started = time.monotonic()
            ran = run(step, tmp_path, attempt, expect.get("max_rss_mb"))
            seconds = time.monotonic() - started
            all_ran += ran
            if number < len(expect.get("steps", [])):
                assert holds(expect["steps"][number], ran, tmp_path) is None, ran
            assert seconds <= expect.get("max_seconds", 60)
        general = {key: value for key, value in expect.items() if key not in LOOKED_AT}
        if "unique" in general:
            assert not _repeated(general.pop("unique"), ran)
        if "last" in expect:
            assert holds(expect["last"], ran, tmp_path) is None, ran
        assert holds(general, all_ran, tmp_path) is None, all_ran
