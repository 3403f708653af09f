"""OpenAI's Responses: items that need each other (protocol_rules.md 4.2)."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterator, Sequence

from ctxeng_cli.core.events import Finding
from ctxeng_cli.core.request import Request
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
_PRODUCED = ("message", "function_call", "custom_tool_call", "web_search_call", "file_search_call", "computer_call", "reasoning")


def check(
    request: Request, *, tokens: int | None = None, context_window: int | None = None, rewritten: frozenset[str] = frozenset()
) -> list[Finding]:
    """All findings. How large a request may be is the rule OC006 of OpenAI's chat."""
    items = responses.items(request)
    chained = bool(request.parameters.get("previous_response_id"))
    return [*_pairs(items, chained), *_reasoning(items), *_dead(items, chained), *_ids(items)]


def _pairs(items: Sequence[Block], chained: bool) -> Iterator[Finding]:
    outputs = Tally(str(item.body.get("call_id")) for item in items if item.type == "function_call_output")
    calls: Tally[str] = Tally()
    for item in items:
        id = str(item.body.get("call_id"))
        if item.type == "function_call":
            calls[id] += 1
            if not outputs[id]:
                says = f"No tool output found for function call {id}. (param: input)"
                yield error("OR001", f"The call {id!r} of {item.message} has no output.", says, item.message)
        elif item.type == "function_call_output" and not calls[id] and not chained:
            says = f"No tool call found for function call output with call_id {id}."
            yield error(
                "OR002", f"{item.message} is an output of {id!r}, and no call of it stands before it.", says, item.message
            )


def _reasoning(items: Sequence[Block]) -> Iterator[Finding]:
    kept = any(item.type == "reasoning" for item in items)
    for at, item in enumerate(items):
        behind = items[at + 1] if at + 1 < len(items) else None
        id = str(item.body.get("id") or "")
        if item.type == "reasoning" and not (behind is not None and behind.type in _PRODUCED and _is_models(behind)):
            says = f"Item '{id}' of type 'reasoning' was provided without its required following item."
            yield error(
                "OR003", f"The reasoning {id!r} of {item.message} is not followed by what it produced.", says, item.message
            )
        if kept and id and item.type in ("function_call", "message") and _is_models(item) and not _reasoned(items, at):
            says = f"Item '{id}' of type '{item.type}' was provided without its required 'reasoning' item"
            yield error("OR004", f"{item.message} keeps the id {id!r} and has lost its reasoning.", says, item.message)


def _is_models(item: Block) -> bool:
    return item.type != "message" or item.body.get("role") == "assistant"


def _reasoned(items: Sequence[Block], at: int) -> bool:
    """Whether reasoning stands before an item in the same answer."""
    for item in reversed(items[:at]):
        if item.type == "reasoning":
            return True
        if item.type not in _PRODUCED or not _is_models(item):
            return False
    return False


def _dead(items: Sequence[Block], chained: bool) -> Iterator[Finding]:
    places = [at for at, item in enumerate(items) if item.type == "compaction"]
    if places and places[-1] > 0:
        what = f"{places[-1]} items stand before the compaction of {items[places[-1]].message}, which stands for them."
        yield warning("OR005", what, items[places[-1]].message)
    if chained and any(_is_models(item) and item.type in ("message", "function_call") for item in items):
        yield warning("OR005", "The request goes on from a previous response and sends answers of the model again.")


def _ids(items: Sequence[Block]) -> Iterator[Finding]:
    seen: set[str] = set()
    for at, item in enumerate(items):
        id, prefix = str(item.body.get("id") or ""), _PREFIXES.get(item.type)
        if not id:
            continue
        if prefix and not id.startswith(prefix):
            says = f"Invalid 'input[{at}].id': '{id}'. Expected an ID that begins with '{prefix}'."
            yield error(
                "OR006", f"{item.message} has a {item.type} with the id {id!r}; its ids begin with {prefix}.", says, item.message
            )
        if id in seen:
            yield error("OR006", f"The id {id!r} stands twice.", f"Duplicate item found with id {id}.", item.message)
        seen.add(id)
