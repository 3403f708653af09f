"""Anthropic's Messages: what is refused, and what is accepted and does harm.

The rules look at the body as it would be sent (`payloads.anthropic`); what a provider would say is a prediction from
public reports (protocol_rules.md 4.3).
"""

from __future__ import annotations

import re
from collections import Counter as Tally
from collections.abc import Iterator, Mapping, Sequence
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
_LEAST_CACHED = (
    (re.compile(r"(?:opus|fable|mythos)-5"), 512),
    (re.compile(r"opus-4[-.]7|haiku-3[-.]5|3[-.]5-haiku"), 2048),
    (re.compile(r"opus-4[-.][56]|haiku-4[-.]5"), 4096),
)
"""Tokens below which a mark has no effect, by model; 1,024 for any other (prompt_cache.md 5.3)."""
_IN_CONVERSATION = re.compile(r"opus-(?:4[-.]8|[5-9])|fable-5|sonnet-5[-.]5")
_PREFILL_ENDED = re.compile(r"(?:opus|sonnet|haiku)-4[-.][6-9]|(?:opus|sonnet|haiku|fable|mythos)-[5-9]")
_THINKING = ("thinking", "redacted_thinking")


def check(
    request: Request, *, tokens: int | None = None, context_window: int | None = None, rewritten: frozenset[str] = frozenset()
) -> list[Finding]:
    """All findings. `tokens` and `context_window` as in `lint.check`; `rewritten` are messages whose text an edit replaced."""
    turns, system = anthropic.turns(request), anthropic.system(request)
    model = str(request.parameters.get("model", ""))
    found = [
        *_pairs(turns), *_beginning(turns), *_empty(system, turns), *_thinking(request, turns, rewritten),
        *_end(turns, model), *_system(turns, model), *_marks(request, system, turns, model, tokens), *_servers(turns),
    ]  # fmt: skip
    if tokens is not None and context_window is not None and tokens > context_window:
        what = f"The request has {tokens:,} tokens, the model's window {context_window:,}. Give it a smaller window policy."
        found.append(error("AN012", what, f"prompt is too long: {tokens} tokens > {context_window} maximum"))
    return found


# -- pairs -----------------------------------------------------------------------------------------------------------


def _pairs(turns: Sequence[Turn]) -> Iterator[Finding]:
    """AN001, AN002, AN003: the calls of an assistant turn against the results of the turn behind it."""
    calls: list[Block] = []
    for at, turn in enumerate(turns):
        results = [block for block in turn.blocks if block.type == "tool_result"]
        if calls:
            yield from _open(turns, at, calls, results)
        if results:
            yield from _answers(at, turn, calls, results)
        calls = [block for block in turn.blocks if block.type == "tool_use"] if turn.role == "assistant" else []
        if calls:
            yield from _ids(at, calls)
    if calls:
        yield from _open(turns, len(turns), calls, [])


def _id(block: Block) -> str:
    """The id of a call, or that of the call that a result answers."""
    return str(block.body.get("id" if block.type == "tool_use" else "tool_use_id") or "")


def _ids(at: int, calls: Sequence[Block]) -> Iterator[Finding]:
    ids = {_id(block) for block in calls}
    if len(ids) == len(calls) and "" not in ids:
        return
    for id, count in Tally(_id(block) for block in calls).items():
        caller = next(block.message for block in calls if _id(block) == id)
        if not id:
            says = f"messages.{at}.content: tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
            yield error("AN003", f"{caller} calls a tool without an id. Give the call and its result one.", says, caller)
        elif count > 1:
            what = f"{caller} calls {count} times with the id {id!r}. Give each call, and its result, an id of its own."
            yield error("AN003", what, f"messages.{at}.content: `tool_use` ids must be unique", caller)


def _open(turns: Sequence[Turn], at: int, calls: Sequence[Block], results: Sequence[Block]) -> Iterator[Finding]:
    """Calls without a result in the turn `at`, the one behind them."""
    answered = {_id(block) for block in results}
    if all(_id(block) in answered for block in calls):
        return
    open = {_id(block): block.message for block in calls if _id(block) not in answered}
    caller = next(iter(open.values()))
    late: dict[str, str] = {}
    sought = set(open)
    for block in (block for turn in turns[at + 1 :] for block in turn.blocks if block.type in ("tool_use", "tool_result")):
        if block.type == "tool_result" and _id(block) in sought:
            late[_id(block)] = block.message
        sought.discard(_id(block))  # another call of that id has results of its own
    if late:
        where = ", ".join(f"the result of {id!r} is {message}" for id, message in late.items())
        what = f"Results of {caller} stand in the wrong place: {where}. Put them right behind {caller}."
    else:
        what = (
            f"The calls {listed(open)} of {caller} have no result in the next message. Put their results right behind {caller}."
        )
    says = (
        f"messages.{at - 1}: `tool_use` ids were found without `tool_result` blocks immediately after: {', '.join(open)}. "
        "Each `tool_use` block must have a corresponding `tool_result` block in the next message."
    )
    yield error("AN001", what, says, caller)


