"""Counts are held against what the model reports: shown beside the estimate, begun anew with another model."""

from __future__ import annotations

from typing import Any

import pytest

from ctxeng_cli.core.events import Event, MessageAdded, ModelAnswered, RequestSent, SessionOpened, SpecChanged, Usage
from ctxeng_cli.core.history import State
from ctxeng_cli.core.messages import assistant, user
from ctxeng_cli.core.tokens import Counter
from ctxeng_cli.core.view import Context, context, context_json
from tests.contract import assert_context
from tests.notation import entry
from tests.screen.samples import draw


def opened(model: str = "ollama/qwen3:4b") -> dict[str, Any]:
    return {"model": model, "policy": "unlimited", "tokenizer": "o200k_base", "exact": False, "spec": "s"}


def asked(number: int, counted: int, reported: int) -> list[Event]:
    """A request of so many counted tokens, and the usage that came back."""
    return [
        RequestSent(
            request=number, round=1, window=("m1",), parts=("m1",), tokens={"user": counted - 3, "overhead": 3},
            budget={"unit": "tokens", "limit": None, "reserve": 0, "used": counted, "free": None, "used_tokens": counted},
            fingerprint="f",
        ),
        ModelAnswered(message="m2", usage=Usage(reported, 5)),
    ]  # fmt: skip


def folded(*events: Event) -> State:
    state = State()
    start: list[Event] = [SessionOpened(session="s", **opened()), MessageAdded(message=user("Hi").with_id("m1"), tokens=97)]
    for event in (*start, *events):
        state.apply(entry(state.seq + 1, event))
    return state


def view(state: State) -> Context:
    sent = state.history("a").last_request
    assert sent is not None
    return context(state, "a", sent, 1, Counter("o200k_base", False))


def test_the_ratio_is_of_all_reported_to_all_counted_tokens() -> None:
    found = folded(*asked(1, 100, 110), *asked(2, 300, 322)).history("a").calibration
    assert (found.calls, found.ratio) == (2, 1.08)


def test_a_model_that_reports_nothing_calibrates_nothing() -> None:
    assert folded(*asked(1, 100, 0)).history("a").calibration.calls == 0
    assert folded(ModelAnswered(message="m2", usage=Usage(9, 9))).history("a").calibration.calls == 0


def test_another_model_begins_anew_and_another_window_does_not() -> None:
    window = SpecChanged(difference={}, **opened())
    assert folded(*asked(1, 100, 110), window).history("a").calibration.calls == 1
    model = SpecChanged(difference={}, **opened("ollama/llama"))
    state = folded(*asked(1, 100, 110), model, MessageAdded(message=assistant("x").with_id("m9"), tokens=1), *asked(2, 100, 90))
    assert (state.history("a").calibration.calls, state.history("a").calibration.ratio) == (1, 0.9)


@pytest.mark.parametrize(("calls", "shown"), [(1, "(×1.08 from 1 call)"), (12, "(×1.08 from 12 calls)")])
def test_it_is_shown_beside_the_estimate(calls: int, shown: str) -> None:
    from ctxeng_cli.screen.panels import window_panel

    state = folded(*(event for number in range(calls) for event in asked(number + 1, 100, 108)))
    assert f"≈ o200k_base {shown}" in draw(window_panel(view(state)))
    body = context_json(view(state))
    assert body["tokenizer"]["calibration"] == {"ratio": 1.08, "calls": calls}
    assert_context(body)


def test_nothing_is_shown_before_the_first_answer() -> None:
    state = folded(asked(1, 100, 1)[0])
    assert context_json(view(state))["tokenizer"]["calibration"] is None
