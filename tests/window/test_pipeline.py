"""Edits before eviction: old results give way to a placeholder, long ones are shortened, until the window fits."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.core.budget import Budget
from ctxeng_cli.core.events import MessageAdded, PartDefined, WindowEdited
from ctxeng_cli.core.history import State
from ctxeng_cli.core.messages import Message, Text
from ctxeng_cli.spec.policy import CapResult, ClearResults, Offload
from ctxeng_cli.window import Rewritten, apply_step, squeeze
from tests.notation import entries, entry
from tests.window.test_laws import conversations, legal

Rewrite = ClearResults | CapResult | Offload


def words(text: str) -> int:
    """A tokenizer that a reader can follow: a word is a token."""
    return len(text.split())


def folded(line: str, sizes: dict[str, int] | None = None) -> State:
    """A conversation whose texts are `sizes` words long, by the name that they have in the notation; else one word."""
    state = State()
    for item in entries(line):
        assert isinstance(item.event, MessageAdded)
        message = item.event.message
        name = message.text
        length = (sizes or {}).get(name, 1)
        message = message.with_text(" ".join(f"{name}{n}" for n in range(length)))
        state.apply(entry(item.seq, MessageAdded(message=message, tokens=4 + length), item.turn))
    return state


def applied(state: State, step: ClearResults | CapResult | Offload, over: int) -> list[Rewritten]:
    """What a step does, folded in."""
    items = list(apply_step(state.history("a"), step, over, words, limit=100, turn=9))
    for item in items:
        state.apply(
            entry(90, PartDefined(hash=item.edit.text or "", part="tool_result", text=item.text, tokens=words(item.text)))
        )
    state.apply(entry(91, WindowEdited(edits=tuple(item.edit for item in items))))
    return items


def changed(state: State, items: list[Rewritten]) -> str:
    """Which messages were rewritten, by their first word."""
    return " ".join(state.history("a").messages[item.edit.messages[0]].text.split()[0][:-1] for item in items)


LINE = "s u1 a1[x] x a2[y] y a3 u2 a4[z] z"
SIZES = {"x": 50, "y": 60, "z": 70}


@pytest.mark.parametrize(
    ("step", "over", "cleared"),
    [
        (ClearResults(keep=1), 1000, "x y"),
        (ClearResults(keep=0), 1000, "x y"),  # the newest round's were not read yet
        (ClearResults(keep=2), 1000, "x"),
        (ClearResults(keep=9), 1000, ""),
        (ClearResults(keep=1), 10, "x"),  # until it fits, oldest first
        (ClearResults(keep=1), 0, ""),
        (ClearResults(keep=1, exclude=("look",)), 1000, ""),
    ],
)
def test_old_results_give_way_to_a_placeholder(step: ClearResults, over: int, cleared: str) -> None:
    state = folded(LINE, SIZES)
    items = applied(state, step, over)
    assert changed(state, items) == cleared
    assert all(item.text == "[cleared]" for item in items)
    assert all((item.edit.op, item.edit.reason.rule) == ("clear", "clear_tool_results") for item in items)
    assert applied(state, step, 1000 if over == 1000 else 0) == [], "twice changes nothing"


def test_a_placeholder_of_ones_own_and_results_that_are_shorter_than_it() -> None:
    state = folded(LINE, {"x": 3, "y": 60})
    items = applied(state, ClearResults(1, "gone, ask again if needed"), 1000)
    assert changed(state, items) == "y"
    assert items[0].text == "gone, ask again if needed"


@pytest.mark.parametrize(
    ("step", "over", "capped"),
    [
        (CapResult(40), 1000, "x y z"),
        (CapResult(55), 1000, "y z"),
        (CapResult(100), 1000, ""),
        (CapResult(40), 5, "x"),
        (CapResult(40), 0, ""),
    ],
)
def test_long_results_are_shortened_to_head_and_tail(step: CapResult, over: int, capped: str) -> None:
    state = folded(LINE, SIZES)
    items = applied(state, step, over)
    assert changed(state, items) == capped
    for item in items:
        whole = state.history("a").messages[item.edit.messages[0]].text
        assert words(item.text) <= step.tokens
        assert item.text.split()[0] == whole.split()[0]
        assert "characters left out" in item.text
        assert (item.edit.op, item.edit.reason.rule) == ("cap", "cap_result")
    assert applied(state, step, 1000 if over == 1000 else 0) == []


def test_the_results_of_a_round_are_capped_together() -> None:
    state = folded("s u1 a1[x,y,z] x y z", {"x": 60, "y": 60, "z": 5})
    items = applied(state, CapResult(tokens=1000, round_tokens=110), 1000)
    history = state.history("a")
    assert 0 < len(items) <= 2
    assert sum(history.tokens[f"m{n}"] for n in (4, 5, 6)) <= 110


STEPS = st.lists(
    st.one_of(
        st.builds(ClearResults, st.integers(0, 3)), st.builds(CapResult, st.integers(41, 80), st.none() | st.integers(60, 200))
    ),
    max_size=3,
)


@given(conversations(), st.fixed_dictionaries({"c": st.integers(1, 150), "t": st.integers(1, 150)}), STEPS, st.integers(1, 400))
def test_no_chain_of_edits_breaks_a_law(line: str, sizes: dict[str, int], steps: list[Rewrite], limit: int) -> None:
    """Whatever is tried and then evicted: legal, within the limit or at the floor, and the log is whole."""
    names = {word.split("[")[0] for word in line.split()}
    state = folded(line, {name: sizes["c" if name.startswith("c") else "t"] for name in names if name[0] in "ct"})
    history = state.history("a")
    whole = dict(history.messages)
    for step in steps:
        over = history.window_tokens - limit
        if over > 0:
            before = history.window_tokens
            saved = applied(state, step, over)
            assert history.window_tokens < before or not saved
    edits, over = squeeze(history, Budget("tokens", limit), fixed=0, turn=1)
    state.apply(entry(99, WindowEdited(edits=edits)))
    assert history.window_tokens <= limit or over > 0
    assert legal(history)
    assert history.messages == whole, "what is kept is byte for byte what was said: other texts stand beside it"
    total, count = history.window_tokens, history.window_count
    history.rebuild()
    assert (history.window_tokens, history.window_count) == (total, count)
    assert total == sum(history.tokens[id] for id in history.window())


def test_the_text_that_is_sent_in_place_of_a_result() -> None:
    state = folded(LINE, SIZES)
    applied(state, ClearResults(keep=1), 1000)
    history = state.history("a")
    assert state.texts[history.overrides["m4"]].text == "[cleared]"
    assert history.messages["m4"] == Message(
        "tool", (Text(" ".join(f"x{n}" for n in range(50))),), id="m4", tool_call_id="x", name="look"
    )