def _answers(at: int, turn: Turn, calls: Sequence[Block], results: Sequence[Block]) -> Iterator[Finding]:
    ids = [_id(block) for block in calls]
    left = list(ids)
    for block in results:
        id = _id(block)
        if id in left:
            left.remove(id)
            continue
        place = f"messages.{at}.content.{turn.blocks.index(block)}"
        if id not in ids:
            what = (
                f"{block.message} is a result of {id!r}, and the message before it calls nothing with that id. "
                "Put it right behind its call, or leave it out."
            )
            says = (
                f"{place}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a "
                "corresponding `tool_use` block in the previous message."
            )
            yield error("AN002", what, says, block.message)
        else:
            what = f"{block.message} answers {id!r} a second time. Leave one of the two out."
            yield error("AN003", what, f"{place}: each tool_use must have a single result", block.message)
    late = next((block for block in turn.blocks[: len(results)] if block.type != "tool_result"), None)
    if late is not None:
        what = f"{late.message} stands before tool results in one message. Put the results first."
        yield error("AN003", what, f"messages.{at}: tool_result blocks must come first in a user message", late.message)


# -- beginning, end, empty -------------------------------------------------------------------------------------------


def _beginning(turns: Sequence[Turn]) -> Iterator[Finding]:
    if turns and turns[0].role == "assistant":
        first = turns[0].messages[0]
        what = f"The conversation begins with {first}, an assistant's message. Begin with a user's."
        yield error("AN004", what, 'messages: first message must use the "user" role', first)


def _empty(system: Sequence[Block], turns: Sequence[Turn]) -> Iterator[Finding]:
    for number, block in enumerate(system):
        yield from _blank(block, f"system.{number}")
    for at, turn in enumerate(turns):
        for number, block in enumerate(turn.blocks):
            if block.type == "text":
                yield from _blank(block, f"messages.{at}.content.{number}")
        said = {block.message for block in turn.blocks}
        for id in turn.messages:
            last = turn.role == "assistant" and at == len(turns) - 1 and id == turn.messages[-1]
            if id not in said and not last:
                says = f"messages.{at}: all messages must have non-empty content except for the optional final assistant message"
                yield error("AN005", f"{id} is empty. Leave it out.", says, id)


def _blank(block: Block, place: str) -> Iterator[Finding]:
    if block.type == "text" and not str(block.body.get("text") or "").strip():
        what = f"{block.message} holds an empty text. Leave it out."
        yield error("AN005", what, f"{place}: text content blocks must be non-empty", block.message)


def _end(turns: Sequence[Turn], model: str) -> Iterator[Finding]:
    if not turns or turns[-1].role != "assistant" or any(block.type == "tool_use" for block in turns[-1].blocks):
        return
    last = turns[-1].messages[-1]
    says = "This model does not support assistant message prefill. The conversation must end with a user message."
    what = f"The conversation ends with {last}, an assistant's message"
    if _PREFILL_ENDED.search(model):
        yield error("AN008", f"{what}; {model} takes no beginning of its answer. End with a user's.", says, last)
    else:
        yield warning("AN008", f"{what}; Claude 4.6 and later refuse that.", last, says)


def _system(turns: Sequence[Turn], model: str) -> Iterator[Finding]:
    for at, turn in enumerate(turns):
        if turn.role != "system":
            continue
        id = turn.messages[0]
        if not _IN_CONVERSATION.search(model):
            what = f"{id} is a system message inside the conversation, and {model or 'the model'} takes none. Put it first."
            yield error("AN009", what, "role 'system' is not supported on this model", id)
        elif at == 0 or turns[at - 1].role != "user":
            what = f"{id} is a system message that does not stand right behind a user's. Put it there, or first."
            yield error("AN009", what, f"messages.{at}: role 'system' must follow a user turn", id)


# -- thinking --------------------------------------------------------------------------------------------------------


