"""Bring a window under its budget, and say what had to leave."""

from __future__ import annotations

import itertools
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

from ctxeng_cli.core.budget import Budget, Edit, Reason
from ctxeng_cli.core.errors import Overflow
from ctxeng_cli.core.history import Exchange, History
from ctxeng_cli.spec.policy import Policy


def budget_of(policy: Policy, context_window: int | None, max_output: int | None) -> Budget:
    """The budget under a policy. The model's window, where it is known, bounds every policy.

    Where the limit comes from the model's window, the reserve is the model's output limit, at most 1,024; under an explicit
    limit it is 0 unless the policy says otherwise (SPEC 3). Raises ValueError for a share of a window that is not known.
    """
    low_water, leaves = policy.low_water or 1.0, policy.unit
    if policy.kind == "messages":
        return Budget("messages", policy.limit, 0, low_water, leaves)
    if policy.share is not None:
        if context_window is None:
            raise ValueError("a share of a window that is not known")
        limit: int | None = context_window * policy.share // 100
    else:
        limit = policy.limit
    if policy.share is None and limit is not None and (context_window is None or limit <= context_window):
        return Budget("tokens", limit, policy.reserve or 0, low_water, leaves)
    if context_window is None:
        return Budget("tokens", None, 0, low_water, leaves)
    limit = context_window if limit is None else min(limit, context_window)
    reserve = min(max_output or 1024, 1024) if policy.reserve is None else policy.reserve
    return Budget("tokens", limit, min(reserve, limit - 1), low_water, leaves)


BEGIN_WITH_A_QUESTION = ("anthropic", "gemini")
"""Providers that refuse a conversation which begins with an answer (lint AN004, GE001)."""


def budgets_of(
    policy: Policy, context_window: int | None, max_output: int | None, provider: str = "openai"
) -> tuple[Budget, ...]:
    """The policy's budget, and for one that counts messages that of the model's window besides, where it is known.

    Under `unit=message` an exchange leaves from its head, and what is left of it begins with an answer. Where the provider
    refuses that, exchanges leave whole.
    """
    if provider in BEGIN_WITH_A_QUESTION and policy.unit == "message":
        policy = replace(policy, unit="exchange")
    budget = budget_of(policy, context_window, max_output)
    if budget.unit == "tokens" or context_window is None or policy.compat is not None:
        return (budget,)
    return (budget, budget_of(Policy(unit=policy.unit), context_window, max_output))


def start(history: History, policy: Policy, turn: int) -> tuple[Edit, ...]:
    """The edits at the start of a turn, before its question joins: under `none` all that was said leaves."""
    if policy.kind != "none":
        return ()
    reason = Reason("window.none", 0, history.window_count, turn)
    return tuple(_evict(exchange, reason) for exchange in history.exchanges)


@dataclass(slots=True)
class _Measure:
    """What the window weighs while edits are made, in the budget's unit."""

    unit: str
    total: int

    def less(self, tokens: int, messages: int) -> None:
        self.total -= tokens if self.unit == "tokens" else messages


def fit(history: History, budget: Budget, *, fixed: int, turn: int, pinned: Container[str] = frozenset()) -> tuple[Edit, ...]:
    """Answer the edits that bring the window under its budget; the running exchange is the newest one.

    Kept, in this order: the system message, pins, the running question, its newest round. Whole exchanges leave, oldest
    first; then whole rounds of the running one; then the summary of what came before. A call never leaves without all its
    results, and a round that still waits for one never leaves.

    `fixed` is what is sent besides the window (tool definitions, overhead), in tokens. Costs what leaves and the rounds
    of the running exchange. Raises Overflow when what must be kept does not fit; it names the part and its size.

    Source: SPEC 3. The pairing rule is OpenAI's (lint OC001, OC002).
    """
    edits, over = squeeze(history, budget, fixed=fixed, turn=turn, pinned=pinned)
    if over > 0:
        raise overflow(history, budget, over, fixed, pinned)
    return edits


