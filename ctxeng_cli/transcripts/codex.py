"""Rollouts of Codex: items of OpenAI's Responses in envelopes, with token counts behind each answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ctxeng_cli.core.events import Usage
from ctxeng_cli.core.messages import Message, system
from ctxeng_cli.transcripts import openai_responses
from ctxeng_cli.transcripts.recording import Asked, Item, Recording, figure, json_object


def is_line(body: Any) -> bool:
    """Whether a line is one of such a rollout."""
    return isinstance(body, Mapping) and isinstance(body.get("payload"), Mapping) and "type" in body


def recording(lines: Iterable[tuple[int, str]], model: str) -> Recording:
    return Recording("codex", lambda recording: _items(lines, recording), model=model, provider="openai-responses")


def model_of(bodies: Iterable[Any]) -> str:
    """The model that the first turn names."""
    payloads = (body["payload"] for body in bodies if is_line(body) and body["type"] == "turn_context")
    return next((str(payload["model"]) for payload in payloads if payload.get("model")), "")


def _items(lines: Iterable[tuple[int, str]], recording: Recording) -> Iterator[Item]:
    number = 0
    asked = False
    for found in _messages(lines, recording):
        if isinstance(found, Asked):
            yield found
            continue
        number += 1
        yield found.with_id(f"m{number}")
        asked = found.role != "assistant"
    if asked:
        yield Asked(pending=True)


def _messages(lines: Iterable[tuple[int, str]], recording: Recording) -> Iterator[Message | Asked]:
    held: list[Mapping[str, Any]] = []
    usage: Usage | None = None
    compactions = 0

    def answered() -> Iterator[Message | Asked]:
        nonlocal usage
        if held:
            yield Asked(recorded=usage)
            yield openai_responses.answer(held)
        held.clear()
        usage = None

    for _, line in lines:
        body = json_object(line)
        if not is_line(body) or body is None:
            continue
        kind, payload = body["type"], body["payload"]
        compactions += kind == "compacted"
        if kind == "event_msg" and payload.get("type") == "token_count":
            usage = _usage(payload) or usage
        elif kind == "session_meta":
            instructions = payload.get("base_instructions")
            text = instructions.get("text") if isinstance(instructions, Mapping) else instructions
            if isinstance(text, str) and text:
                yield system(text)
        elif kind == "response_item":
            if openai_responses.is_answer(payload):
                if usage is not None:
                    yield from answered()
                held.append(payload)
                continue
            yield from answered()
            said = openai_responses.said(payload)
            if said is not None:
                yield said
    yield from answered()
    if compactions:
        recording.notes.append(f"{compactions} compactions are in it; what stood before them is kept here")


def _usage(payload: Mapping[str, Any]) -> Usage | None:
    """OpenAI's input tokens include the cached ones."""
    info = payload.get("info")
    last = info.get("last_token_usage") if isinstance(info, Mapping) else None
    if not isinstance(last, Mapping):
        return None
    given, cached, out = (figure(last.get(key)) for key in ("input_tokens", "cached_input_tokens", "output_tokens"))
    return Usage(given, out, cached)
