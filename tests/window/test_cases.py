"""The window cases in cases/*.txt: each a conversation, the window and the ghosts that are expected."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from ctxeng_cli.core.events import WindowEdited
from ctxeng_cli.core.history import State
from ctxeng_cli.spec import parse_policy
from ctxeng_cli.window import budget_of, fit
from tests.notation import entries, entry, window


@dataclass(frozen=True)
class Case:
    title: str
    policy: str
    weights: dict[str, int]
    conversation: str
    window: str
    ghosts: list[str]


def read(path: Path) -> list[Case]:
    found = []
    for block in re.split(r"^== ", path.read_text(), flags=re.MULTILINE)[1:]:
        title, head, conversation, *rest = block.strip().splitlines()
        policy, _, weights = head.removeprefix("policy:").partition("weights:")
        at = rest.index("# ghosts")
        pairs = dict(pair.split("=") for pair in weights.split())
        found.append(
            Case(title, policy.strip(), {k: int(v) for k, v in pairs.items()}, conversation, " ".join(rest[1:at]), rest[at + 1 :])
        )
    return found


CASES = [case for path in sorted((Path(__file__).parent / "cases").glob("*.txt")) for case in read(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_window_case(case: Case) -> None:
    state = State()
    for item in entries(case.conversation, case.weights):
        state.apply(item)
    history = state.history("a")
    budget = budget_of(parse_policy(case.policy), None, None)
    edits = fit(history, budget, fixed=case.weights.get("overhead", 0), turn=9)
    ghosts = [
        " ".join(history.messages[id].text for id in edit.messages)
        + f": {edit.reason.rule}, measured {edit.reason.measured}, limit {edit.reason.limit}"
        for edit in edits
    ]
    state.apply(entry(99, WindowEdited(edits=edits)))
    shown = " ".join(word.split("[")[0] for word in case.window.split())
    assert window(history) == shown
    assert ghosts == case.ghosts
