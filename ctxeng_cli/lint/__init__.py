"""What a provider would refuse, and what it would accept to your harm: pure functions over a request.

Each rule has a code for ever, our explanation, the provider's own words as a prediction, and the message it points at.
"Legal" is what these functions call legal. Knows payloads and the core. A provider's rules are loaded with its first request.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ctxeng_cli.core.errors import UsageError, nearest
from ctxeng_cli.core.events import Finding
from ctxeng_cli.core.request import Request
from ctxeng_cli.lint.finding import in_order

PROVIDERS = {"openai": "openai", "openai-responses": "responses", "anthropic": "anthropic", "gemini": "gemini"}
"""Whose rules there are → their module in this room."""


def check(
    request: Request,
    *,
    provider: str = "openai",
    tokens: int | None = None,
    context_window: int | None = None,
    rewritten: frozenset[str] = frozenset(),
) -> tuple[Finding, ...]:
    """Everything that the provider would refuse (`error`) or that does harm (`warning`), in message order.

    `tokens` are those of the request, `context_window` what the model holds: without both, no rule looks at the size.
    `rewritten` are the ids of messages in whose place another text stands. Raises UsageError for another provider.
    """
    found = _rules_of(provider).check(request, tokens=tokens, context_window=context_window, rewritten=rewritten)
    return in_order(found, request.messages)


def rules() -> dict[str, str]:
    """Every rule: its code, and what must hold."""
    return {code: rule for provider in PROVIDERS for code, rule in _rules_of(provider).RULES.items()}


def _rules_of(provider: str) -> Any:
    if provider not in PROVIDERS:
        raise UsageError(f'there are no rules for "{provider}", but for {", ".join(PROVIDERS)}.{nearest(provider, PROVIDERS)}')
    return import_module(f"{__name__}.{PROVIDERS[provider]}")


__all__ = ["PROVIDERS", "check", "rules"]
