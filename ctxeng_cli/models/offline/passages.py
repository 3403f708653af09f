"""The window as passages, and the ones among them that answer a question best.

A passage is a sentence. It is scored by the share of the question's terms that it holds, rare terms counting more; what
its neighbours in the same message hold counts in part, so that a fact told in two sentences is found. Statements win over
earlier questions, what a person, a tool or a prompt said over what the model has quoted from it.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ctxeng_cli.core.messages import Message
from ctxeng_cli.models.offline.manner import asks, unwrapped
from ctxeng_cli.models.offline.phrases import is_own
from ctxeng_cli.models.offline.words import language, sentences, terms

_CITATION = re.compile(r"\s*\[m\d+(?:(?:, ?|\.\.)m\d+)*\]")
_QUOTE_MARKS = '"“”「」 '
_BY_ROLE = {"system": 0.85, "user": 1.1, "assistant": 0.9, "tool": 1.0}
_QUESTION = 0.45
_OTHER_LANGUAGE = 0.75
_NEIGHBOUR = 0.6


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence of a message. `place` is its position in the window, `index` the one in its message."""

    id: str
    role: str
    text: str
    place: int
    index: int
    terms: frozenset[str]
    trust: float
    """What its role and its kind are worth: a factor of the score."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that matches. `covered` are the question's terms in it, `share` their weight in the question."""

    passage: Passage
    score: float
    share: float
    covered: frozenset[str]


def reference(message: Message, place: int) -> str:
    """The id by which a message is cited; a message without one is counted from the window's start."""
    return message.id or f"m{place + 1}"


def passages(messages: Iterable[tuple[int, Message]]) -> list[Passage]:
    """The passages of messages with their places, in order. What the model repeats from another message is left out."""
    found: list[Passage] = []
    told: set[str] = set()
    later: list[tuple[int, Message]] = []
    for place, message in messages:
        if message.role == "assistant":
            later.append((place, message))
        else:
            found += _of(message, place, sentences(flat(message.text) if message.role == "tool" else message.text))
    told.update(_key(passage.text) for passage in found)
    for place, message in later:
        kept = []
        for sentence in sentences(_CITATION.sub("", message.text)):
            sentence = sentence.strip(_QUOTE_MARKS)
            if sentence and not is_own(sentence) and (key := _key(sentence)) not in told:
                told.add(key)
                kept.append(sentence)
        found += _of(message, place, kept)
    return sorted(found, key=lambda passage: (passage.place, passage.index))


def _of(message: Message, place: int, texts: Sequence[str]) -> list[Passage]:
    speaker = 1 if message.role == "assistant" else 0  # a prompt says "you" to the agent, as the person does
    id, trust = reference(message, place), _BY_ROLE[message.role]
    return [
        Passage(id, message.role, text, place, index, frozenset(terms(text, speaker)), trust * _worth(message.role, text))
        for index, text in enumerate(texts)
    ]


def _worth(role: str, text: str) -> float:
    """A question answers nothing; in a prompt an example of one is as poor a source."""
    if role in ("user", "assistant"):
        return _QUESTION if asks(unwrapped(text)) else 1.0
    return _QUESTION if role == "system" and re.search("[?？]", text) else 1.0


def _key(text: str) -> str:
    return "".join(character for character in text.lower() if character.isalnum())


def rank(question: Mapping[str, float], question_text: str, window: Sequence[Passage]) -> list[Hit]:
    """Passages that hold a term of the question, best first; of equals the newest first."""
    counts = Counter(term for passage in window for term in passage.terms & question.keys())
    size = len(window) + 1
    weights = {
        # A term that stands nowhere counts, since the window then lacks something that was asked for, but only half.
        term: weight * (math.log(1 + size / counts[term]) if counts[term] else 0.5 * math.log(1 + 2 * size))
        for term, weight in question.items()
    }
    total = sum(weights.values()) or 1.0
    asked = language(question_text)
    wanted = _wants_figure(question_text)
    defined = _definition(question_text)
    covered = [passage.terms & question.keys() for passage in window]

    def share(held: Iterable[str]) -> float:
        return sum(weights[term] for term in held) / total

    hits = []
    for number, passage in enumerate(window):
        held = covered[number]
        near = held
        for other in (number - 1, number + 1):
            if 0 <= other < len(window) and window[other].place == passage.place:
                near = near | covered[other]
        own = share(held)
        if not held:
            continue
        score = (own + _NEIGHBOUR * (share(near) - own)) * passage.trust
        score *= 1.0 if language(passage.text) == asked else _OTHER_LANGUAGE
        if wanted:
            score *= 1.1 if any(c.isdigit() for c in passage.text) else 0.85
        score *= 1.0 - min(0.12, 0.006 * max(0, len(passage.terms) - 8))  # of two that say it, the shorter
        if defined and defined.match(passage.text):
            score *= 1.3
        hits.append(Hit(passage, score, share(near), held))
    return sorted(hits, key=lambda hit: (-hit.score, -hit.passage.place, hit.passage.index))


_ASKS_WHAT_IS = re.compile(
    r"(?i)^\W*(?:so |and )?what(?:'s|’s| is| are| does) (?:an? |the )?([\w /-]{2,40}?)(?: mean)?\W*$|"
    r"^\W*(?:请问)?什么(?:是|叫)([^？?，。\s]{1,20})\W*$|^\W*(?:请问)?([^？?，。\s]{1,20}?)(?:是什么|是啥)(?:意思)?\W*$"
)


def _definition(question: str) -> re.Pattern[str] | None:
    """The beginning of a sentence that says what something is, for a question that asks what it is."""
    match = _ASKS_WHAT_IS.match(question[:200])
    if not match:
        return None
    name = re.escape(next(group for group in match.groups() if group))
    return re.compile(rf"(?i)(?:an? |the )?{name}s?\s*(?:\([^)]*\)|（[^）]*）)?\s*(?:is|are|means?|就?是)")


_FIGURE = re.compile(
    r"\b(?:how (?:many|much|old|long|far|often|tall|high|big|large)|number|code|pin|price|cost|phone|telephone|age|year|date|"
    r"amount|capacity|time|when|id)\b|"
    r"多少|几|密码|编号|号码|代码|价格|电话|年龄|容量|时间|日期|什么时候|多[大久长远高]",
    re.IGNORECASE,
)


def _wants_figure(question: str) -> bool:
    return bool(_FIGURE.search(question))


def flat(text: str, limit: int = 200_000) -> str:
    """JSON as lines of `key: value`, one for each row; any other text as it is."""
    head = text[:limit].strip()
    if head[:1] not in ("{", "["):
        return text
    try:
        value = json.loads(head)
    except (ValueError, RecursionError):
        return text
    return "\n".join(lines(value))


def lines(value: Any) -> list[str]:
    """A JSON value as lines: an object's plain values on one line, each row of a list on a line of its own."""
    if isinstance(value, dict):
        plain = ", ".join(f"{key}: {_short(item)}" for key, item in value.items() if not _nested(item))
        nested = [key for key, item in value.items() if _nested(item)]
        label = "{}: {}" if len(nested) > 1 else "{1}"  # of one list of rows the rows alone say enough
        below = [label.format(key, line) for key in nested for line in lines(value[key])]
        return ([plain] if plain else []) + below
    if isinstance(value, list):
        return [line for item in value for line in lines(item)]
    return [_short(value)]


def _nested(value: Any) -> bool:
    if isinstance(value, dict):
        return True
    return isinstance(value, list) and any(isinstance(item, dict | list) for item in value)


def _short(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(_short(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
