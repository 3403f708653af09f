"""The law of forgetting (SPEC 6): the offline model's answer holds a value if and only if a message of its window does.

On bare requests here; tests/starter/test_forgetting.py has it through whole sessions. The answers in a conversation are
the model's own: what it repeats is in the window too.
"""

from __future__ import annotations

import re

import pytest

from ctxeng_cli.core.messages import Message, Text
from ctxeng_cli.core.request import Request
from ctxeng_cli.models.offline.reader import respond
from tests.facts import Draw, draw

DRAWS = 1200
BLOCKS = 6


def had(case: Draw) -> tuple[Request, str]:
    """Have the conversation in a window of whole exchanges; answer the last request and what was said to it."""
    log = [Message("system", (Text(case.prompt),), "m1")]
    for said in (*case.says, case.question):
        log.append(Message("user", (Text(case.template.format(said)),), f"m{len(log) + 1}"))
        request = Request((log[0], *log[max(1, len(log) - 2 * case.window + 1) :]))
        answer, calls = respond(request)
        assert not calls
        log.append(Message("assistant", (Text(answer),), f"m{len(log) + 1}"))
    return request, answer


def broken(case: Draw) -> str | None:
    """How the law is broken, or None where it holds."""
    request, answer = had(case)
    holders = {message.id for message in request.messages[:-1] if case.value in message.text}
    if not holders:
        return f"said {case.value} out of nothing" if case.value in answer else None
    if case.value not in answer:
        return f"forgot {case.value}, which stands in {sorted(holders)}"
    cited = set(re.findall(r"\[(m\d+)\]", answer))
    fact = f"m{2 * case.at + 2}"
    return (
        None
        if (fact in cited if fact in holders else cited & holders)
        else f"cited {sorted(cited)}, not {fact} of {sorted(holders)}"
    )


@pytest.mark.parametrize("block", range(BLOCKS))
def test_an_answer_holds_the_value_exactly_when_the_window_does_and_cites_its_message(block: int) -> None:
    faults = []
    for seed in range(block, DRAWS, BLOCKS):
        case = draw(seed)
        if fault := broken(case):
            request, answer = had(case)
            shown = "\n".join(f"  {message.id} {message.role}: {message.text[:160]}" for message in request.messages)
            faults.append(f"seed {seed}: {fault}\n{shown}\n  answer: {answer}")
    assert not faults, f"{len(faults)} of {DRAWS // BLOCKS}\n" + "\n\n".join(faults)


def test_both_outcomes_are_drawn_often() -> None:
    kept = sum(any(case.value in message.text for message in had(case)[0].messages[:-1]) for case in map(draw, range(200)))
    assert 60 < kept < 180
