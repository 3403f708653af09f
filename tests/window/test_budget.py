"""From a policy and a model's window to budgets (SPEC 3)."""

from __future__ import annotations

import pytest

from ctxeng_cli.core.budget import Budget
from ctxeng_cli.spec import parse_policy
from ctxeng_cli.window import budgets_of


@pytest.mark.parametrize(
    ("policy", "window", "output", "budgets"),
    [
        ("unlimited", None, None, [Budget()]),
        ("tokens:6000", None, None, [Budget("tokens", 6000)]),
        ("tokens:6000,reserve=500", None, None, [Budget("tokens", 6000, 500)]),
        ("messages:20", None, None, [Budget("messages", 20)]),
        # the model's window bounds every policy; its reserve is the model's output limit, at most 1,024
        ("unlimited", 8000, 500, [Budget("tokens", 8000, 500)]),
        ("unlimited", 8000, 64_000, [Budget("tokens", 8000, 1024)]),
        ("none", 8000, None, [Budget("tokens", 8000, 1024)]),
        ("tokens:6000", 8000, 500, [Budget("tokens", 6000)]),
        ("tokens:9000", 8000, 500, [Budget("tokens", 8000, 500)]),
        ("messages:20", 8000, 500, [Budget("messages", 20), Budget("tokens", 8000, 500)]),
        # a share of it
        ("tokens:60%", 8000, 500, [Budget("tokens", 4800, 500)]),
        ("tokens:60%,reserve=0", 8000, 500, [Budget("tokens", 4800, 0)]),
        ("tokens:1%", 800, 500, [Budget("tokens", 8, 7)]),
        # options
        ("messages:20,low_water=0.5,unit=message", 8000, 500,
         [Budget("messages", 20, 0, 0.5, "message"), Budget("tokens", 8000, 500, 1.0, "message")]),
    ],
)  # fmt: skip
def test_budgets(policy: str, window: int | None, output: int | None, budgets: list[Budget]) -> None:
    assert list(budgets_of(parse_policy(policy), window, output)) == budgets


def test_a_share_of_nothing_known_is_no_budget() -> None:
    with pytest.raises(ValueError, match="not known"):
        budgets_of(parse_policy("tokens:60%"), None, None)
