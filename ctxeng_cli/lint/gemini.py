"""Gemini's generateContent: the order of calls and responses, and what its turns may hold (protocol_rules.md 4.4)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from ctxeng_cli.core.events import Finding
from ctxeng_cli.core.request import Request
from ctxeng_cli.lint.finding import error, warning
from ctxeng_cli.payloads import Turn, gemini

RULES: dict[str, str] = {
    "GE001": "a turn that calls functions follows a user's turn or one of responses",
    "GE002": "responses stand right behind the turn that called",
    "GE003": "one turn holds as many responses as there were calls",
    "GE004": "the request ends with a user's turn or with responses",
    "GE005": "with Gemini 3 the first call of each step of the running turn carries its thought signature",
    "GE006": "turns of one role that follow each other are put together (accepted by some, refused by others)",
    "GE007": "no part is empty, and roles are user and model",
}
_SIGNED = re.compile(r"gemini-[3-9]")
_CALL = "functionCall"
_RESPONSE = "functionResponse"


def check(
    request: Request, *, tokens: int | None = None, context_window: int | None = None, rewritten: frozenset[str] = frozenset()
) -> list[Finding]:
    """All findings. How large a request may be is told by no rule of Gemini's that we know."""
    turns = gemini.turns(request)
    return [*_order(turns), *_end(turns), *_signatures(request, turns), *_merged(request), *_empty(turns)]


def _count(turn: Turn | None, key: str) -> int:
    return sum(key in block.body for block in turn.blocks) if turn else 0


def _order(turns: Sequence[Turn]) -> Iterator[Finding]:
    for at, turn in enumerate(turns):
        before = turns[at - 1] if at else None
        behind = turns[at + 1] if at + 1 < len(turns) else None
        id = turn.messages[0]
        calls, responses = _count(turn, _CALL), _count(turn, _RESPONSE)
        if calls and (before is None or before.role != "user"):
            what = f"{id} calls functions and {'begins the conversation' if before is None else 'follows no turn of the user'}."
            says = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
            yield error("GE001", what, says, id)
        if responses and not _count(before, _CALL):
            what = f"{id} is a response, and the turn before it calls nothing."
            says = "Please ensure that function response turn comes immediately after a function call turn."
            yield error("GE002", what, says, id)
        elif calls and not _count(behind, _RESPONSE):
            what = f"The calls of {id} are not answered by the next turn."
            says = "Please ensure that function response turn comes immediately after a function call turn."
            yield error("GE002", what, says, id)
        elif calls and _count(behind, _RESPONSE) != calls:
            what = f"{id} has {calls} calls, and the next turn {_count(behind, _RESPONSE)} responses."
            says = (
                "Please ensure that the number of function response parts is equal to the number of function call parts of "
                "the function call turn."
            )
            yield error("GE003", what, says, id)


def _end(turns: Sequence[Turn]) -> Iterator[Finding]:
    if turns and turns[-1].role == "model" and not _count(turns[-1], _CALL):
        one = "single turn requests end with a user role" if len(turns) == 1 else "multiturn requests ends with a user role"
        last = turns[-1].messages[-1]
        says = f"Please ensure that {one} or a function response."
        yield error("GE004", f"The request ends with {last}, an answer of the model.", says, last)


def _signatures(request: Request, turns: Sequence[Turn]) -> Iterator[Finding]:
    """Only the running turn is looked at: what came before the person's last message may have lost its signatures."""
    if not _SIGNED.search(str(request.parameters.get("model", ""))):
        return
    ids = {call.id for message in request.messages for call in message.tool_calls if "__thought__" in call.id}
    running = max((at for at, turn in enumerate(turns) if turn.role == "user" and not _count(turn, _RESPONSE)), default=0)
    for at, turn in enumerate(turns[running:], running):
        first = next((block for block in turn.blocks if _CALL in block.body), None)
        if first is None or first.body.get("thoughtSignature"):
            continue
        message = next(m for m in request.messages if m.id == first.message)
        if message.tool_calls and message.tool_calls[0].id in ids:
            continue  # litellm carries the signature in the id
        name = first.body[_CALL]["name"]
        what = f"The first call of {first.message} has lost its thought signature."
        says = (
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly: "
            f"function call `default_api:{name}`, position {at + 1}."
        )
        yield error("GE005", what, says, first.message)


def _merged(request: Request) -> Iterator[Finding]:
    said = [message for message in request.messages if message.role in ("user", "assistant")]
    for before, now in itertools.pairwise(said):
        if before.role == now.role and not before.tool_calls and not now.tool_calls:
            what = f"{before.id} and {now.id} are both the {now.role}'s; they are put into one turn, since reports conflict."
            yield warning("GE006", what, now.id)


def _empty(turns: Sequence[Turn]) -> Iterator[Finding]:
    for at, turn in enumerate(turns):
        for id in turn.messages:
            blocks = [block for block in turn.blocks if block.message == id]
            empty = not blocks or any(block.body.get("text") == "" for block in blocks)
            if empty:
                says = f"contents[{at}].parts: must not be empty"
                yield error("GE007", f"{id} is empty; leave it out.", says, id)
