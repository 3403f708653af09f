"""Functions of a person's own that the spec names: called with what they name in their signature (SPEC 2, Variables).

A parameter gets what its name says, or what an alias says: `text: Annotated[str, V("it")]`. A value is coerced to the
parameter's annotation. What each hook may ask for stands in one table, which `ctxeng agents --hooks` prints.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ctxeng_cli.core.errors import HookError, nearest

HOOKS: dict[str, tuple[tuple[str, ...], str]] = {
    "memory.window": (
        ("session", "inputs", "model", "tokens_left"),
        "the window's limit in tokens, asked each turn; tokens_left is what the model's window has left, or None",
    ),
    "memory.store": (
        ("folder", "data"),
        "an object with lines(id), append(id, line), ids() and delete(id), asked when a session is opened; folder is the spec's, "
        "data the data directory",
    ),
}
"""Where a hook stands in the spec → what it may ask for, and what it answers."""


@dataclass(frozen=True, slots=True)
class V:
    """An alias: `Annotated[str, V("name")]` asks for `name`, whatever the parameter is called."""

    name: str


@dataclass(frozen=True, slots=True)
class _Asked:
    parameter: str
    name: str
    hint: Any
    required: bool


def hook_problem(where: str, function: Callable[..., Any]) -> str | None:
    """What is wrong with a function as a hook, or None: it asks for what it can't have, or can't be called by name."""
    offered = HOOKS[where][0]
    try:
        wanted = _asked(function)
    except (TypeError, ValueError, NameError) as error:
        return f"its signature can't be read: {error}"
    for one in wanted:
        if one.name not in offered and one.required:
            known = f" {where} may ask for {', '.join(offered)}."
            return f'it asks for "{one.name}".{nearest(one.name, offered) or known}'
    return None


def call_hook(where: str, name: str, function: Callable[..., Any], offered: Mapping[str, Any]) -> Any:
    """What the function answers; an awaitable as it is. Raises HookError where it fails, or a value can't be coerced."""
    given: dict[str, Any] = {}
    for one in _asked(function):
        if one.name in offered:
            given[one.parameter] = _coerced(where, name, one, offered[one.name])
    if any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values()):
        given = {**offered, **given}
    try:
        return function(**given)
    except Exception as error:
        raise HookError(f"{where}: {name} failed: {type(error).__name__}: {error}") from error


def _asked(function: Callable[..., Any]) -> list[_Asked]:
    hints = typing.get_type_hints(function, include_extras=True) if not isinstance(function, type) else {}
    wanted = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        hint, name = hints.get(parameter.name, Any), parameter.name
        if typing.get_origin(hint) is typing.Annotated:
            hint, *marks = typing.get_args(hint)
            name = next((mark.name for mark in marks if isinstance(mark, V)), name)
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(f"{parameter.name} can't be given by name")
        wanted.append(_Asked(parameter.name, name, hint, parameter.default is parameter.empty))
    return wanted


def _coerced(where: str, name: str, one: _Asked, value: Any) -> Any:
    """A value as the annotation wants it. Pydantic is loaded for the first that is not there already."""
    if one.hint is Any or (isinstance(one.hint, type) and isinstance(value, one.hint)):
        return value
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(one.hint).validate_python(value)
    except ValidationError as error:
        why = error.errors()[0]["msg"]
        raise HookError(f"{where}: {name} asks for {one.name} as {one.hint}, and it is {value!r}: {why}") from None
