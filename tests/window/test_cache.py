"""Where a request is marked for a prompt cache: at most four places, and always where the one before it ended."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.window.cache import LEAST_TOKENS, MOST, marks

HEAVY = LEAST_TOKENS


def of(before: list[str], refs: list[str], tools: int = 0, system: str | None = "m1", weight: int = HEAVY) -> tuple[str, ...]:
    return marks(before, refs, tools, system, lambda ref: weight)


def test_tools_system_the_end_before_and_the_end() -> None:
    first = ["#t1", "#t2", "m1", "m2"]
    assert of([], first, 2) == ("tools", "m1", "m2")
    second = [*first, "m3", "m4"]
    assert of(first, second, 2) == ("tools", "m1", "m2", "m4")
    assert of(second, [*second, "m5", "m6"], 2) == ("tools", "m1", "m4", "m6")


def test_after_an_eviction_only_what_stayed_is_marked_again() -> None:
    assert of(["m1", "m2", "m3", "m4"], ["m1", "m4", "m5", "m6"]) == ("m1", "m6")


def test_a_short_prefix_is_not_marked() -> None:
    assert of([], ["m1", "m2", "m3"], weight=400) == ("m3",)
    assert of([], ["m1", "m2"], weight=400) == ()
    assert of([], [], system=None) == ()


def test_a_summary_is_never_named_and_what_is_shortened_is_by_its_message() -> None:
    assert of([], ["m1", "#sum"]) == ("m1",)
    assert of([], ["m1", "m2=#short"]) == ("m1", "m2")


@given(st.integers(0, 3), st.lists(st.integers(1, 9), min_size=1, max_size=12), st.sampled_from([0, 400, HEAVY]))
def test_while_nothing_is_evicted_every_request_finds_what_the_one_before_it_left(
    tools: int, grows: list[int], weight: int
) -> None:
    refs = [*(f"#t{n}" for n in range(tools)), "m1"]
    before: list[str] = []
    for grow in grows:
        refs = [*refs, *(f"m{len(refs) + n}" for n in range(2, grow + 2))]
        found = of(before, refs, tools, weight=weight)
        earlier = of([], before, tools, weight=weight) if before else ()
        assert len(found) <= MOST
        assert len(set(found)) == len(found)
        assert set(earlier) <= set(found), "tools, system and the end before are marked again"
        before = refs
