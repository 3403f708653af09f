"""OpenAI's Responses: items that need each other (protocol_rules.md 4.2).

Size, names and the number of tools are those of the chat (OC003, OC006, OC008): both speak to the same models.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ctxeng_cli.core.events import Finding
from ctxeng_cli.core.request import Request
from ctxeng_cli.lint import openai
from ctxeng_cli.lint.finding import error, warning
from ctxeng_cli.payloads import Block, responses

RULES: dict[str, str] = {
    "OR001": "every call has its output later in the input",
    "OR002": "every output has its call before it, in the input or in the chain of previous responses",
    "OR003": "reasoning that is kept is followed by the item that it produced",
    "OR004": "an item that came with reasoning keeps it",
    "OR005": "what stands before a compaction, or in a chained response, is not sent again (accepted, and does harm)",
    "OR006": "ids keep the prefix of their type, and none stands twice",
}
_PREFIXES = {"reasoning": "rs_", "function_call": "fc_", "message": "msg_"}
_REASONS, _NEVER_REASONS = re.compile(r"\bo[1-9]|gpt-[5-9]|codex"), re.compile(r"gpt-[34]")
"""Models whose answers come with reasoning, and those whose answers never do."""


def check(
    request: Request, *, tokens: int | None = None, context_window: int | None = None, rewritten: frozenset[str] = frozenset()
) -> list[Finding]:
    """All findings, those of the whole request first."""
    items = responses.items(request)
    chained = bool(request.parameters.get("previous_response_id"))
    model = str(request.parameters.get("model", ""))
    size = openai.limits(request, tokens, context_window)
    unreasoned = () if chained else _unreasoned(items, model)
    return [*size, *_pairs(items, chained), *_reasoning(items), *unreasoned, *_dead(items, chained), *_ids(items)]


def _pairs(items: Sequence[Block], chained: bool) -> Iterator[Finding]:
    """OR001, OR002: calls and outputs by their call ids, equal ones in order. An empty id pairs with nothing."""
    open: dict[str, list[Block]] = {}
    for item in items:
        id = str(item.body.get("call_id") or "")
        if item.type.endswith("_output"):
            waiting = open.get(id) if id else None
            if waiting:
                waiting.pop(0)
            elif not chained:
                what = f"{item.message} is an output of {id!r}, and no call of it stands open before it. Leave it out."
                says = f"No tool call found for function call output with call_id {id}."
                yield error("OR002", what, says, item.message)
        elif item.type == "function_call" or (item.type.endswith("_call") and "call_id" in item.body):
            open.setdefault(id, []).append(item)
    for id, waiting in open.items():
        for item in waiting:
            what = f"The call {id!r} of {item.message} has no output. Send one, or leave the call out."
            yield error("OR001", what, f"No tool output found for function call {id}. (param: input)", item.message)


def _reasoning(items: Sequence[Block]) -> Iterator[Finding]:
    for at, item in enumerate(items):
        if item.type == "reasoning" and not (at + 1 < len(items) and _is_models(items[at + 1])):
            id = str(item.body.get("id") or "")
            what = f"The reasoning {id!r} of {item.message} is not followed by what it produced. Keep both, or neither."
            says = f"Item '{id}' of type 'reasoning' was provided without its required following item."
            yield error("OR003", what, says, item.message)


def _unreasoned(items: Sequence[Block], model: str) -> Iterator[Finding]:
    """OR004. An answer may have come without reasoning: it is sure to have lost it only where a model that reasons has none
    in the whole request; where it may have, that is a warning."""
    kept = any(item.type == "reasoning" for item in items)
    if _NEVER_REASONS.search(model) and not kept:
        return
    reasoned = False
    for item in items:
        reasoned = _is_models(item) and (reasoned or item.type == "reasoning")
        id = str(item.body.get("id") or "")
        if reasoned or not id or item.type not in ("function_call", "message") or not _is_models(item):
            continue
        what = f"{item.message} keeps the id {id!r} and its reasoning is not there. Send that too, or take the id away."
        says = f"Item '{id}' of type '{item.type}' was provided without its required 'reasoning' item"
        lost = _REASONS.search(model) and not kept
        yield error("OR004", what, says, item.message) if lost else warning("OR004", what, item.message, says)


def _is_models(item: Block) -> bool:
    if item.type == "message":
        return item.body.get("role") == "assistant"
    return not item.type.endswith("_output")


def _dead(items: Sequence[Block], chained: bool) -> Iterator[Finding]:
    places = [at for at, item in enumerate(items) if item.type == "compaction"]
    if places and places[-1] > 0:
        last = items[places[-1]]
        yield warning(
            "OR005", f"{places[-1]} items stand before the compaction of {last.message}, which stands for them.", last.message
        )
    if chained and any(_is_models(item) and item.type in ("message", "function_call") for item in items):
        yield warning("OR005", "The request goes on from a previous response and sends answers of the model again.")


def _ids(items: Sequence[Block]) -> Iterator[Finding]:
    seen: set[str] = set()
    for at, item in enumerate(items):
        id, prefix = str(item.body.get("id") or ""), _PREFIXES.get(item.type)
        if not id:
            continue
        if prefix and not id.startswith(prefix):
            what = f"{item.message} has a {item.type} with the id {id!r}; its ids begin with {prefix}. Take it away."
            says = f"Invalid 'input[{at}].id': '{id}'. Expected an ID that begins with '{prefix}'."
            yield error("OR006", what, says, item.message)
        if id in seen:
            what = f"{item.message} has the id {id!r}, which stood before. Leave one of the two out."
            yield error(
                "OR006", what, f"Duplicate item found with id {id}. Remove duplicate items from your input.", item.message
            )
        seen.add(id)
