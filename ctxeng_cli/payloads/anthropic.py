"""Anthropic's Messages: `system` apart, turns of user and assistant, results as blocks of the user's turn."""

from __future__ import annotations

import itertools
from typing import Any

from ctxeng_cli.core.messages import Block as Piece
from ctxeng_cli.core.messages import Image, Message, Text, Thinking
from ctxeng_cli.core.request import CACHE_MARK, Request
from ctxeng_cli.payloads.turns import Block, Remembered, Turn, arguments, in_call_order

_ROLES = {"tool": "user"}
_OTHERS = ("messages", "model", "cache")


def system(request: Request) -> list[Block]:
    """The instructions that stand before everything else."""
    leading = itertools.takewhile(lambda message: message.role == "system", request.messages)
    return [block for message in leading for block in _blocks(message, message.id in request.marks)]


def turns(request: Request) -> list[Turn]:
    """The turns in order. Messages of one role that follow each other are one turn, as they come: results before the text of
    the user message behind them. A message that holds nothing but another provider's thinking has no place in them."""
    made: list[Turn] = []
    said = itertools.dropwhile(lambda message: message.role == "system", in_call_order(request.messages))
    for message, _, blocks in _REMEMBERED.of((message, message.id in request.marks) for message in said):
        if not blocks and message.content:
            continue
        role = _ROLES.get(message.role, message.role)
        if not made or made[-1].role != role:
            made.append(Turn(role))
        turn = made[-1]
        turn.messages.append(message.id)
        if "before_results" in message.extra:
            at = _place(turn, message.extra["before_results"])
            turn.blocks[at:at] = blocks
        else:
            turn.blocks += blocks
    return made


def _place(turn: Turn, behind: int) -> int:
    """Where that many results stand behind, as a recording has it; the end of the turn, where there are fewer by now."""
    places = [at for at, block in enumerate(turn.blocks) if block.type == "tool_result"]
    return places[-behind] if 0 < behind <= len(places) else len(turn.blocks)


def body(request: Request) -> dict[str, Any]:
    """The body of a request. Thinking stands byte for byte, with its signature."""
    made: dict[str, Any] = {"model": str(request.parameters.get("model", "")).removeprefix("anthropic/")}
    made |= {key: value for key, value in request.parameters.items() if key not in _OTHERS}
    instructions = [dict(block.body) for block in system(request)]
    if instructions:
        made["system"] = instructions
    made["messages"] = [{"role": turn.role, "content": [dict(block.body) for block in turn.blocks]} for turn in turns(request)]
    if request.tools:
        made["tools"] = [
            {"name": t.name, "description": t.description, "input_schema": dict(t.parameters), **t.extra} for t in request.tools
        ]
        if "tools" in request.marks:
            made["tools"][-1]["cache_control"] = dict(CACHE_MARK)
    return made


def _blocks(message: Message, marked: bool) -> list[Block]:
    """A message's blocks, with the cache marks that a recording has by the number of their block; `marked`: one of the
    request's own marks stands behind the last of them."""
    bodies = _bodies(message)
    if bodies and (marked or "cache_control" in message.extra):
        last = len(bodies) - 1
        marks = {min(int(at), last): mark for at, mark in message.extra.get("cache_control", {}).items()}
        for at, mark in ({**marks, last: CACHE_MARK} if marked else marks).items():
            bodies[at] = {**bodies[at], "cache_control": dict(mark)}
    return [Block(body, message.id, str(body["type"])) for body in bodies]


_REMEMBERED = Remembered(_blocks)


def _bodies(message: Message) -> list[dict[str, Any]]:
    """Content, calls, and what an import did not understand; in the order of a recording where that is another."""
    extra = message.extra
    others = [block for block in extra.get("content", ()) if isinstance(block, dict) and "type" in block] if extra else []
    if message.role == "tool":
        return [_result(message, others)]
    content = [made for piece in message.content if (made := _piece(piece)) is not None]
    calls = [{"type": "tool_use", "id": c.id, "name": c.name, "input": arguments(c.arguments)} for c in message.tool_calls]
    piles = {"content": content, "call": calls, "other": others}
    if "layout" not in extra or any(extra["layout"].count(name) != len(pile) for name, pile in piles.items()):
        return [*content, *calls, *others]  # none, or an edit has left another number of them
    left = {name: iter(pile) for name, pile in piles.items()}
    return [next(left[name]) for name in extra["layout"]]


def _piece(piece: Piece) -> dict[str, Any] | None:
    """A block of a message. Thinking without a signature is another provider's, and has no place here; an empty signature is
    one that was lost."""
    if isinstance(piece, Text):
        return {"type": "text", "text": piece.text}
    if isinstance(piece, Image):
        return _image(piece)
    if piece.signature is None:
        return None
    return {"type": "thinking", "thinking": piece.text, **({"signature": piece.signature} if piece.signature else {})}


def _result(message: Message, others: list[dict[str, Any]]) -> dict[str, Any]:
    content: Any = message.text
    if others or any(isinstance(piece, Image) for piece in message.content):
        pieces = [_piece(piece) for piece in message.content if not isinstance(piece, Thinking)]
        content = [*pieces, *others]
    failed = {"is_error": True} if message.is_error else {}
    return {"type": "tool_result", "tool_use_id": message.tool_call_id or "", "content": content, **failed}


def _image(image: Image) -> dict[str, Any]:
    if image.url.startswith("data:"):
        kind, _, data = image.url[5:].partition(";base64,")
        return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}
    return {"type": "image", "source": {"type": "url", "url": image.url}}
