"""Policy strings: `tokens:6000,reserve=500` and its kin (CONTRACT.md, "A policy P is one string")."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ctxeng_cli.core.errors import nearest

Kind = Literal["unlimited", "none", "messages", "tokens"]
_KINDS = ("unlimited", "none", "messages:20", "tokens:8000")
_LATER_OPTIONS = ("low_water", "clear_tool_results", "cap_result", "offload", "summarize", "compat")


@dataclass(frozen=True, slots=True)
class Policy:
    """A window policy. `limit` in messages or tokens; `reserve` in tokens is kept free for the answer."""

    kind: Kind = "unlimited"
    limit: int | None = None
    reserve: int = 0

    def __str__(self) -> str:
        head = self.kind if self.limit is None else f"{self.kind}:{self.limit}"
        return head + (f",reserve={self.reserve}" if self.reserve else "")


class PolicyError(ValueError):
    """A policy string is wrong. `offset` is where in the string."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.message, self.offset = message, offset


def parse_policy(text: str) -> Policy:
    """Read a policy string. Raises PolicyError, which knows the place inside the string."""
    head, *options = text.split(",")
    kind, limit = _head(head.strip())
    reserve = 0
    offset = len(head) + 1
    for option in options:
        name, equals, value = (piece.strip() for piece in option.partition("="))
        if not equals:
            raise PolicyError(f'option "{name}" needs a value: {name}=…', offset)
        if name in _LATER_OPTIONS:
            raise PolicyError(f"window option {name} is not built yet; take it out", offset)
        if name == "reserve":
            if kind != "tokens":
                raise PolicyError("reserve belongs to a tokens:N window", offset)
            reserve = _number(value, "reserve", offset)
            if limit is not None and reserve >= limit:
                raise PolicyError(f"a reserve of {reserve:,} leaves nothing of a window of {limit:,} tokens", offset)
        elif name in ("unit", "overflow"):
            built = {"unit": "exchange", "overflow": "error"}[name]
            if value != built:
                raise PolicyError(f"{name}={value} is not built yet; {name}={built} is", offset)
        else:
            hint = nearest(name, ("reserve", "unit", "overflow", *_LATER_OPTIONS))
            raise PolicyError(f'unknown window option "{name}".{hint}', offset)
        offset += len(option) + 1
    return Policy(kind, limit, reserve)


def _head(head: str) -> tuple[Kind, int | None]:
    kind, colon, value = head.partition(":")
    if kind in ("unlimited", "none") and not colon:
        return ("unlimited" if kind == "unlimited" else "none"), None
    if kind in ("messages", "tokens") and colon:
        if value.endswith("%"):
            raise PolicyError(f'a share of the model\'s window ("{head}") is not built yet; give a number: tokens:8000')
        number = _number(value, kind, len(kind) + 1)
        return ("messages" if kind == "messages" else "tokens"), number
    if kind in ("python", "as-recorded", "agent") or ".yaml#" in head:
        raise PolicyError(f'window policy "{head}" is not built yet; use one of {", ".join(_KINDS)}')
    guess = nearest(kind, ("unlimited", "none", "messages", "tokens"))
    if guess and colon and guess.endswith(('messages"?', 'tokens"?')):
        guess = guess[:-2] + f':{value}"?'
    raise PolicyError(f'unknown policy "{head}".{guess or " Use one of " + ", ".join(_KINDS) + "."}')


def _number(value: str, what: str, offset: int) -> int:
    digits = value.replace("_", "")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 12:
        raise PolicyError(f'{what} needs a whole number, not "{value}"', offset)
    if int(digits) == 0 and what != "reserve":
        raise PolicyError(f"{what} must be greater than zero", offset)
    return int(digits)
