"""Have the summaries written that a window wants: ask the summarizer and record what it said, or that it failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from ctxeng_cli.agent.wires import Agent, Wires
from ctxeng_cli.core.errors import ModelError
from ctxeng_cli.core.events import Event, ModelRetried, SummaryMade, SummaryStarted, Usage
from ctxeng_cli.core.ports import Answer
from ctxeng_cli.window import Held, Holding, Wanted
from ctxeng_cli.window.summarize import summarizing, summary_of


async def drive(agent: Agent, wires: Wires, holding: Holding) -> Held:
    """Run a window's hold to its end, with the summaries that it wants."""
    try:
        wanted = next(holding)
        while True:
            wanted = holding.send(await _summarized(agent, wires, wanted))
    except StopIteration as end:
        held: Held = end.value
        return held


async def _summarized(agent: Agent, wires: Wires, wanted: Wanted) -> str | None:
    """The hash of a summary, one that was made before or a new one; None where it fails, or has failed in this turn.

    A failure deletes nothing: it is recorded, and the window goes on without.
    """
    state, summarizer = wires.state, agent.summarizer
    if wanted.key in state.summaries:
        return state.summaries[wanted.key]
    if state.unsummarized or summarizer is None:
        return None
    wires.record(SummaryStarted(messages=wanted.key[0], model=summarizer.name))
    answers: list[Answer] = []
    payloads = []
    text, error, started = "", None, wires.timer()
    writing = summarizing(wires.history(agent), state.texts, wanted, summarizer.room, agent.counter.text)
    try:
        body = next(writing)
        while True:
            request = summarizer.request(body)
            payloads += [request.payload()] if wires.payload else []
            answers.append(await summarizer.model.answer(request, _retries(wires)))
            body = writing.send(answers[-1].text)
    except StopIteration as end:
        text = end.value
    except ModelError as failure:
        error = failure.message
    made = summary_of(wires.history(agent), wanted, text, summarizer.name, agent.counter, error)
    wires.record(_billed(made, answers, round(wires.timer() - started, 3), payloads))
    return made.hash


def _retries(wires: Wires) -> Callable[[Event], None]:
    """Lets retries be shown; what a summary streams is no part of the answer."""

    def signal(event: Event) -> None:
        if isinstance(event, ModelRetried):
            wires.record(event)

    return signal


def _billed(
    made: SummaryMade, answers: Sequence[Answer], duration_s: float, payloads: Sequence[Mapping[str, Any]]
) -> SummaryMade:
    """The event with what its requests cost together. A cost of which a part is not known is not known."""
    used = [answer.usage for answer in answers]
    usage = Usage(*(sum(getattr(one, f.name) for one in used) for f in fields(Usage)))
    costs = [answer.cost for answer in answers if answer.cost is not None]
    return replace(
        made,
        requests=len(answers),
        usage=usage,
        cost=sum(costs) if costs and len(costs) == len(answers) else None,
        duration_s=duration_s,
        payloads=tuple(payloads),
    )
