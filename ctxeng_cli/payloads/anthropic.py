"""Anthropic's Messages: `system` apart, turns of user and assistant, results as blocks of the user's turn."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ctxeng_cli.core.messages import Image, Message, Text, Thinking
from ctxeng_cli.core.request import Request
from ctxeng_cli.payloads.turns import Block, Turn, arguments, in_call_order

_ROLES = {"tool": "user"}
_OTHERS = ("messages", "model", "cache")


def system(request: Request) -> list[Block]:
    """The instructions that stand before everything else."""
    found: list[Block] = []
    for message in request.messages:
        if message.role != "system":
            break
        found += _blocks(message)
    return found


def turns(request: Request) -> list[Turn]:
    """The turns in order. Messages of one role that follow each other are one turn, results first as they come."""
    made: list[Turn] = []
    leading = True
    for message in in_call_order(request.messages):
        leading = leading and message.role == "system"
        if leading:
            continue
        role = _ROLES.get(message.role, message.role)
        if not made or made[-1].role != role:
            made.append(Turn(role))
        turn = made[-1]
        turn.messages.append(message.id)
        blocks = list(_blocks(message))
        if message.extra.get("before_results"):  # a recording in which text stood before the results of its message
            first = next((at for at, block in enumerate(turn.blocks) if block.type == "tool_result"), len(turn.blocks))
            turn.blocks[first:first] = blocks
        else:
            turn.blocks += blocks
    return made


def body(request: Request) -> dict[str, Any]:
    """The body of a request. Thinking stands byte for byte, with its signature."""
    said = {"model": request.parameters.get("model", "")}
    rest = {key: value for key, value in request.parameters.items() if key not in _OTHERS}
    instructions = [dict(block.body) for block in system(request)]
    made: dict[str, Any] = {**said, **rest}
    if instructions:
        made["system"] = instructions
    made["messages"] = [{"role": turn.role, "content": [dict(block.body) for block in turn.blocks]} for turn in turns(request)]
    if request.tools:
        made["tools"] = [
            {"name": t.name, "description": t.description, "input_schema": dict(t.parameters), **t.extra} for t in request.tools
        ]
    return made


def _blocks(message: Message) -> Iterator[Block]:
    """A message's blocks. `cache_control` of a recording stands in `extra` by the number of the block."""
    bare = list(_bare(message))
    marks = {min(int(number), len(bare) - 1): mark for number, mark in (message.extra.get("cache_control") or {}).items()}
    for number, made in enumerate(bare):
        yield Block({**made, "cache_control": marks[number]} if number in marks else made, message.id)


def _bare(message: Message) -> Iterator[dict[str, Any]]:
    kept = [block for block in message.extra.get("content") or () if isinstance(block, dict)]
    yield from (block for block in kept if block.get("type") == "redacted_thinking")
    if message.role == "tool":
        yield _result(message)
    else:
        for block in message.content:
            if isinstance(block, Text):
                yield {"type": "text", "text": block.text}
            elif isinstance(block, Thinking):
                signed = {"signature": block.signature} if block.signature is not None else {}
                yield {"type": "thinking", "thinking": block.text, **signed}
            else:
                yield _image(block)
    for call in message.tool_calls:
        yield {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments(call.arguments)}
    yield from (block for block in kept if block.get("type") != "redacted_thinking")


def _result(message: Message) -> dict[str, Any]:
    images = any(isinstance(block, Image) for block in message.content)
    texts = [
        {"type": "text", "text": b.text} if isinstance(b, Text) else _image(b)
        for b in message.content
        if not isinstance(b, Thinking)
    ]
    content: Any = texts if images else message.text
    failed = {"is_error": True} if message.is_error else {}
    return {"type": "tool_result", "tool_use_id": message.tool_call_id or "", "content": content, **failed}


def _image(image: Image) -> dict[str, Any]:
    if image.url.startswith("data:"):
        kind, _, data = image.url[5:].partition(";base64,")
        return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
    return {"type": "image", "source": {"type": "url", "url": image.url}}
