"""Sessions of Claude Code: a line for each block of a message, in Anthropic's shape, with ids that make a tree.

Lines of one `message.id` are one message, and its usage counts once. Side chains (what sub-agents did) and lines that a
resumed session repeats are left out, and told. The system prompt and the tools are not in the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ctxeng_cli.core.events import Usage
from ctxeng_cli.transcripts import anthropic
from ctxeng_cli.transcripts.recording import Asked, Item, Recording, figure, json_object

_SPOKEN = ("user", "assistant")


def is_line(body: Any) -> bool:
    """Whether a line is one of such a session."""
    return isinstance(body, Mapping) and "type" in body and ("uuid" in body or "leafUuid" in body) and "payload" not in body


def recording(lines: Iterable[tuple[int, str]], model: str) -> Recording:
    return Recording("claude-code", lambda recording: _items(lines, recording), model=model, provider="anthropic")


def model_of(bodies: Iterable[Any]) -> str:
    """The model that answered first among some lines."""
    messages = (body.get("message") for body in bodies if isinstance(body, Mapping))
    return next((str(m["model"]) for m in messages if isinstance(m, Mapping) and m.get("model")), "")


def _items(lines: Iterable[tuple[int, str]], recording: Recording) -> Iterator[Item]:
    number = 0
    asked = False
    for body in _merged(lines, recording):
        spoken = body["message"]
        if spoken.get("role") == "assistant":
            yield Asked(recorded=_usage(spoken.get("usage")))
        for message in anthropic.messages({"role": spoken.get("role"), "content": spoken.get("content")}, number + 1):
            number += 1
            yield message.with_id(f"m{number}")
            asked = message.role != "assistant"
    if asked:
        yield Asked(pending=True)


def _merged(lines: Iterable[tuple[int, str]], recording: Recording) -> Iterator[Mapping[str, Any]]:
    """The lines that were said in the main chain, those of one message put together."""
    held: dict[str, Any] | None = None
    seen: set[str] = set()
    left = {"side chain": 0, "repeated": 0, "compaction": 0}
    for _, line in lines:
        body = json_object(line)
        if body is None:
            continue
        left["compaction"] += body.get("subtype") == "compact_boundary"
        if body.get("type") not in _SPOKEN or not isinstance(body.get("message"), Mapping):
            continue
        if body.get("isSidechain"):
            left["side chain"] += 1
            continue
        uuid = str(body.get("uuid"))
        if uuid in seen:
            left["repeated"] += 1
            continue
        seen.add(uuid)
        message = dict(body["message"])
        same = held is not None and message.get("id") and held["message"].get("id") == message.get("id")
        if same and held is not None:
            held["message"]["content"] = [*_listed(held["message"]["content"]), *_listed(message.get("content"))]
            held["message"]["usage"] = message.get("usage") or held["message"].get("usage")
            continue
        if held is not None:
            yield held
        held = {**body, "message": message}
    if held is not None:
        yield held
    recording.notes += [f"{count} {what} lines were left out" for what, count in left.items() if count and what != "compaction"]
    if left["compaction"]:
        recording.notes.append(f"{left['compaction']} compactions are in it; what stood before them is kept here")


def _listed(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return list(content) if isinstance(content, list) else []


def _usage(usage: Any) -> Usage | None:
    """Anthropic counts cached tokens apart from `input_tokens`; our input is all of them."""
    if not isinstance(usage, Mapping):
        return None
    fresh, read, made, out = (
        figure(usage.get(key))
        for key in ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    )
    return Usage(fresh + read + made, out, read, made)
