"""Anthropic's Messages: what is refused, and what is accepted and does harm.

The rules look at the body as it would be sent (`payloads.anthropic`); what a provider would say is a prediction from
public reports (protocol_rules.md 4.3).
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from typing import Any

from ctxeng_cli.core.events import Finding
from ctxeng_cli.core.request import CACHE_MARK, Request
from ctxeng_cli.lint.finding import error, listed, warning
from ctxeng_cli.payloads import Block, Turn, anthropic

RULES: dict[str, str] = {
    "AN001": "the results of all calls of an assistant turn stand in the next user turn",
    "AN002": "a result answers a call of the assistant turn right before it",
    "AN003": "results come first in their turn, one for each call, and calls have ids that differ",
    "AN004": "the first message is a user's",
    "AN005": "no text is empty, and no message but a last one of the assistant",
    "AN006": "with thinking, the last assistant turn that called tools begins with its thinking",
    "AN007": "thinking is sent back as it came, with its signature; nothing before it is rewritten",
    "AN008": "the conversation ends with the user, for Claude 4.6 and later",
    "AN009": "a system message inside the conversation only where the model takes one, right behind a user turn",
    "AN010": "at most four cache marks",
    "AN011": "cache marks of an hour stand before those of five minutes",
    "AN012": "the request fits into the model's window",
    "AN013": "results of server tools stand behind their call, in the same turn",
    "AN014": "a cache mark stands on enough text to be kept (accepted, and without effect)",
}
_MOST_MARKS = 4
_LEAST_CACHED = 1024
_IN_CONVERSATION = re.compile(r"opus-(?:4-8|[5-9])|fable-5|sonnet-5-5")
_PREFILL_ENDED = re.compile(r"(?:opus|sonnet)-4-[6-9]|(?:opus|sonnet|haiku|fable|mythos)-[5-9]")


def check(
    request: Request, *, tokens: int | None = None, context_window: int | None = None, rewritten: frozenset[str] = frozenset()
) -> list[Finding]:
    """All findings. `tokens` and `context_window` as in `lint.check`; `rewritten` are messages whose text an edit replaced."""
    turns = anthropic.turns(request)
    model = str(request.parameters.get("model", ""))
    found = [
        *_calls(turns), *_results(turns), *_beginning(turns), *_empty(turns), *_thinking(request, turns, rewritten),
        *_end(turns, model), *_system(turns, model), *_marks(request, turns, tokens), *_servers(turns),
    ]  # fmt: skip
    if tokens is not None and context_window is not None and tokens > context_window:
        what = f"The request has {tokens:,} tokens, the model's window {context_window:,}."
        found.append(error("AN012", what, f"prompt is too long: {tokens} tokens > {context_window} maximum"))
    return found


def _of(turn: Turn | None, type: str) -> list[Block]:
    return [block for block in turn.blocks if block.type == type] if turn else []


# -- pairs -----------------------------------------------------------------------------------------------------------


def _calls(turns: Sequence[Turn]) -> Iterator[Finding]:
    for at, turn in enumerate(turns):
        calls = _of(turn, "tool_use") if turn.role == "assistant" else []
        if not calls:
            continue
        ids = [str(block.body["id"]) for block in calls]
        for id, count in Tally(ids).items():
            if count > 1:
                what = f"{calls[0].message} calls {count} times with the id {id!r}; each call needs one of its own."
                yield error("AN003", what, f"messages.{at}.content: `tool_use` ids must be unique", calls[0].message)
            if not id:
                what = f"{calls[0].message} calls a tool without an id."
                yield error("AN003", what, f"messages.{at}.content: tool_use.id: Field required", calls[0].message)
        behind = turns[at + 1] if at + 1 < len(turns) else None
        answered = {str(block.body["tool_use_id"]) for block in _of(behind, "tool_result")}
        open = [id for id in dict.fromkeys(ids) if id not in answered]
        if open:
            what = f"The calls {listed(open)} of {calls[0].message} have no result in the next message."
            says = (
                f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(open)}. "
                "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
            )
            yield error("AN001", what, says, calls[0].message)


def _results(turns: Sequence[Turn]) -> Iterator[Finding]:
    for at, turn in enumerate(turns):
        before = turns[at - 1] if at else None
        asked = Tally(str(block.body["id"]) for block in _of(before, "tool_use"))
        seen: Tally[str] = Tally()
        for number, block in enumerate(turn.blocks):
            if block.type != "tool_result":
                continue
            id = str(block.body["tool_use_id"])
            seen[id] += 1
            if id not in asked:
                what = f"{block.message} is a result of {id!r}, and the message before it calls nothing with that id."
                says = (
                    f"messages.{at}.content.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each "
                    "`tool_result` block must have a corresponding `tool_use` block in the previous message."
                )
                yield error("AN002", what, says, block.message)
            elif seen[id] > asked[id]:
                what = f"{block.message} answers {id!r} a second time."
                yield error(
                    "AN003", what, f"messages.{at}.content.{number}: each tool_use must have a single result", block.message
                )
        kinds = [block.type == "tool_result" for block in turn.blocks]
        if any(kinds) and not all(kinds[: sum(kinds)]):
            late = next(block for block, is_result in zip(turn.blocks, kinds, strict=True) if not is_result)
            what = f"{late.message} stands before tool results in one message; results come first."
            yield error("AN003", what, f"messages.{at}: tool_result blocks must come first in a user message", late.message)


# -- beginning, end, empty -------------------------------------------------------------------------------------------


def _beginning(turns: Sequence[Turn]) -> Iterator[Finding]:
    if turns and turns[0].role == "assistant":
        first = turns[0].messages[0]
        yield error("AN004", f"The conversation begins with {first}, an assistant's message.",
                    'messages: first message must use the "user" role', first)  # fmt: skip


def _empty(turns: Sequence[Turn]) -> Iterator[Finding]:
    for at, turn in enumerate(turns):
        for number, block in enumerate(turn.blocks):
            if block.type == "text" and not str(block.body["text"]).strip():
                what = f"{block.message} holds an empty text; leave it out."
                says = f"messages.{at}.content.{number}: text content blocks must be non-empty"
                yield error("AN005", what, says, block.message)
        silent = [id for id in turn.messages if not any(block.message == id for block in turn.blocks)]
        for id in silent:
            last = turn.role == "assistant" and at == len(turns) - 1 and id == turn.messages[-1]
            if not last:
                says = f"messages.{at}: all messages must have non-empty content except for the optional final assistant message"
                yield error("AN005", f"{id} is empty; leave it out.", says, id)


def _end(turns: Sequence[Turn], model: str) -> Iterator[Finding]:
    if turns and turns[-1].role == "assistant" and not _of(turns[-1], "tool_use"):
        last = turns[-1].messages[-1]
        says = "This model does not support assistant message prefill. The conversation must end with a user message."
        what = f"The conversation ends with {last}, an assistant's message"
        if _PREFILL_ENDED.search(model):
            yield error("AN008", f"{what}; {model} takes no beginning of its answer.", says, last)
        else:
            yield warning("AN008", f"{what}; Claude 4.6 and later refuse that.", last, says)


def _system(turns: Sequence[Turn], model: str) -> Iterator[Finding]:
    for at, turn in enumerate(turns):
        if turn.role != "system":
            continue
        id = turn.messages[0]
        if not _IN_CONVERSATION.search(model):
            says = "role 'system' is not supported on this model"
            yield error("AN009", f"{id} is a system message inside the conversation; put it first.", says, id)
        elif at == 0 or turns[at - 1].role != "user":
            says = f"messages.{at}: role 'system' must follow a user turn"
            yield error("AN009", f"{id} is a system message that does not stand right behind a user's.", says, id)


# -- thinking --------------------------------------------------------------------------------------------------------


def _thinking(request: Request, turns: Sequence[Turn], rewritten: frozenset[str]) -> Iterator[Finding]:
    answers = [(at, turn) for at, turn in enumerate(turns) if turn.role == "assistant"]
    if not answers:
        return
    at, latest = answers[-1]
    for number, block in enumerate(latest.blocks):
        if block.type != "thinking":
            continue
        if not block.body.get("signature") or not block.body["thinking"]:
            lost = "its signature is missing" if block.body["thinking"] else "its text was emptied while its signature stays"
            says = (
                f"messages.{at}.content.{number}: `thinking` blocks in the latest assistant message cannot be modified. "
                "These blocks must remain as they were in the original response."
            )
            yield error("AN007", f"The thinking of {block.message} was changed: {lost}.", says, block.message)
    settings = request.parameters.get("thinking")
    enabled = isinstance(settings, dict) and settings.get("type") == "enabled"
    called = [(at, turn) for at, turn in answers if _of(turn, "tool_use")]
    if enabled and called:
        at, turn = called[-1]
        if turn.blocks[0].type not in ("thinking", "redacted_thinking"):
            what = f"{turn.blocks[0].message} calls tools and does not begin with its thinking, which is switched on."
            says = (
                f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{turn.blocks[0].type}`. "
                "When `thinking` is enabled, a final `assistant` message must start with a thinking block."
            )
            yield error("AN006", what, says, turn.blocks[0].message)
    if rewritten:
        yield from _rewritten_before(turns, rewritten)


def _rewritten_before(turns: Sequence[Turn], rewritten: frozenset[str]) -> Iterator[Finding]:
    """An edit before thinking that is kept: newer models bind thinking to what stands before it."""
    changed: str | None = None
    for turn in turns:
        for block in turn.blocks:
            if block.message in rewritten:
                changed = changed or block.message
            elif block.type == "thinking" and changed:
                what = f"{changed} was rewritten before the thinking of {block.message}, which newer models bind to it."
                yield warning("AN007", what, block.message)
                return


# -- cache marks and server tools ------------------------------------------------------------------------------------


def _marks(request: Request, turns: Sequence[Turn], tokens: int | None) -> Iterator[Finding]:
    marked: list[tuple[str, Any]] = [("", t.extra["cache_control"]) for t in request.tools if t.extra.get("cache_control")]
    marked += [("", CACHE_MARK)] if "tools" in request.marks else []
    blocks = [*anthropic.system(request), *(block for turn in turns for block in turn.blocks)]
    marked += [(block.message, block.body["cache_control"]) for block in blocks if block.body.get("cache_control")]
    if len(marked) > _MOST_MARKS:
        says = f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
        yield error("AN010", f"The request has {len(marked)} cache marks; four are the most.", says, marked[-1][0])
    short: str | None = None
    for part, mark in marked:
        hour = isinstance(mark, dict) and mark.get("ttl") == "1h"
        if hour and short is not None:
            says = (
                "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "
                "Note that blocks are processed in the following order: tools, system, messages."
            )
            where = f" of {part}" if part else ""
            yield error("AN011", f"The cache mark of one hour{where} stands behind one of five minutes.", says, part)
        elif not hour:
            short = part
    for block in blocks:
        if block.body.get("cache_control") and block.type == "text" and not str(block.body["text"]):
            yield warning("AN014", f"{block.message} marks an empty text for the cache.", block.message)
    if marked and tokens is not None and tokens < _LEAST_CACHED:
        what = (
            f"The request has {tokens:,} tokens; below {_LEAST_CACHED:,} (some models: 512 to 4,096) a cache mark has no effect."
        )
        yield warning("AN014", what)


def _servers(turns: Sequence[Turn]) -> Iterator[Finding]:
    for at, turn in enumerate(turns):
        called: set[str] = set()
        for number, block in enumerate(turn.blocks):
            if block.type == "server_tool_use":
                called.add(str(block.body.get("id")))
            elif block.type.endswith("_tool_result") and block.type != "mcp_tool_result":
                id = str(block.body.get("tool_use_id"))
                if id not in called:
                    what = f"{block.message} holds a {block.type} of {id!r}, and no call of it stands before it in its turn."
                    says = (
                        f"messages.{at}.content.{number}: `{block.type}` block must have a corresponding "
                        "`server_tool_use` block before it."
                    )
                    yield error("AN013", what, says, block.message)
