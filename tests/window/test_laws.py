"""Laws of windows, as properties over conversations that a generator draws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.core.budget import Budget
from ctxeng_cli.core.errors import Overflow
from ctxeng_cli.core.events import WindowEdited
from ctxeng_cli.core.history import History, State
from ctxeng_cli.core.request import Request
from ctxeng_cli.lint import check
from ctxeng_cli.window import fit, squeeze
from tests.notation import entries, entry


@st.composite
def conversations(draw: st.DrawFn) -> str:
    """A legal conversation that waits for a model: it ends with a question or with a complete round."""
    words = ["s"] if draw(st.booleans()) else []
    for turn in range(draw(st.integers(1, 6))):
        words.append(f"u{turn}")
        for round in range(draw(st.integers(0, 3))):
            calls = [f"c{i}" if draw(st.booleans()) else f"t{turn}r{round}n{i}" for i in range(draw(st.integers(1, 3)))]
            calls = list(dict.fromkeys(calls))
            words.append(f"a{turn}[{','.join(calls)}]")
            words += draw(st.permutations(calls))
        words.append(f"a{turn}")
    cut = draw(st.integers(1, 40))
    while words and not _waits(words, cut):
        cut -= 1
    return " ".join(words[:cut]) if cut > 0 else "u0"


def _waits(words: list[str], cut: int) -> bool:
    """Whether the first `cut` words end where a model is asked: behind a question or behind all results of a call."""
    head = words[:cut]
    if cut <= 0:
        return True
    if len(head) < cut:
        return False
    if head[-1].startswith("u"):
        return True
    calls = next((i for i in range(len(head) - 1, -1, -1) if "[" in head[i]), None)
    if calls is None or head[-1].startswith(("a", "s")):
        return False
    return len(head) - calls - 1 == head[calls].count(",") + 1


WEIGHTS = st.fixed_dictionaries({name: st.integers(1, 60) for name in ("s", "u", "a", "c", "t")})
LIMITS = st.integers(1, 400)


def folded(line: str, weights: dict[str, int]) -> tuple[State, History]:
    state = State()
    for item in entries(line, weights):
        state.apply(item)
    return state, state.history("a")


def legal(history: History) -> bool:
    request = Request(tuple(history.messages[id] for id in history.window()))
    return not [finding for finding in check(request) if finding.severity == "error"]


BUDGETS = st.builds(
    Budget,
    unit=st.sampled_from(["tokens", "messages"]),
    limit=LIMITS,
    low_water=st.sampled_from([1.0, 0.7, 0.3]),
    leaves=st.sampled_from(["exchange", "message"]),
)


@given(conversations(), WEIGHTS, BUDGETS)
def test_a_window_is_within_its_budget_and_legal_or_the_floor_does_not_fit(
    line: str, weights: dict[str, int], budget: Budget
) -> None:
    state, history = folded(line, weights)
    limit = budget.limit or 0
    floor = _floor(history, budget.unit)
    try:
        edits = fit(history, budget, fixed=0, turn=1)
    except Overflow:
        assert floor > limit
        return
    assert floor <= limit
    question = history.exchanges[-1].question
    state.apply(entry(99, WindowEdited(edits=edits)))
    assert (history.window_tokens if budget.unit == "tokens" else history.window_count) <= limit
    assert legal(history)
    assert question in history.window()
    body = [id for id in history.window() if history.messages[id].role != "system"]
    assert history.messages[body[0]].role == "user" or budget.leaves == "message"
    kept = {id for edit in edits for id in edit.messages} ^ (set(history.messages) - set(history.ghosts))
    assert kept == set(history.messages), "what is in and what left are all there is, and nothing is both"


@given(conversations(), WEIGHTS, BUDGETS)
def test_a_full_window_is_emptied_to_its_low_water_or_to_what_must_stay(
    line: str, weights: dict[str, int], budget: Budget
) -> None:
    state, history = folded(line, weights)
    edits, _ = squeeze(history, budget, fixed=0, turn=1)
    floor = _floor(history, budget.unit)
    state.apply(entry(99, WindowEdited(edits=edits)))
    total = history.window_tokens if budget.unit == "tokens" else history.window_count
    if edits:
        assert total <= max(int((budget.limit or 0) * budget.low_water), floor)


@given(conversations(), WEIGHTS, LIMITS)
def test_message_by_message_never_keeps_less_than_whole_exchanges(line: str, weights: dict[str, int], limit: int) -> None:
    _, history = folded(line, weights)
    exchanges, _ = squeeze(history, Budget("tokens", limit), fixed=0, turn=1)
    messages, _ = squeeze(history, Budget("tokens", limit, leaves="message"), fixed=0, turn=1)
    assert {id for e in messages for id in e.messages} <= {id for e in exchanges for id in e.messages}


def _floor(history: History, unit: str) -> int:
    """System message, running question, newest round: what may never leave."""
    running = history.exchanges[-1]
    stay = [history.system] if history.system else []
    gone = {id for round in running.rounds[:-1] for id in round.ids}
    stay += [id for id in running.ids if id not in gone]
    return sum(history.tokens[id] if unit == "tokens" else 1 for id in stay)


@given(conversations(), WEIGHTS, LIMITS)
def test_nothing_leaves_that_need_not(line: str, weights: dict[str, int], limit: int) -> None:
    """Without its last edit a window would be over the budget."""
    _, history = folded(line, weights)
    edits, over = squeeze(history, Budget("tokens", limit), fixed=0, turn=1)
    if edits and not over:
        left = sum(edit.tokens for edit in edits[:-1])
        assert history.window_tokens - left > limit


@given(conversations(), WEIGHTS, BUDGETS)
def test_a_window_that_fits_is_left_alone(line: str, weights: dict[str, int], budget: Budget) -> None:
    state, history = folded(line, weights)
    edits, over = squeeze(history, budget, fixed=0, turn=1)
    state.apply(entry(99, WindowEdited(edits=edits)))
    if not over:
        assert squeeze(history, budget, fixed=0, turn=1) == ((), 0)


@given(conversations(), WEIGHTS, LIMITS, st.integers(0, 200))
def test_a_larger_budget_never_keeps_less(line: str, weights: dict[str, int], limit: int, more: int) -> None:
    _, history = folded(line, weights)
    small, _ = squeeze(history, Budget("tokens", limit), fixed=0, turn=1)
    large, _ = squeeze(history, Budget("tokens", limit + more), fixed=0, turn=1)
    assert {id for e in large for id in e.messages} <= {id for e in small for id in e.messages}


@given(conversations(), WEIGHTS, BUDGETS)
def test_the_incremental_fold_equals_the_whole_fold(line: str, weights: dict[str, int], budget: Budget) -> None:
    """After every message the window is fitted; folding the finished log anew gives the same window."""
    log = []
    state = State()
    for item in entries(line, weights):
        log.append(item)
        state.apply(item)
        edits, _ = squeeze(state.history("a"), budget, fixed=0, turn=item.turn)
        if edits:
            log.append(entry(99, WindowEdited(edits=edits), item.turn))
            state.apply(log[-1])
    again = State()
    for item in log:
        again.apply(item)
    grown, fresh = state.history("a"), again.history("a")
    fresh.rebuild()
    assert grown.window() == fresh.window()
    assert (grown.window_tokens, grown.window_count) == (fresh.window_tokens, fresh.window_count)
    assert grown.ghosts == fresh.ghosts


@given(conversations(), WEIGHTS, BUDGETS, st.data())
def test_a_pin_stays_whatever_leaves_and_the_window_stays_legal(
    line: str, weights: dict[str, int], budget: Budget, data: st.DataObject
) -> None:
    state, history = folded(line, weights)
    pinned = set(data.draw(st.lists(st.sampled_from(list(history.messages)), max_size=4)))
    edits, over = squeeze(history, budget, fixed=0, turn=1, pinned=pinned)
    state.apply(entry(99, WindowEdited(edits=edits)))
    assert pinned <= set(history.window())
    assert legal(history)
    total, count, window = history.window_tokens, history.window_count, history.window()
    assert over or (total if budget.unit == "tokens" else count) <= (budget.limit or 0)
    body = [id for id in window if history.messages[id].role != "system"]
    assert history.messages[body[0]].role == "user" or budget.leaves == "message"
    history.rebuild()
    assert (history.window_tokens, history.window_count, history.window()) == (total, count, window)


@given(conversations(), WEIGHTS, BUDGETS, st.data())
def test_the_incremental_fold_equals_the_whole_fold_with_pins(
    line: str, weights: dict[str, int], budget: Budget, data: st.DataObject
) -> None:
    pinned = {f"m{n}" for n in data.draw(st.lists(st.integers(1, 12), max_size=3))}
    state = State()
    for item in entries(line, weights):
        state.apply(item)
        edits, _ = squeeze(state.history("a"), budget, fixed=0, turn=item.turn, pinned=pinned)
        if edits:
            state.apply(entry(99, WindowEdited(edits=edits), item.turn))
    history = state.history("a")
    grown = (history.window(), history.window_tokens, history.window_count)
    history.rebuild()
    assert grown == (history.window(), history.window_tokens, history.window_count)


def test_an_empty_window_has_nothing_to_lose() -> None:
    assert squeeze(History(), Budget("tokens", 1), fixed=0, turn=1) == ((), 0)


def test_an_overflow_names_the_part_its_size_and_the_way_out() -> None:
    _, history = folded("s u1", {"s": 90, "u": 5})
    with pytest.raises(Overflow, match=r"system message needs 90 tokens.*room for 50.*Raise `window`, or shorten") as caught:
        fit(history, Budget("tokens", 50), fixed=0, turn=1)
    assert (caught.value.part, caught.value.limit, caught.value.measured) == ("m1", 50, 95)
