"""Policy strings: read, written and read again; what a window can't be is told with its place in the string."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.spec.policy import CapResult, ClearResults, Policy, PolicyError, parse_policy

OPTIONS = st.fixed_dictionaries(
    {
        "low_water": st.sampled_from([None, 0.5, 0.7, 1.0]),
        "unit": st.sampled_from(["exchange", "message"]),
        "overflow": st.sampled_from(["error", "truncate", "keep"]),
    }
)
PIPELINES = st.permutations([ClearResults(2), CapResult(900)]).flatmap(lambda s: st.integers(0, 2).map(lambda n: tuple(s[:n])))
POLICIES = st.one_of(
    st.builds(Policy, st.sampled_from(["unlimited", "none"]), overflow=st.sampled_from(["error", "truncate", "keep"])),
    OPTIONS.flatmap(
        lambda o: st.builds(Policy, st.just("messages"), st.integers(1, 10**6), **{k: st.just(v) for k, v in o.items()})
    ),
    OPTIONS.flatmap(
        lambda o: st.builds(
            Policy,
            st.just("tokens"),
            st.integers(501, 10**6),
            st.none() | st.integers(0, 500),
            **{k: st.just(v) for k, v in o.items()},
        )
    ),
    OPTIONS.flatmap(
        lambda o: st.builds(Policy, st.just("tokens"), share=st.integers(1, 100), **{k: st.just(v) for k, v in o.items()})
    ),
)


@given(POLICIES)
def test_a_policy_is_read_back_from_its_string(policy: Policy) -> None:
    assert parse_policy(str(policy)) == policy


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("unlimited", Policy()),
        ("none", Policy("none")),
        ("messages:20", Policy("messages", 20)),
        (" tokens:6_000 , reserve = 500 ", Policy("tokens", 6000, 500)),
        ("tokens:60%", Policy("tokens", share=60)),
        ("tokens:60,cap_result=20,clear_tool_results=0", Policy("tokens", 60, pipeline=(CapResult(20), ClearResults(0)))),
        ("tokens:8000,low_water=0.7,unit=message,reserve=500,overflow=truncate",
         Policy("tokens", 8000, 500, None, 0.7, "message", "truncate")),
    ],
)  # fmt: skip
def test_a_policy_string_is_read(text: str, policy: Policy) -> None:
    assert parse_policy(text) == policy


@pytest.mark.parametrize(
    ("text", "offset", "told"),
    [
        ("", 0, "unknown policy"),
        ("token:60", 0, 'Did you mean "tokens:60"'),
        ("tokens", 0, "unknown policy"),
        ("tokens:", 7, "needs a whole number"),
        ("tokens:-5", 7, "needs a whole number"),
        ("tokens:0", 7, "greater than zero"),
        ("tokens:1.5", 7, "needs a whole number"),
        ("tokens:101%", 7, "more than the model has"),
        ("tokens:0%", 7, "greater than zero"),
        ("messages:60%", 9, "needs a whole number"),
        ("unlimited:5", 0, "unknown policy"),
        ("tokens:60,reserve", 10, "needs a value"),
        ("tokens:60,reserve=60", 10, "leaves nothing"),
        ("messages:6,reserve=1", 11, "belongs to a tokens:N window"),
        ("tokens:60,low_water=7", 10, "a part of the window such as 0.7"),
        ("tokens:60,low_water=0", 10, "a part of the window such as 0.7"),
        ("tokens:60,low_water=nan", 10, "a part of the window such as 0.7"),
        ("tokens:60,lowwater=0.7", 10, 'Did you mean "low_water"'),
        ("tokens:60,unit=msg", 10, "unit is exchange or message"),
        ("tokens:60,overflow=trunc", 10, 'Did you mean "truncate"'),
        ("none,low_water=0.7", 5, "belongs to a window with a limit"),
        ("tokens:60,summarize=0", 10, "greater than zero"),
        ("unlimited,summarize=4", 10, "belongs to a window with a limit"),
        ("tokens:60,compat=spring", 10, "compat is langchain4j"),
        ("tokens:60,low_water=0.5,compat=langchain4j", 24, "none of our options"),
        ("tokens:60%,compat=langchain4j", 11, "none of our options"),
        ("messages:6,keep_system_first=true", 11, "belongs to compat=langchain4j"),
        ("python:limit", 7, "expected python:module:function"),
        ("agent:guide", 0, "a policy to replay with"),
        ("spec.yaml#guide", 0, "a policy to replay with"),
        ("tokens:60,cap_result=0", 10, "greater than zero"),
        ("tokens:60,cap_result=9,cap_result=8", 23, "stands here twice"),
        ("messages:60,cap_result=9", 12, "belongs to a window of tokens"),
        ("tokens:60,reserve=5,unit=x", 20, "unit is"),
    ],
)
def test_a_wrong_policy_is_told_with_its_place(text: str, offset: int, told: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    assert told in caught.value.message
    assert caught.value.offset == offset


@given(st.text("tokensmeage:0123456789%,=._ abc", max_size=40))
def test_any_text_is_a_policy_or_told(text: str) -> None:
    try:
        policy = parse_policy(text)
    except PolicyError:
        return
    assert parse_policy(str(policy)) == policy
