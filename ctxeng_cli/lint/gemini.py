"""Gemini's generateContent: the order of calls and responses, and what its turns may hold (protocol_rules.md 4.4)."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

from ctxeng_cli.core.events import Finding
from ctxeng_cli.core.request import Request
from ctxeng_cli.lint.finding import error, warning
from ctxeng_cli.payloads import Block, Turn, gemini
from ctxeng_cli.payloads.gemini import CALL, RESPONSE

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
_IN_ID = "__thought__"
"""Stands in a call's id before a signature that litellm carries there."""


def check(
    request: Request, *, tokens: int | None = None, context_window: int | None = None, rewritten: frozenset[str] = frozenset()
) -> list[Finding]:
    """All findings. How large a request may be is told by no rule of Gemini's that we know."""
    turns = gemini.turns(request)
    return [*_order(turns), *_end(turns), *_signatures(request, turns), *_merged(turns), *_filled(turns)]


def _order(turns: Sequence[Turn]) -> Iterator[Finding]:
    """GE001, GE002, GE003: each turn against the one before it."""
    calls = 0
    before: Turn | None = None
    for turn in turns:
        responses = sum(block.type == RESPONSE for block in turn.blocks)
        if calls and before is not None and not responses:
            yield _unanswered(before)
        elif calls and before is not None and responses != calls:
            says = (
                "Please ensure that the number of function response parts is equal to the number of function call parts of "
                "the function call turn."
            )
            what = f"{_caller(before)} has {calls} calls, and the turn behind it {responses} responses. Give each call one."
            yield error("GE003", what, says, _caller(before))
        elif responses and not calls:
            what = f"{turn.messages[0]} is a response, and the turn before it calls nothing. Put it right behind its call."
            says = "Please ensure that function response turn comes immediately after a function call turn."
            yield error("GE002", what, says, turn.messages[0])
        calls = sum(block.type == CALL for block in turn.blocks)
        if calls and (before is None or before.role != "user"):
            where = "begins the conversation" if before is None else "follows no turn of the user"
            what = f"{_caller(turn)} calls functions and {where}. Put a user's turn before it."
            says = "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
            yield error("GE001", what, says, _caller(turn))
        before = turn
    if calls and before is not None:
        yield _unanswered(before)


def _caller(turn: Turn) -> str:
    return next(block.message for block in turn.blocks if block.type == CALL)


def _unanswered(turn: Turn) -> Finding:
    caller = _caller(turn)
    what = f"The calls of {caller} are not answered by the turn behind it. Put their responses right behind {caller}."
    return error("GE002", what, "Please ensure that function response turn comes immediately after a function call turn.", caller)


def _end(turns: Sequence[Turn]) -> Iterator[Finding]:
    if turns and turns[-1].role == "model":
        one = "single turn requests end with a user role" if len(turns) == 1 else "multiturn requests ends with a user role"
        last = turns[-1].messages[-1]
        what = f"The request ends with {last}, a turn of the model. End with a user's, or with responses."
        yield error("GE004", what, f"Please ensure that {one} or a function response.", last)


def _signatures(request: Request, turns: Sequence[Turn]) -> Iterator[Finding]:
    """Only the running turn is looked at: what came before the person's last message may have lost its signatures."""
    if not _SIGNED.search(str(request.parameters.get("model", ""))):
        return
    carried = {m.id for m in request.messages if m.tool_calls and _IN_ID in m.tool_calls[0].id}
    asked = (at for at, turn in enumerate(turns) if turn.role == "user" and turn.blocks and turn.blocks[0].type != RESPONSE)
    running = max(asked, default=0)
    for at, turn in enumerate(turns[running:], running):
        first = next((block for block in turn.blocks if block.type == CALL), None)
        if first is None or first.body.get("thoughtSignature") or first.message in carried:
            continue
        what = f"The first call of {first.message} has lost its thought signature. Send it back as it came."
        says = (
            "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly: "
            f"function call `default_api:{_name(first)}`, position {at + 1}."
        )
        yield error("GE005", what, says, first.message)


def _name(call: Block) -> str:
    body = call.body[CALL]
    return str(body.get("name", "")) if isinstance(body, Mapping) else ""


def _merged(turns: Sequence[Turn]) -> Iterator[Finding]:
    """Messages of one role behind each other. The body puts them into one content; a summary is made for that."""
    for turn in turns:
        if any(block.type == RESPONSE for block in turn.blocks):
            continue
        for before, now in itertools.pairwise(turn.messages):
            if before != "summary":
                what = f"{before} and {now} are both the {turn.role}'s; they are put into one turn, since reports conflict."
                yield warning("GE006", what, now)


def _filled(turns: Sequence[Turn]) -> Iterator[Finding]:
    for at, turn in enumerate(turns):
        if turn.role not in ("user", "model"):
            what = f"{turn.messages[0]} has the role {turn.role}. Roles are user and model; instructions are systemInstruction."
            yield error("GE007", what, "Please use a valid role: user, model.", turn.messages[0])
        said = {block.message for block in turn.blocks}
        empty = [block.message for block in turn.blocks if block.body.get("text") == ""]
        for id in dict.fromkeys([*(id for id in turn.messages if id not in said), *empty]):
            yield error("GE007", f"{id} has an empty part. Leave it out.", f"contents[{at}].parts: must not be empty", id)
