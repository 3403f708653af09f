"""The JSON schemas that the project publishes: one event line, one assembled window. Made from the event classes.

`docs/schemas/` holds what this answers; a test keeps it so.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal

from ctxeng_cli.core.codec import renamed
from ctxeng_cli.core.events import EVENTS, Finding, Source, StageFinished
from ctxeng_cli.core.messages import Message

_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_STRING: dict[str, Any] = {"type": "string"}
_MESSAGE: dict[str, Any] = {
    "type": "object",
    "required": ["id", "role", "text"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string", "pattern": "^m[1-9][0-9]*$"},
        "role": {"enum": ["system", "user", "assistant", "tool"]},
        "text": _STRING,
        "content": {"type": "array", "items": {"type": "object", "required": ["type"]}},
        "tool_calls": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "name", "arguments"],
                "additionalProperties": False,
                "properties": {"id": _STRING, "name": _STRING, "arguments": _STRING},
            },
        },
        "tool_call_id": _STRING,
        "name": _STRING,
        "is_error": {"type": "boolean"},
        "extra": {"type": "object"},
    },
}


def event_schema() -> dict[str, Any]:
    """The schema of one `ctxeng.event/1` line. A type that is not listed here is a newer version's and may hold anything."""
    known = sorted(EVENTS)
    branches: list[dict[str, Any]] = []
    for name in known:
        cls = EVENTS[name]
        body = _object(cls, renamed(name))
        branches.append(
            {
                "if": {"properties": {"type": {"const": name}}},
                "then": {"properties": body["properties"], "required": body["required"], "description": _first_line(cls)},
            }
        )
    envelope = {
        "schema": {"const": "ctxeng.event/1"},
        "seq": {"type": "integer", "minimum": 1},
        "type": {"type": "string", "anyOf": [{"enum": known}, {"pattern": "^[a-z]+\\.[a-z_]+$"}]},
        "turn": {"type": "integer", "minimum": 0},
        "agent": _STRING,
        "at": _STRING,
    }
    return {
        "$schema": _DRAFT,
        "title": "ctxeng.event/1",
        "type": "object",
        "required": list(envelope),
        "properties": envelope,
        "allOf": branches,
    }


def context_schema() -> dict[str, Any]:
    """The schema of the object that `inspect-context --json` prints."""
    integer, text = {"type": "integer"}, _STRING
    maybe = {"type": ["integer", "null"]}
    kinds = [
        "system",
        "tools",
        "context",
        "retrieved",
        "format",
        "summary",
        "user",
        "history",
        "tool_call",
        "tool_result",
        "overhead",
    ]
    states = ["in", "evicted", "cleared", "capped", "offloaded", "summarized", "replaced", "dropped"]
    part = {
        "id": {"type": "string", "pattern": "^p[1-9][0-9]*$"},
        "kind": {"enum": kinds},
        "role": {"enum": ["system", "user", "assistant", "tool", None]},
        "source": _object(Source),
        "message": {"type": ["string", "null"]},
        "tokens": integer,
        "state": {"enum": states},
        "reason": {"anyOf": [{"type": "null"}, _record({"rule": text, "limit": maybe, "measured": maybe, "turn": integer})]},
        "preview": text,
    }
    budget = {
        "unit": {"enum": ["tokens", "messages"]},
        "limit": maybe,
        "reserve": integer,
        "used": integer,
        "free": maybe,
        "used_tokens": integer,
    }
    return {
        "$schema": _DRAFT,
        "title": "ctxeng.context/1",
        **_record(
            {
                "schema": {"const": "ctxeng.context/1"},
                "agent": text,
                "session": text,
                "turn": integer,
                "request": integer,
                "model": text,
                "provider": text,
                "tokenizer": _record(
                    {
                        "name": text,
                        "exact": {"type": "boolean"},
                        "frame": text,
                        "calibration": {"anyOf": [{"type": "null"}, _record({"ratio": {"type": "number"}, "calls": integer})]},
                    }
                ),
                "budget": _record(budget),
                "parts": {"type": "array", "items": _record(part)},
                "stages": {"type": "array", "items": _object(StageFinished)},
                "messages": {"type": "array", "items": {"type": "object", "required": ["role", "content"]}},
                "tools": {"type": "array", "items": {"type": "object"}},
                "lint": {"type": "array", "items": _object(Finding)},
            }
        ),
    }


def _record(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": list(properties), "additionalProperties": False, "properties": dict(properties)}


def _object(cls: type, names: Mapping[str, str] | None = None) -> dict[str, Any]:
    hints = typing.get_type_hints(cls)
    properties, required = {}, []
    for field in dataclasses.fields(cls):
        name = (names or {}).get(field.name, field.name)
        properties[name] = _type(hints[field.name])
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            required.append(name)
    return {"type": "object", "required": required, "properties": properties}


def _type(hint: Any) -> dict[str, Any]:
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    plain = {str: "string", int: "integer", float: "number", bool: "boolean"}
    if hint is Message:
        return _MESSAGE
    if hint in plain:
        return {"type": plain[hint]}
    if dataclasses.is_dataclass(hint):
        return _object(typing.cast(type, hint))
    if origin is Literal:
        return {"enum": list(args)}
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [{"type": "null"} if a is type(None) else _type(a) for a in args]}
    if origin is tuple:
        return {"type": "array", "items": _type(args[0])}
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _type(args[1])}
    return {}


def _first_line(cls: type) -> str:
    return (cls.__doc__ or "").strip().splitlines()[0]
