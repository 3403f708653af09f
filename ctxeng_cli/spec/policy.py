"""Policy strings: `tokens:6000,low_water=0.7,reserve=500` and its kin (CONTRACT.md, "A policy P is one string")."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from ctxeng_cli.core.errors import nearest

Kind = Literal["unlimited", "none", "messages", "tokens", "python", "as-recorded"]
Leaves = Literal["exchange", "message"]
Overflow = Literal["error", "truncate", "keep"]
_KINDS = ("unlimited", "none", "messages:20", "tokens:8000", "tokens:60%", "python:module:function")
_WORDS = {
    "unit": ("exchange", "message"),
    "overflow": ("error", "truncate", "keep"),
    "compat": ("langchain4j",),
    "keep_system_first": ("true", "false"),
}
_OPTIONS = (
    "low_water", "unit", "reserve", "overflow", "clear_tool_results", "cap_result", "offload", "summarize", "compat",
    "keep_system_first",
)  # fmt: skip


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


@dataclass(frozen=True, slots=True)
class Offload:
    """A step of the pipeline: a tool result of more than `over_tokens` gives way to a preview of `preview_tokens` and a handle,
    oldest first, until the window fits. A tool reads the rest."""

    over_tokens: int = 2000
    preview_tokens: int = 200

    def __str__(self) -> str:
        return f"offload={self.over_tokens}"


@dataclass(frozen=True, slots=True)
class Summarize:
    """A step of the pipeline: all exchanges but the newest `keep_exchanges`, the running one among them, give way to one
    summary. `over` is per cent of the window's room at which it begins, whether all still fits or not.

    `model` and `prompt` are the names that the spec gives; empty for the agent's own model and for our prompt.
    """

    keep_exchanges: int = 4
    over: int = 100
    model: str = ""
    prompt: str = ""

    def __str__(self) -> str:
        return f"summarize={self.keep_exchanges}"


Step = ClearResults | CapResult | Offload | Summarize


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
    what is never evicted; it stands in the spec alone, not in the string. `function` (`module:function`) answers the limit
    of a window of kind `python`, each turn anew. `compat` names a framework whose own rules hold instead of ours, and
    `keep_system_first` is one of theirs.
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
    function: str = ""
    compat: Literal["langchain4j"] | None = None
    keep_system_first: bool = False

    def limited(self, limit: int) -> Policy:
        """This policy where its function has answered a limit in tokens."""
        return replace(self, kind="tokens", limit=limit)

    def __str__(self) -> str:
        amount = f":{self.share}%" if self.share is not None else "" if self.limit is None else f":{self.limit}"
        amount = f":{self.function}" if self.kind == "python" else amount
        options = {
            "low_water": None if self.low_water is None else f"{self.low_water:g}",
            "unit": None if self.unit == "exchange" else self.unit,
            "reserve": self.reserve,
            "overflow": None if self.overflow == "error" else self.overflow,
        }
        ours = {"compat": self.compat, "keep_system_first": "true" if self.keep_system_first else None}
        written, last = ([f"{name}={value}" for name, value in pairs.items() if value is not None] for pairs in (options, ours))
        return ",".join([self.kind + amount, *written, *map(str, self.pipeline), *last])


class PolicyError(ValueError):
    """A policy string is wrong. `offset` is where in the string."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.message, self.offset = message, offset


def parse_policy(text: str, known: Callable[[str], Policy | None] = lambda head: None) -> Policy:
    """Read a policy string. Raises PolicyError, which knows the place inside the string.

    `known` answers the policy of a head that only the caller knows, such as `agent:NAME`; options change it.
    """
    head, *options = text.split(",")
    policy = known(head.strip()) or _head(head.strip())
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
    if name not in _OPTIONS:
        raise PolicyError(f'unknown window option "{name}".{nearest(name, _OPTIONS)}', offset)
    if policy.kind in ("unlimited", "none", "as-recorded") and name != "overflow":
        raise PolicyError(f"{name} belongs to a window with a limit, for example tokens:6000,{name}={value}", offset)
    if name in _WORDS:
        if value not in _WORDS[name]:
            hint = nearest(value, _WORDS[name])
            raise PolicyError(f'{name} is {" or ".join(_WORDS[name])}, not "{value}".{hint}', offset)
        changes: dict[str, Any] = {name: value == "true" if name == "keep_system_first" else value}
    elif name == "low_water":
        changes = {name: _part(value, offset)}
    elif name in _STEPS:
        changes = {"pipeline": (*policy.pipeline, _step(policy, name, value, offset))}
    else:
        changes = {name: _reserve(policy, value, offset)}
    policy = replace(policy, **changes)
    wrong = compat_problem(policy)
    if wrong:
        raise PolicyError(wrong, offset)
    return policy


def compat_problem(policy: Policy) -> str | None:
    """What is wrong with a policy under a framework's own rules, or None: it knows a limit and nothing else."""
    if policy.keep_system_first and policy.compat is None:
        return "keep_system_first belongs to compat=langchain4j, which stands before it; a window of ours keeps it first anyway"
    if policy.compat is None:
        return None
    ours = replace(policy, limit=None, overflow="error", compat=None, keep_system_first=False, function="")
    if policy.kind not in ("messages", "tokens") or policy.share is not None or ours != Policy(policy.kind):
        return f"compat={policy.compat} takes messages:N or tokens:N and none of our options; its own is keep_system_first"
    return None


_STEPS: dict[str, Callable[[int], Step]] = {
    "clear_tool_results": lambda keep: ClearResults(keep),
    "cap_result": lambda tokens: CapResult(tokens),
    "offload": lambda tokens: Offload(tokens),
    "summarize": lambda keep: Summarize(keep),
}
_OF_TOKENS = ("tokens", "python")


def _step(policy: Policy, name: str, value: str, offset: int) -> Step:
    if policy.kind not in _OF_TOKENS and name != "summarize":
        raise PolicyError(f"{name} belongs to a window of tokens: a shorter message is still a message", offset)
    step = _STEPS[name](_number(value, name, offset, least=0 if name == "clear_tool_results" else 1))
    if any(type(step) is type(other) for other in policy.pipeline):
        raise PolicyError(f"{name} stands here twice", offset)
    return step


def _reserve(policy: Policy, value: str, offset: int) -> int:
    if policy.kind not in _OF_TOKENS:
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
    if kind == "python":
        module, between, function = value.partition(":")
        if not between or not all(part.isidentifier() for part in (*module.split("."), *function.split("."))):
            raise PolicyError(f'expected python:module:function, found "{head}"', len(kind) + 1)
        return Policy("python", function=value)
    if kind == "as-recorded" and not colon:
        return Policy("as-recorded")
    if kind == "agent" or ".yaml#" in head:
        raise PolicyError(f'"{head}" is a policy to replay with: `ctxeng replay FILE --policy {head}`')
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
