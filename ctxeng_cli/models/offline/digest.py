"""A summary by picking sentences: what people said first, then what was answered. Nothing is put into other words."""

from __future__ import annotations

import re

from ctxeng_cli.core.script import EARLIER, TASK
from ctxeng_cli.models.offline.manner import asks
from ctxeng_cli.models.offline.phrases import is_own
from ctxeng_cli.models.offline.words import sentences

MOST = 900
"""Characters of a summary; of a short conversation it has a third."""
_LINE = re.compile(r"^(User|Assistant|Result of [^\n(]{1,80}) \((m\d+)\): ", re.MULTILINE)
_WORTH = {"User": 3.0, "Assistant": 2.0}
_CALLS = re.compile(r"\(calls [^\n]*\)\s*$", re.MULTILINE)


def is_task(text: str) -> bool:
    """Whether a message is what a summarizer is asked with."""
    return text.startswith((TASK, EARLIER))


def digest(text: str) -> str:
    """The sentences that tell most, with the ids of their messages, in order; those of an earlier summary first."""
    before, _, script = text.rpartition(TASK)
    kept = before.removeprefix(EARLIER).strip()
    marks = list(_LINE.finditer(script))
    told: list[tuple[float, int, str]] = []
    for at, mark in enumerate(marks):
        end = marks[at + 1].start() if at + 1 < len(marks) else len(script)
        body = _CALLS.sub("", script[mark.end() : min(end, mark.end() + 4000)])
        for index, sentence in enumerate(sentences(body)[:12]):
            if is_own(sentence):
                continue
            worth = _WORTH.get(mark[1], 1.0) * (0.5 if asks(sentence) else 1.0) / (1 + 0.3 * index)
            told.append((worth, len(told), f"- {sentence[:240]} [{mark[2]}]"))
    earlier = kept.splitlines()
    most = min(MOST, max(len(text) // 3, 120))
    room = most - sum(len(line) + 1 for line in earlier)
    while earlier and room < most // 3:  # the oldest gives way
        room += len(earlier.pop(0)) + 1
    picked = []
    for _, place, line in sorted(told, key=lambda item: (-item[0], item[1])):
        if len(line) + 1 <= room:
            picked.append((place, line))
            room -= len(line) + 1
    return "\n".join([*earlier, *(line for _, line in sorted(picked))])
