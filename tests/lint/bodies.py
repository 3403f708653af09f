"""Requests of each provider as its users would write them, read by the importers and linted as they would be sent."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ctxeng_cli.core.events import Finding
from ctxeng_cli.core.request import Request
from ctxeng_cli.lint import check
from ctxeng_cli.transcripts import Asked, Recording, read


def recording(body: Any) -> Recording:
    return read(json.dumps(body).encode(), "t.json")


def request_of(body: Any) -> Request:
    """The whole of a recording as one request."""
    found = recording(body)
    parameters = {"model": found.model, **found.parameters}
    return Request(found.messages, found.tools, None, parameters)


def findings(body: Any, provider: str, **known: Any) -> tuple[Finding, ...]:
    assert any(isinstance(item, Asked) for item in recording(body)) or not recording(body).messages
    return check(request_of(body), provider=provider, **known)


def codes(body: Any, provider: str, **known: Any) -> list[str]:
    return [finding.code for finding in findings(body, provider, **known)]


def use(id: str = "t1", name: str = "look", **input: Any) -> Mapping[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def result(id: str = "t1", text: str = "seen", **more: Any) -> Mapping[str, Any]:
    return {"type": "tool_result", "tool_use_id": id, "content": text, **more}


def text(said: str, **more: Any) -> Mapping[str, Any]:
    return {"type": "text", "text": said, **more}


def thinking(said: str = "Hm.", signature: str | None = "c2ln") -> Mapping[str, Any]:
    return {"type": "thinking", "thinking": said, **({} if signature is None else {"signature": signature})}
