"""Policy strings: `tokens:6000,low_water=0.7,reserve=500` and its kin (CONTRACT.md, "A policy P is one string")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from ctxeng_cli.core.errors import nearest

Kind = Literal["unlimited", "none", "messages", "tokens"]
Leaves = Literal["exchange", "message"]
Overflow = Literal["error", "truncate", "keep"]
_KINDS = ("unlimited", "none", "messages:20", "tokens:8000", "tokens:60%")
_WORDS = {"unit": ("exchange", "message"), "overflow": ("error", "truncate", "keep")}
_BUILT = ("low_water", "unit", "reserve", "overflow", "clear_tool_results", "cap_result")
_LATER = ("offload", "summarize", "compat")


@dataclass(frozen=True, slots=True)
class ClearResults:
    """A step of the pipeline: all tool results but the newest `keep` give way to a placeholder, oldest first, until the
    window fits. Results of the tools in `exclude` stay."""

    keep: int = 3
    placeholder: str = "[cleared]"
    exclude: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"clear_tool_results={self.keep}"


@dataclass(frozen=True, slots=True)
class CapResult:
    """A step of the pipeline: a tool result is shortened to `tokens`, the results of one round to `round_tokens` together,
    oldest first, until the window fits."""

    tokens: int = 2000
    round_tokens: int | None = None

    def __str__(self) -> str:
        return f"cap_result={self.tokens}"


Step = ClearResults | CapResult


@dataclass(frozen=True, slots=True)
class Pin:
    """A message that stays whatever its age: by its id, or every message that contains a text."""

    message: str | None = None
    contains: str | None = None


@dataclass(frozen=True, slots=True)
class Policy:
    """A window policy.

    `limit` in messages or tokens; `share` instead of it is per cent of the model's window. `low_water` is the part of the
    budget down to which is evicted once it is full. `unit` is what leaves together. `reserve`, in tokens, is kept free for
    the answer; None is the default of SPEC 3. `overflow` is what happens before a turn's first request when what must stay
    does not fit. `pipeline` is what is tried before anything is evicted, in this order. `pin` is
    what is never evicted; it stands in the spec alone, not in the string.
    """

    kind: Kind = "unlimited"
    limit: int | None = None
    reserve: int | None = None
    share: int | None = None
    low_water: float | None = None
    unit: Leaves = "exchange"
    overflow: Overflow = "error"
    pipeline: tuple[Step, ...] = ()
    pin: tuple[Pin, ...] = ()

    def __str__(self) -> str:
        amount = f":{self.share}%" if self.share is not None else "" if self.limit is None else f":{self.limit}"
        options = {
            "low_water": None if self.low_water is None else f"{self.low_water:g}",
            "unit": None if self.unit == "exchange" else self.unit,
            "reserve": self.reserve,
            "overflow": None if self.overflow == "error" else self.overflow,
        }
        written = [f"{name}={value}" for name, value in options.items() if value is not None]
        return ",".join([self.kind + amount, *written, *map(str, self.pipeline)])


class PolicyError(ValueError):
    """A policy string is wrong. `offset` is where in the string."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.message, self.offset = message, offset


def parse_policy(text: str) -> Policy:
    """Read a policy string. Raises PolicyError, which knows the place inside the string."""
    head, *options = text.split(",")
    policy = _head(head.strip())
    offset = len(head) + 1
    for option in options:
        name, equals, value = (piece.strip() for piece in option.partition("="))
        if not equals:
            raise PolicyError(f'option "{name}" needs a value: {name}=…', offset)
        policy = with_option(policy, name, value, offset)
        offset += len(option) + 1
    return policy


def with_option(policy: Policy, name: str, value: str, offset: int = 0) -> Policy:
    """The policy with one of its options. Raises PolicyError for what the window can't have."""
    if name in _LATER:
        raise PolicyError(f"window option {name} is not built yet; take it out", offset)
    if name not in _BUILT:
        raise PolicyError(f'unknown window option "{name}".{nearest(name, (*_BUILT, *_LATER))}', offset)
    if policy.kind in ("unlimited", "none") and name != "overflow":
        raise PolicyError(f"{name} belongs to a window with a limit, for example tokens:6000,{name}={value}", offset)
    if name in _WORDS:
        if value not in _WORDS[name]:
            hint = nearest(value, _WORDS[name])
            raise PolicyError(f'{name} is {" or ".join(_WORDS[name])}, not "{value}".{hint}', offset)
        changes: dict[str, Any] = {name: value}
    elif name == "low_water":
        changes = {name: _part(value, offset)}
    elif name in _STEPS:
        changes = {"pipeline": (*policy.pipeline, _step(policy, name, value, offset))}
    else:
        changes = {name: _reserve(policy, value, offset)}
    return replace(policy, **changes)


_STEPS: dict[str, Callable[[int], Step]] = {
    "clear_tool_results": lambda keep: ClearResults(keep),
    "cap_result": lambda tokens: CapResult(tokens),
}


def _step(policy: Policy, name: str, value: str, offset: int) -> Step:
    if policy.kind != "tokens":
        raise PolicyError(f"{name} belongs to a window of tokens: a shorter message is still a message", offset)
    step = _STEPS[name](_number(value, name, offset, least=0 if name == "clear_tool_results" else 1))
    if any(type(step) is type(other) for other in policy.pipeline):
        raise PolicyError(f"{name} stands here twice", offset)
    return step


def _reserve(policy: Policy, value: str, offset: int) -> int:
    if policy.kind != "tokens":
        raise PolicyError("reserve belongs to a tokens:N window", offset)
    reserve = _number(value, "reserve", offset, least=0)
    if policy.limit is not None and reserve >= policy.limit:
        raise PolicyError(f"a reserve of {reserve:,} leaves nothing of a window of {policy.limit:,} tokens", offset)
    return reserve


def _part(value: str, offset: int) -> float:
    try:
        part = float(value)
    except ValueError:
        part = 0.0
    if not 0 < part <= 1:
        raise PolicyError(f'low_water is a part of the window such as 0.7, not "{value}"', offset)
    return part


def _head(head: str) -> Policy:
    kind, colon, value = head.partition(":")
    if kind in ("unlimited", "none") and not colon:
        return Policy(cast(Kind, kind))
    if kind == "tokens" and value.endswith("%"):
        share = _number(value[:-1], "a share of the model's window", len(kind) + 1)
        if share > 100:
            raise PolicyError(f"a window of {share}% is more than the model has", len(kind) + 1)
        return Policy("tokens", share=share)
    if kind in ("messages", "tokens") and colon:
        return Policy(cast(Kind, kind), _number(value, kind, len(kind) + 1))
    if kind in ("python", "as-recorded", "agent") or ".yaml#" in head:
        raise PolicyError(f'window policy "{head}" is not built yet; use one of {", ".join(_KINDS)}')
    guess = nearest(kind, ("unlimited", "none", "messages", "tokens"))
    if guess and colon and guess.endswith(('messages"?', 'tokens"?')):
        guess = guess[:-2] + f':{value}"?'
    raise PolicyError(f'unknown policy "{head}".{guess or " Use one of " + ", ".join(_KINDS) + "."}')


def _number(value: str, what: str, offset: int, least: int = 1) -> int:
    digits = value.replace("_", "")
    if not digits.isascii() or not digits.isdigit() or len(digits) > 12:
        raise PolicyError(f'{what} needs a whole number, not "{value}"', offset)
    if int(digits) < least:
        raise PolicyError(f"{what} must be greater than zero", offset)
    return int(digits)
