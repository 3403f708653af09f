"""The rows of LangChain4j's behaviour that lie beside the project (CTXENG_SHARED), and their messages as ours."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ctxeng_cli.core.messages import Message, Text, ToolCall

SHARED = os.environ.get("CTXENG_SHARED")
AREAS = ("memory", "memory_store", "memory_error", "token_estimator", "token_estimator_formula")
"""Those that are built."""


def rows(*areas: str) -> list[dict[str, Any]]:
    if SHARED is None:
        return []
    body = json.loads((Path(SHARED) / "conformance" / "langchain4j.json").read_text())
    return [row for row in body["cases"] if row["area"] in areas]


def differs() -> dict[str, dict[str, Any]]:
    """What differs by default: id → the rule that decides, and what is expected."""
    listed = yaml.safe_load((Path(__file__).parent / "default_differs.yaml").read_text())
    return {row["id"]: row for row in listed}


def message(body: Mapping[str, Any], id: str = "") -> Message:
    """A row's message."""
    calls = tuple(ToolCall(c["id"], c["name"], c["arguments"]) for c in body.get("tool_calls") or ())
    role = {"ai": "assistant"}.get(body["role"], body["role"])
    return Message(
        role,
        (Text(body["text"]),) if body.get("text") else (),
        id=id,
        tool_calls=calls,
        tool_call_id=body.get("tool_call_id"),
        name=body.get("tool_name") or body.get("name"),
        is_error=bool(body.get("is_error")),
    )
