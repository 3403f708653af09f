"""Forgetting, through whole sessions of the starter project: an answer holds the value if and only if the window does.

After an eviction the ghost says why, and a session goes on from there after a restart.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from pathlib import Path
from random import Random  # noqa: TID251  seeded: the same draws in every run

import pytest

from ctxeng_cli.core.events import RequestSent
from ctxeng_cli.core.view import Context, context, rebuild
from ctxeng_cli.session import FileStore, open_session
from ctxeng_cli.session.open import Overrides
from ctxeng_cli.spec import Policy, load
from tests.commands import ROOT, ctxeng
from tests.contract import assert_context
from tests.facts import WORDS, Draw, draw

PROJECT = load(ROOT / "agents.yaml")
DRAWS, BLOCKS = 200, 4


@dataclass(frozen=True)
class Asked:
    """How a conversation ended: the answer, the messages that the model was shown, and the window as it is looked into."""

    answer: str
    window: dict[str, str]
    view: Context
    fact: str


def window_of(seed: int) -> Policy:
    """Tokens or messages, so few that about half of the facts are evicted."""
    random = Random(seed)
    return Policy("messages", random.randint(4, 14)) if random.random() < 0.5 else Policy("tokens", random.randint(1020, 1250))


def asked(case: Draw, policy: Policy, folder: Path) -> Asked:
    """Have the conversation with the guide, in two sittings; the question is put in the second."""
    store, fact = FileStore(folder), ""
    for says in (case.says, (case.question,)):
        session = open_session(PROJECT, "guide", store=store, id="s", overrides=Overrides(policy=policy), environ={})
        history = session.wires.history(session.agent)
        for said in says:
            outcome = asyncio.run(session.say(said))
            assert outcome.state == "answered", outcome
            if case.value in said:
                fact = next(id for id in reversed(history.messages) if history.messages[id].role == "user")
        session.close()
    sent = history.last_request
    assert isinstance(sent, RequestSent)
    request = rebuild(session.journal.state, "guide", sent)
    view = context(session.journal.state, "guide", sent, session.journal.state.turn, session.agent.counter)
    return Asked(outcome.text, {m.id: m.text for m in request.messages}, view, fact)


@pytest.mark.parametrize("block", range(BLOCKS))
def test_an_answer_holds_the_value_exactly_when_the_window_does(block: int, tmp_path: Path) -> None:
    faults, kept = [], 0
    for seed in range(block, DRAWS, BLOCKS):
        case, policy = draw(seed), window_of(seed)
        ended = asked(case, policy, tmp_path / str(seed))
        holders = {id for id, text in ended.window.items() if case.value in text}
        cited = set(re.findall(r"\[(m\d+)\]", ended.answer))
        kept += bool(holders)
        if (case.value in ended.answer) != bool(holders):
            faults.append(f"seed {seed}: {case.value} stands in {holders or 'no message'}; the answer: {ended.answer}")
        elif holders and not ({ended.fact} <= cited if ended.fact in holders else cited & holders):
            faults.append(f"seed {seed}: it cites {cited}, not {holders}")
        if ended.fact not in ended.window:
            _assert_ghost(ended, policy)
    assert not faults, "\n".join(faults)
    assert DRAWS / BLOCKS * 0.2 < kept < DRAWS / BLOCKS * 0.8, "both outcomes are drawn often"


def _assert_ghost(ended: Asked, policy: Policy) -> None:
    """What was forgotten is a ghost that says by which rule, at what measured value, on which turn."""
    (ghost,) = [part for part in ended.view.parts if part.message == ended.fact]
    assert ghost.state == "evicted"
    assert ghost.reason is not None
    assert (ghost.reason.rule, ghost.reason.limit) == (f"window.{policy.kind}", policy.limit)
    assert ghost.reason.measured is not None
    assert policy.limit is not None
    assert ghost.reason.measured > policy.limit
    assert 1 < ghost.reason.turn <= ended.view.turn


@pytest.mark.parametrize("seed", [0, 1])
def test_a_person_sees_why_it_was_forgotten_and_goes_on_after_a_restart(seed: int, tmp_path: Path) -> None:
    """The same with the commands, each a process of its own. One draw in English, one in Chinese."""
    case = draw(seed)
    fact = case.says[case.at]

    def run(*arguments: str) -> str:
        ran = ctxeng(*arguments, cwd=ROOT, home=tmp_path / "home")
        assert ran.exit == 0, ran.err
        return ran.out

    run("chat", "guide", "--window", "messages:6", "--session", "s", "-m", fact)
    assert case.value in run("chat", "guide", "--window", "messages:6", "-c", "-m", case.question)
    for filler in ("...", "Hm.", "…"):
        run("chat", "guide", "--window", "messages:6", "-c", "-m", filler)
    assert case.value not in run("chat", "guide", "--window", "messages:6", "-c", "-m", case.question)
    view = json.loads(run("inspect-context", "--session", "s", "--json"))
    assert_context(view)
    (ghost,) = [part for part in view["parts"] if part["message"] == "m2"]
    assert ghost["state"] == "evicted"
    assert ghost["reason"] == {"rule": "window.messages", "limit": 6, "measured": 8, "turn": 4}
    assert run("inspect-context", "--session", "s", "--part", "m2") == fact + "\n"
    assert case.value in run("chat", "guide", "--window", "messages:6", "-c", "-m", fact) + run(
        "chat", "guide", "--window", "messages:6", "-c", "-m", case.question
    )


def test_no_word_of_the_generator_stands_in_the_source() -> None:
    source = "\n".join(path.read_text("utf-8") for path in (ROOT / "ctxeng_cli").rglob("*.py"))
    for kind in ("place", "first", "last", "animal", "word"):
        for word in filter(None, WORDS["en"][kind] + WORDS["zh"][kind]):
            assert not re.search(rf"(?i)(?<![a-z]){word}(?![a-z])", source), word
