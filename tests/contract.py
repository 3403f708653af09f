"""What other programs rely on: every JSON line that we print, held against the schemas that the project publishes."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema

SCHEMAS = Path(__file__).parent.parent / "docs" / "schemas"


@cache
def _validator(name: str) -> Any:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@cache
def _fields(kind: str) -> frozenset[str]:
    """What the schema names for a type of event: the envelope and its own fields."""
    schema = _validator("event").schema
    (branch,) = (b for b in schema["allOf"] if b["if"]["properties"]["type"]["const"] == kind)
    return frozenset(schema["properties"]) | frozenset(branch["then"]["properties"])


def assert_event(body: dict[str, Any]) -> None:
    """An event line is valid, of a type that the schema lists, with no field that it does not list."""
    _validator("event").validate(body)
    unlisted = set(body) - _fields(body["type"])
    assert not unlisted, f"{body['type']} has {unlisted}, which the published schema does not name"


def events(out: str) -> list[dict[str, Any]]:
    """The events that a command printed with --json, each of them valid."""
    bodies = [json.loads(line) for line in out.splitlines()]
    for body in bodies:
        assert_event(body)
    return bodies


def assert_context(body: dict[str, Any]) -> None:
    """The object of `inspect-context --json` is valid, and its parts add up."""
    _validator("context").validate(body)
    counted = sum(part["tokens"] for part in body["parts"] if part["state"] in ("in", "capped", "cleared", "offloaded"))
    assert counted == body["budget"]["used_tokens"]
