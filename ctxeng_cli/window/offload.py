"""Long tool results leave the window for a file; a preview and a handle stay, and a tool reads the rest (SPEC 3)."""

from __future__ import annotations

from collections.abc import Callable

from ctxeng_cli.core.budget import Edit, Reason
from ctxeng_cli.core.history import History
from ctxeng_cli.core.request import ToolDefinition, text_hash
from ctxeng_cli.core.tokens import RESULT_FRAME
from ctxeng_cli.spec.policy import Offload
from ctxeng_cli.window.cap import Rewritten, head_and_tail

READ = ToolDefinition(
    "read_offloaded",
    "Read a part of a tool result that was too long for the window. Its notice names the handle.",
    {
        "type": "object",
        "properties": {
            "handle": {"type": "string", "description": "The handle in the notice, such as m4."},
            "start": {"type": "integer", "description": "The first character to read, from 0.", "default": 0},
            "length": {"type": "integer", "description": "How many characters, 4000 at most.", "default": 2000},
        },
        "required": ["handle"],
    },
)
"""The tool that an agent has besides its own where its window offloads. It is there from the first request on: one that
came later would change the beginning of every request, which a prompt cache keeps."""
LONGEST = 4000


def offload_step(
    history: History, step: Offload, over: int, count: Callable[[str], int], reason: Reason
) -> tuple[Rewritten, ...]:
    """Offload results that are longer than the step allows, oldest first, until `over` tokens are saved.

    The handle is the message's id: the log holds all of it. What was read back through the tool is not offloaded again.
    """
    done = []
    for id in (id for exchange in history.exchanges for round in exchange.rounds for id in round.ids[1:]):
        message, before = history.messages[id], history.tokens[id]
        if over <= 0:
            break
        if before - RESULT_FRAME <= step.over_tokens or id in history.capped or message.name == READ.name:
            continue
        text = head_and_tail(message.text, step.preview_tokens, count, _notice(id))
        after = count(text) + RESULT_FRAME
        if after < before:
            over -= before - after
            done.append(Rewritten(text, Edit("offload", (id,), after, reason, text_hash(text))))
    return tuple(done)


def _notice(id: str) -> Callable[[int, int], str]:
    return lambda left, all: (
        f'[… {left:,} of {all:,} characters were offloaded; read them with {READ.name}(handle="{id}", start=…) …]'
    )


def read_back(text: str, start: int, length: int) -> str:
    """A part of an offloaded text, and what is left behind it."""
    start, length = max(0, start), max(1, min(length, LONGEST))
    piece = text[start : start + length]
    left = len(text) - start - len(piece)
    if not piece:
        return f"Nothing stands there: the text has {len(text):,} characters."
    return f"{piece}\n[{left:,} of {len(text):,} characters follow; start={start + length} goes on]" if left > 0 else piece
