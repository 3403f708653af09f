"""Inputs: from what a person or a file gives to a value of the declared type, and to the text that a template shows."""

from __future__ import annotations

import datetime
import json
from typing import Any

from ctxeng_cli.core.errors import nearest
from ctxeng_cli.spec.model import InputSpec


def coerce(spec: InputSpec, given: Any) -> Any:
    """Read `given` (text from a command line, or plain data) as the input's type.

    Raises ValueError with the end of a sentence: `must be a whole number, not "x"`.
    """
    kind = spec.type
    text = given if isinstance(given, str) else None
    if kind == "string":
        return given if text is not None else _spelled(given)
    if kind == "enum":
        word = text if text is not None else _spelled(given)
        if word not in spec.values:
            raise ValueError(f'must be one of {", ".join(spec.values)}, not "{word}".{nearest(word, spec.values)}')
        return word
    if kind == "boolean":
        return _boolean(given)
    if kind == "integer":
        return _number(given, int, "a whole number")
    if kind == "number":
        return _number(given, float, "a number")
    if kind == "date":
        if isinstance(given, datetime.date):
            return given.isoformat()
        try:
            return datetime.date.fromisoformat(str(given).strip()).isoformat()
        except ValueError:
            raise ValueError(f'must be a date such as 2026-12-01, not "{given}"') from None
    return _structure(kind, given)


def show(value: Any) -> str:
    """The text that stands in the template: text as it is, true and false, dates in ISO, lists with commas, objects as JSON."""
    if isinstance(value, list) and all(not isinstance(item, list | dict) for item in value):
        return ", ".join(_spelled(item) for item in value)
    return _spelled(value)


def _spelled(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _boolean(given: Any) -> bool:
    if isinstance(given, bool):
        return given
    word = str(given).strip().lower()
    if word in ("true", "yes", "on", "1"):
        return True
    if word in ("false", "no", "off", "0"):
        return False
    raise ValueError(f'must be true or false, not "{given}"')


def _number(given: Any, kind: type[int] | type[float], what: str) -> int | float:
    try:
        if isinstance(given, bool) or (kind is int and isinstance(given, float) and given != int(given)):
            raise ValueError
        number = kind(given if not isinstance(given, str) else given.strip().replace("_", ""))
    except (ValueError, TypeError, OverflowError):
        raise ValueError(f'must be {what}, not "{given}"') from None
    if number != number or number in (float("inf"), float("-inf")):
        raise ValueError(f'must be {what}, not "{given}"')
    return number


def _structure(kind: str, given: Any) -> Any:
    wanted: type = list if kind == "list" else dict
    if isinstance(given, str):
        try:
            data = json.loads(given)
        except ValueError:
            if kind == "list" and not given.lstrip().startswith(("[", "{")):
                return [item.strip() for item in given.split(",")] if given.strip() else []
            raise ValueError(f"must be {'a list' if kind == 'list' else 'an object'} in JSON, not {given[:60]!r}") from None
    else:
        data = given
    if not isinstance(data, wanted):
        raise ValueError(f"must be {'a list' if kind == 'list' else 'an object'}")
    return data
