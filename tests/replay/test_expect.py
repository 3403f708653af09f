"""`--expect`: conditions on figures and on windows, and what is told when they do not hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxeng_cli.core.errors import UsageError
from ctxeng_cli.replay import expectation
from tests.commands import ctxeng
from tests.replay.test_simulate import folder  # noqa: F401  # a fixture

TRUE = ["peak_tokens<=8000", "input_tokens < 1_000_000", "illegal_requests==0", "evicted_messages>0", "stable_prefix_share>=0.1",
        "has(m1)@last", "has( m2 )@1", 'contains("And now")@last', "requests==7", "overflows!=1"]  # fmt: skip
FALSE = [
    ("peak_tokens<=10", "peak_tokens is "),
    ("has(m2)@last", "the window of request 7 holds m1, m12, m13, m14"),
    ("has(m1)@99", "there are 7 requests"),
    ('contains("nobody says that")@3', "no message of request 3 does"),
]


def run(folder: Path, *conditions: str, policy: str = "messages:4") -> tuple[int, str]:  # noqa: F811
    options = [word for condition in conditions for word in ("--expect", condition)]
    ran = ctxeng("replay", "t.json", "--policy", policy, *options, cwd=folder, home=folder / "home")
    return ran.exit, ran.err


def test_conditions_that_hold(folder: Path) -> None:  # noqa: F811
    assert run(folder, *TRUE) == (0, run(folder)[1])


@pytest.mark.parametrize(("condition", "told"), FALSE)
def test_a_condition_that_does_not_hold_ends_with_1_and_says_what_was_found(folder: Path, condition: str, told: str) -> None:  # noqa: F811
    exit, err = run(folder, condition, "illegal_requests==0")
    assert exit == 1
    assert f"t.json: {condition} does not hold under messages:4: {told}" in err
    assert "illegal_requests==0 does not" not in err


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("peak_token<=1", 'there is no figure "peak_token". Did you mean "peak_tokens"'),
        ("peak_tokens=1", "write a figure"),
        ("has(2)@1", "a message id such as m2"),
        ("has(m2)@0", "write a figure"),
        ("contains(x)@1", "a text in quotation marks"),
        ('contains("")@1', "a text in quotation marks"),
        ("", "write a figure"),
    ],
)
def test_what_is_no_condition_is_told(text: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        expectation(text)
    assert told in caught.value.message
