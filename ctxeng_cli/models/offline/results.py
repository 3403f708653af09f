"""The answer from tool results: one bullet for each call, with its arguments, its figures and the id of its result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ctxeng_cli.core.messages import Message, ToolCall
from ctxeng_cli.models.offline.passages import lines, reference
from ctxeng_cli.models.offline.phrases import phrase
from ctxeng_cli.models.offline.words import Language

_ROWS = 12
_LONGEST = 600


def answer(messages: Sequence[Message], running: int, words: Language) -> str:
    """Tell every result that came after the message at `running`."""
    open_calls: list[ToolCall] = []
    bullets = []
    for place in range(running + 1, len(messages)):
        message = messages[place]
        open_calls += message.tool_calls
        if message.role == "tool":
            call = next((call for call in open_calls if call.id == message.tool_call_id), None)
            if call:
                open_calls.remove(call)
            bullets.append(_bullet(call, message, reference(message, place), words))
    return bullets[0] if len(bullets) == 1 else "\n".join(f"- {bullet}" for bullet in bullets)


def _bullet(call: ToolCall | None, result: Message, id: str, words: Language) -> str:
    colon = "：" if words == "zh" else ": "
    head = _head(call, words) if call else result.name or "tool"
    text = result.text.removeprefix(f"{call.name} failed: ") if call and result.is_error else result.text
    body = _body(text, call) or [phrase("no_output", words)]
    if result.is_error:
        head += " " + phrase("failed", words)
    if len(body) == 1:
        return f"{head}{colon}{body[0]} [{id}]"
    return f"{head} [{id}]{colon.rstrip()}\n" + "\n".join(f"  - {line}" for line in body)


def _head(call: ToolCall, words: Language) -> str:
    arguments = _arguments(call)
    if not arguments:
        return call.name
    said = {name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for name, value in arguments.items()}
    told = ", ".join(f"{name}: {value}" for name, value in said.items())
    return f"{call.name}（{told}）" if words == "zh" else f"{call.name} ({told})"


def _besides(value: Any, call: ToolCall | None) -> Any:
    """A result without what the call has said already."""
    asked = _arguments(call) if call else {}
    if not isinstance(value, dict):
        return value
    return {key: item for key, item in value.items() if key not in asked or asked[key] != item} or value


def _arguments(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}


def _body(text: str, call: ToolCall | None) -> list[str]:
    """The lines of a result: JSON flattened, other text as it is, both cut where they get long."""
    if text.lstrip()[:1] in ("{", "[") and len(text) < 1_000_000:
        try:
            told = lines(_besides(json.loads(text), call))
        except (ValueError, RecursionError):
            told = text[: _LONGEST * _ROWS].splitlines()
    else:
        told = text[: _LONGEST * _ROWS].splitlines()
    told = [line.strip() for line in told if line.strip()]
    shown = [line if len(line) <= _LONGEST else line[:_LONGEST] + " …" for line in told[:_ROWS]]
    return [*shown, f"… (+{len(told) - _ROWS})"] if len(told) > _ROWS else shown
