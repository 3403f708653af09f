"""A requested JSON schema, filled from the window by the best match, and always valid."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from ctxeng_cli.models.offline.fields import resolved, values
from ctxeng_cli.models.offline.words import terms

Find = Callable[[str], str]
"""The text of the window that answers best, for some words; empty where none does."""

_DEEPEST = 12


def filled(form: Mapping[str, Any], question: str, find: Find) -> str:
    """The answer in the form that was asked for: JSON, or one value of a plain enum as it is."""
    if "enum" in form and "json_schema" not in form:
        return str(_choice(values(form), f"{question}\n{find(question)}"))
    wrapped = form.get("json_schema")
    schema = wrapped.get("schema") if isinstance(wrapped, Mapping) else form.get("schema")
    if not isinstance(schema, Mapping):
        return json.dumps({"answer": find(question)}, ensure_ascii=False)
    return json.dumps(_value(schema, schema, question, find, 0), ensure_ascii=False)


def _value(schema: Mapping[str, Any], root: Mapping[str, Any], asked: str, find: Find, depth: int) -> Any:
    schema = resolved(schema, root)
    if allowed := values(schema):
        return _choice(allowed, f"{asked}\n{find(asked)}")
    if "enum" in schema or schema.get("type") == "null":
        return None
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((item for item in kind if item != "null"), "null")
    properties = schema.get("properties")
    if kind == "object" or (kind is None and isinstance(properties, Mapping)):
        return _object(schema, root, asked, find, depth)
    if kind == "array":
        return _array(schema, root, asked, find, depth)
    if kind in ("integer", "number"):
        return _number(schema, find(asked), kind)
    if kind == "boolean":
        return bool(found := find(asked)) and not re.search(r"(?i)\b(?:no|not|never|none)\b|不|没", found)
    return None if kind == "null" else _text(schema, find(asked))


def _object(schema: Mapping[str, Any], root: Mapping[str, Any], asked: str, find: Find, depth: int) -> dict[str, Any]:
    properties = schema.get("properties")
    needed = schema.get("required")
    made = {}
    for name, inner in properties.items() if isinstance(properties, Mapping) else ():
        if depth >= _DEEPEST and name not in (needed if isinstance(needed, list) else ()):
            continue
        inner = inner if isinstance(inner, Mapping) else {}
        words = f"{str(name).replace('_', ' ')} {resolved(inner, root).get('description', '')}".strip()
        made[name] = _value(inner, root, words, find, depth + 1)
    return made


def _array(schema: Mapping[str, Any], root: Mapping[str, Any], asked: str, find: Find, depth: int) -> list[Any]:
    least = schema.get("minItems", 0)
    least = least if isinstance(least, int) else 0
    items = schema.get("items")
    if depth >= _DEEPEST or not (least or find(asked)) or schema.get("maxItems") == 0:
        return []
    return [_value(items if isinstance(items, Mapping) else {}, root, asked, find, depth + 1)] * max(1, least)


def _number(schema: Mapping[str, Any], found: str, kind: str) -> int | float:
    match = re.search(r"-?\d+(?:\.\d+)?", found)
    value: float = float(match[0]) if match and len(match[0]) < 18 else 0
    for key, sign in (("minimum", 1), ("exclusiveMinimum", 1), ("maximum", -1), ("exclusiveMaximum", -1)):
        bound = schema.get(key)
        if isinstance(bound, int | float) and not isinstance(bound, bool):
            bound = bound + sign if key.startswith("exclusive") else bound
            value = max(value, bound) if sign > 0 else min(value, bound)
    return int(value) if kind == "integer" or value == int(value) else value


def _text(schema: Mapping[str, Any], found: str) -> str:
    longest, shortest = schema.get("maxLength"), schema.get("minLength")
    found = found[:longest] if isinstance(longest, int) else found
    return found.ljust(shortest, ".") if isinstance(shortest, int) else found


def _choice(allowed: list[Any], text: str) -> Any:
    """The value whose words stand in the text, the earliest; else the one that shares the most terms with it."""
    lowered = text.lower()
    standing = [(lowered.find(str(value).lower()), value) for value in allowed if str(value).lower() in lowered]
    if standing:
        return min(standing, key=lambda pair: pair[0])[1]
    held = terms(text)
    return max(allowed, key=lambda value: sum(weight for term, weight in terms(str(value)).items() if term in held))
