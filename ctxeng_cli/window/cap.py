"""Shorten messages in the request where what must stay does not fit; the whole of them stays in the log (SPEC 3, overflow)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ctxeng_cli.core.budget import Edit, Reason
from ctxeng_cli.core.history import History
from ctxeng_cli.core.request import text_hash
from ctxeng_cli.core.tokens import RESULT_FRAME
from ctxeng_cli.spec.policy import CapResult

_LEAST = 40
"""Tokens under which a message is not shortened further: its notice needs about that much."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A text that stands in a message's place, with its edit. The edit's tokens are those of the message with it."""

    text: str
    edit: Edit


def newest_results(history: History) -> list[str]:
    """The results of the newest round."""
    rounds = history.exchanges[-1].rounds if history.exchanges else []
    return [id for id in rounds[-1].ids if history.messages[id].role == "tool"] if rounds else []


def cap(history: History, ids: Sequence[str], over: int, count: Callable[[str], int], reason: Reason) -> tuple[Rewritten, ...]:
    """Shorten these messages, largest first, until `over` tokens are saved or all are short.

    Head and tail stay, with a notice of how much is left out and where the whole is. `count` counts a text's tokens.
    """
    capped = []
    for id in sorted(ids, key=lambda id: history.tokens[id], reverse=True):
        if over <= 0:
            break
        before = history.tokens[id]
        result = history.messages[id].role == "tool" or id in history.overrides
        frame = RESULT_FRAME if result else before - count(history.messages[id].text)
        room = max(_LEAST, before - over - frame)
        if before - frame <= room:
            continue
        item = _capped(history, id, room, frame, count, reason)
        if item is None:
            continue
        over -= before - item.edit.tokens
        capped.append(item)
    return tuple(capped)


def cap_step(history: History, step: CapResult, over: int, count: Callable[[str], int], reason: Reason) -> tuple[Rewritten, ...]:
    """Shorten what is longer than the step allows, oldest first, until `over` tokens are saved."""
    found: dict[str, Rewritten] = {}
    for round in (round for exchange in history.exchanges for round in exchange.rounds):
        results = [id for id in round.ids if history.messages[id].role == "tool" and id not in history.capped]
        for id in results:
            if over > 0 and history.tokens[id] - RESULT_FRAME > step.tokens:
                item = _capped(history, id, step.tokens, RESULT_FRAME, count, reason)
                if item is not None:
                    over -= history.tokens[id] - item.edit.tokens
                    found[id] = item
        together = sum(found[id].edit.tokens if id in found else history.tokens[id] for id in results)
        if over > 0 and step.round_tokens is not None and together > step.round_tokens:
            left = [id for id in results if id not in found]
            for item in cap(history, left, together - step.round_tokens, count, reason):
                (id,) = item.edit.messages
                over -= history.tokens[id] - item.edit.tokens
                found[id] = item
    return tuple(found.values())


def _capped(history: History, id: str, room: int, frame: int, count: Callable[[str], int], reason: Reason) -> Rewritten | None:
    """A message with as much of its head and tail as fits into `room`; None where that saves nothing."""

    def notice(left: int, all: int) -> str:
        return f"[… {left:,} of {all:,} characters left out to fit the window; all of it is in the log as {id} …]"

    text = head_and_tail(history.messages[id].text, room, count, notice)
    after = count(text) + frame
    return None if after >= history.tokens[id] else Rewritten(text, Edit("cap", (id,), after, reason, text_hash(text)))


def head_and_tail(text: str, room: int, count: Callable[[str], int], notice: Callable[[int, int], str]) -> str:
    """The longest head (two thirds) and tail (one third) that fit into `room` tokens with a notice, found by halving.

    `notice` says that so many of so many characters are left out.
    """
    low, high, best = 0, len(text), _cut(text, 0, notice)
    high = min(high, room * 8)
    while low <= high:
        middle = (low + high) // 2
        candidate = _cut(text, middle, notice)
        if count(candidate) <= room:
            low, best = middle + 1, candidate
        else:
            high = middle - 1
    return best


def _cut(text: str, keep: int, notice: Callable[[int, int], str]) -> str:
    head, tail = keep * 2 // 3, keep - keep * 2 // 3
    left = notice(len(text) - keep, len(text))
    return "\n".join(piece for piece in (text[:head], left, text[len(text) - tail :] if tail else "") if piece)