def _thinking(request: Request, turns: Sequence[Turn], rewritten: frozenset[str]) -> Iterator[Finding]:
    at = next((at for at in range(len(turns) - 1, -1, -1) if turns[at].role == "assistant"), None)
    if at is not None:
        yield from _changed(at, turns[at])
    settings = request.parameters.get("thinking")
    if isinstance(settings, Mapping) and settings.get("type") == "enabled":
        yield from _lost(turns)
    if rewritten:
        yield from _rewritten_before(turns, rewritten)


def _changed(at: int, latest: Turn) -> Iterator[Finding]:
    """Thinking of the latest assistant turn whose text or signature is not what it was."""
    for number, block in enumerate(latest.blocks):
        if block.type != "thinking" or (block.body.get("signature") and block.body.get("thinking")):
            continue
        lost = "its signature is missing" if block.body.get("thinking") else "its text was emptied while its signature stays"
        what = f"The thinking of {block.message} was changed: {lost}. Send it as it came, or leave it out with its signature."
        says = (
            f"messages.{at}.content.{number}: `thinking` blocks in the latest assistant message cannot be modified. "
            "These blocks must remain as they were in the original response."
        )
        yield error("AN007", what, says, block.message)


def _lost(turns: Sequence[Turn]) -> Iterator[Finding]:
    """AN006, of the last turn that called tools."""
    for at in range(len(turns) - 1, -1, -1):
        turn = turns[at]
        if turn.role != "assistant" or not any(block.type == "tool_use" for block in turn.blocks):
            continue
        first = turn.blocks[0]
        if first.type not in _THINKING:
            what = (
                f"{first.message} calls tools and does not begin with its thinking, which is switched on. "
                "Send its thinking back, or switch thinking off."
            )
            says = (
                f"messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{first.type}`. "
                "When `thinking` is enabled, a final `assistant` message must start with a thinking block."
            )
            yield error("AN006", what, says, first.message)
        return


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


def _marks(request: Request, system: Sequence[Block], turns: Sequence[Turn], model: str, tokens: int | None) -> Iterator[Finding]:
    tools: list[tuple[str, Any]] = [
        ("", tool.extra["cache_control"]) for tool in request.tools if tool.extra.get("cache_control")
    ]
    tools += [("", CACHE_MARK)] if "tools" in request.marks else []
    blocks = [block for turn in turns for block in turn.blocks if "cache_control" in block.body]
    blocks = [*(block for block in system if "cache_control" in block.body), *blocks]
    marked = [*tools, *((block.message, block.body["cache_control"]) for block in blocks)]
    if not marked:
        return
    if len(marked) > _MOST_MARKS:
        says = f"A maximum of 4 blocks with cache_control may be provided. Found {len(marked)}."
        what = f"The request has {len(marked)} cache marks, and four are the most. Take {len(marked) - _MOST_MARKS} away."
        yield error("AN010", what, says, marked[_MOST_MARKS][0])
    yield from _times(marked)
    for block in blocks:
        if block.type == "text" and not str(block.body.get("text") or ""):
            yield warning("AN014", f"{block.message} marks an empty text for the cache, which has no effect.", block.message)
    least = next((least for models, least in _LEAST_CACHED if models.search(model)), 1024)
    if tokens is not None and tokens < least:
        yield warning("AN014", f"The request has {tokens:,} tokens; below {least:,} a cache mark has no effect on this model.")


def _times(marked: Sequence[tuple[str, Any]]) -> Iterator[Finding]:
    """AN011: marks in the order in which they are processed, tools, system, messages."""
    short = False
    for part, mark in marked:
        hour = isinstance(mark, Mapping) and mark.get("ttl") == "1h"
        if hour and short:
            where = f" of {part}" if part else ""
            what = f"The cache mark of one hour{where} stands behind one of five minutes. Put those of an hour first."
            says = (
                "cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "
                "Note that blocks are processed in the following order: tools, system, messages."
            )
            yield error("AN011", what, says, part)
        short = short or not hour


def _servers(turns: Sequence[Turn]) -> Iterator[Finding]:
    for at, turn in enumerate(turns):
        called: set[str] = set()
        for number, block in enumerate(turn.blocks):
            if block.type == "server_tool_use":
                called.add(str(block.body.get("id")))
            elif block.type.endswith("_tool_result") and block.type != "mcp_tool_result":
                id = str(block.body.get("tool_use_id"))
                if id not in called:
                    what = (
                        f"{block.message} holds a {block.type} of {id!r}, and no call of it stands before it in its turn. "
                        "Keep both, or leave both out."
                    )
                    says = (
                        f"messages.{at}.content.{number}: `{block.type}` block must have a corresponding "
                        "`server_tool_use` block before it."
                    )
                    yield error("AN013", what, says, block.message)
