"""A request of ours as each provider takes it: bodies, and the turns that they are made of with the messages behind them.

Pure functions. The lint reads the turns, so that what it finds can name a message. Knows the core.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ctxeng_cli.core.request import Request
from ctxeng_cli.payloads import anthropic, gemini, responses
from ctxeng_cli.payloads.turns import Block, Turn

PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini")
BODIES: dict[str, Callable[[Request], dict[str, Any]]] = {
    "openai": Request.payload,
    "openai-responses": responses.body,
    "anthropic": anthropic.body,
    "gemini": gemini.body,
}


def body(request: Request, provider: str) -> dict[str, Any]:
    """The body as that provider takes it."""
    return BODIES[provider](request)


__all__ = ["BODIES", "PROVIDERS", "Block", "Turn", "anthropic", "body", "gemini", "responses"]
