"""What a provider would refuse, and what it would accept to your harm: pure functions over a request.

Each rule has a code for ever, our explanation, the provider's own words as a prediction, and the message it points at.
"Legal" is what these functions call legal. Knows payloads and the core.
"""

from __future__ import annotations

from collections.abc import Callable

from ctxeng_cli.core.events import Finding
from ctxeng_cli.core.request import Request
from ctxeng_cli.lint import anthropic, gemini, openai, responses
from ctxeng_cli.lint.finding import in_order

CHECKS: dict[str, Callable[..., list[Finding]]] = {
    "openai": openai.check,
    "openai-responses": responses.check,
    "anthropic": anthropic.check,
    "gemini": gemini.check,
}
RULES: dict[str, str] = {**openai.RULES, **responses.RULES, **anthropic.RULES, **gemini.RULES}


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
    `rewritten` are the ids of messages in whose place another text stands.
    """
    found = CHECKS[provider](request, tokens=tokens, context_window=context_window, rewritten=rewritten)
    return in_order(found, request.messages)


__all__ = ["CHECKS", "RULES", "check"]