def squeeze(
    history: History, budget: Budget, *, fixed: int, turn: int, pinned: Container[str] = frozenset()
) -> tuple[tuple[Edit, ...], int]:
    """As `fit`, but never fails: the edits, and by how much what must stay is over the budget (0 when it fits)."""
    room = budget.room
    tokens = budget.unit == "tokens"
    measure = _Measure(budget.unit, history.window_tokens + fixed if tokens else history.window_count)
    if room is None or measure.total <= room:
        return (), 0
    edits: list[Edit] = []
    for edit in _leaving(history, budget, room, measure, turn, pinned):
        if measure.total <= (budget.low or 0):
            break
        edits.append(edit)
        measure.less(edit.tokens, len(edit.messages) or 1)
    return tuple(edits), max(0, measure.total - room)


def _leaving(history: History, budget: Budget, room: int, measure: _Measure, turn: int, pinned: Container[str]) -> Iterator[Edit]:
    """What may leave, in the order in which it leaves."""

    def out(ids: tuple[str, ...]) -> Edit:
        reason = Reason(f"window.{budget.unit}", room, measure.total, turn)
        return Edit("evict", ids, sum(history.tokens[id] for id in ids), reason)

    newest = len(history.exchanges) - 1
    for exchange in itertools.islice(history.exchanges, max(newest, 0)):
        pins = any(id in pinned for id in exchange.ids)
        if budget.leaves == "exchange" and not pins:
            yield out(tuple(exchange.ids))
            continue
        for ids in _units(exchange):
            # Under unit=exchange the question of what is pinned stays with it: a window begins with a question.
            held = any(id in pinned for id in ids) or (budget.leaves == "exchange" and exchange.question in ids)
            if not held:
                yield out(ids)
    if history.exchanges:
        for round in history.exchanges[-1].rounds[:-1]:
            if not round.open and not any(id in pinned for id in round.ids):
                yield out(tuple(round.ids))
    if history.summary is not None:  # it stands for much, and weighs little
        yield replace(out(()), tokens=history.summary_tokens, text=history.summary)


def _units(exchange: Exchange) -> Iterator[tuple[str, ...]]:
    """An exchange message by message, its rounds whole; one that still waits for a result stays."""
    rounds = {id: round for round in exchange.rounds for id in round.ids}
    for id in exchange.ids:
        round = rounds.get(id)
        if round is None:
            yield (id,)
        elif id == round.ids[0] and not round.open:
            yield tuple(round.ids)


def _evict(exchange: Exchange, reason: Reason) -> Edit:
    return Edit("evict", tuple(exchange.ids), exchange.tokens, reason)


def overflow(history: History, budget: Budget, over: int, fixed: int, pinned: Container[str] = frozenset()) -> Overflow:
    """The error that names the largest part of what can't leave, and the way out."""
    room = budget.room or 0
    measured = room + over
    rule = f"window.{budget.unit}"
    if budget.unit == "messages":
        return Overflow(
            f"{rule}: this turn needs {measured} messages and the window holds {room}. Raise `window`.",
            rule=rule, limit=room, measured=measured, part="window",
        )  # fmt: skip
    weights = [(fixed, "tools", "the tool definitions and overhead need", "Use fewer tools")]
    if history.system:
        source = history.sources.get(history.system)
        where = f"shorten the system message ({source.file})" if source and source.file else "shorten the system message"
        weights.append((history.tokens[history.system], history.system, "the system message needs", where))
    kept = [id for exchange in history.exchanges for id in exchange.ids if id in pinned]
    weights += [(history.tokens[id], id, f"the pinned {id} needs", "let it go") for id in kept]
    for id in history.exchanges[-1].ids if history.exchanges else ():
        what = {"user": "the question needs", "tool": f"the result of {history.messages[id].name} needs"}
        text = what.get(history.messages[id].role, "the model's answer needs")
        weights.append(
            (
                history.tokens[id],
                id,
                text,
                "send a shorter text" if history.messages[id].role == "user" else "let the tool answer less",
            )
        )
    size, part, text, advice = max(weights)
    return Overflow(
        f"{rule}: {text} {size:,} tokens, what must stay is {measured:,} together, and the window has room for {room:,}. "
        f"Raise `window`, or {advice[0].lower() + advice[1:]}.",
        rule=rule, limit=room, measured=measured, part=part,
    )  # fmt: skip
