"""The answer to a question: the sentences of the window that answer it, each with the id of its message."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ctxeng_cli.core.messages import Message, ranges
from ctxeng_cli.models.offline.manner import unwrapped
from ctxeng_cli.models.offline.passages import Hit, Passage, passages, rank, reference
from ctxeng_cli.models.offline.phrases import phrase
from ctxeng_cli.models.offline.words import PRONOUN_WEIGHT, Language, language, question_terms, sentences

MOST = 4
"""Messages quoted in an answer; twice as many where they say it equally well."""
_NEAR = 0.5
"""The part of what a question names that a prompt must hold to be quoted: prompts are long, and share words with anything."""
_SHORT = 300
"""Characters of a message that is quoted whole, so that a fact told in two sentences stays whole."""
_FOLLOWS = re.compile(r"^\W*(?:and|what about|how about|那|那么|还有)\b|^\W*(?:那|那么|还有)|呢\W*$", re.IGNORECASE)
_PURPOSE = re.compile(r"You (?:are|help|answer|explain|can)\b|Your |I am |你(?:是|负责|帮|的|能|可以|解释|回答)|我是")
_TOLD = re.compile(r"\b(?:say|said|tell|told|mention|mentioned|remember)\b|说|告诉|提到|记得", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Quote:
    """A quoted text and the ids of the messages it stands in."""

    text: str
    ids: tuple[str, ...]

    def __str__(self) -> str:
        return f'"{self.text}" ' + " ".join(f"[{id}]" for id in self.ids)


def question_of(text: str) -> tuple[str, str]:
    """What a message asks, and what stands in paragraphs beside it: retrieved passages, shared context."""
    paragraphs = [part for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]
    if len(paragraphs) < 2:
        return unwrapped(text), ""
    asking = [part for part in paragraphs if part.rstrip().endswith(("?", "？"))]
    question = (asking or paragraphs)[-1]
    return unwrapped(question), "\n\n".join(part for part in paragraphs if part is not question)


def answer(messages: Sequence[Message], running: int, words: Language) -> str:
    """Quote what answers the message at `running`, or say that nothing in the window does."""
    question, beside = question_of(messages[running].text)
    sources = [(place, message) for place, message in enumerate(messages) if place != running]
    if beside:
        sources.insert(running, (running, messages[running].with_text(beside)))
    window = [passage for passage in passages(sources) if passage.text != question]  # asked before: that answers nothing
    hits, certain = search(question, window, messages[:running])
    if not hits:
        return nothing(messages, running, words)
    quotes = [str(quote) for quote in quoted(hits, window)]
    if not certain:
        return "\n".join([phrase("closest", words), *quotes])
    return quotes[0] if len(quotes) == 1 else "\n".join(f"- {quote}" for quote in quotes)


def search(question: str, window: Sequence[Passage], before: Sequence[Message]) -> tuple[list[Hit], bool]:
    """The passages to quote, best first, and whether the best holds what the question names."""
    asked = question_terms(question[:4000] + (" " + question[-4000:] if len(question) > 4000 else ""))
    content = {term: weight for term, weight in asked.items() if weight > 0.3}
    if len(content) < 3 and (not content or _FOLLOWS.search(question)):
        asked = _earlier(before) | asked if not _TOLD.search(question) else asked
        content = {term: weight for term, weight in asked.items() if weight > 0.3}
    if not content:
        return _told(asked, question, window), False
    hits = [hit for hit in rank(asked, question, window) if any(asked[term] > PRONOUN_WEIGHT for term in hit.covered)]
    if not hits:
        return [], False
    best = hits[0]
    names = {term for term, weight in asked.items() if weight >= 1.4}
    held = best.covered.union(*(hit.covered for hit in hits if hit.passage.place == best.passage.place))
    told = sum(asked[term] for term in held) / sum(asked.values())
    certain = told > 0.5 and not names - held
    named = sum(content[term] for term in held & content.keys()) / sum(content.values())
    if best.passage.role == "system" and named <= _NEAR:
        certain = False
        hits = [hit for hit in hits if named == _NEAR or hit.passage.role != "system"]
    return _chosen(hits, asked, certain), certain


def _chosen(hits: Sequence[Hit], asked: dict[str, float], certain: bool) -> list[Hit]:
    """The best, those near it, and those that hold a good part of what the better ones lack."""
    if not hits:
        return []
    best = hits[0]
    near = best.score * (0.8 if best.share >= 0.9 else 0.6)
    total = sum(asked.values())
    chosen: list[Hit] = []
    messages = 0
    covered: frozenset[str] = frozenset()
    for hit in hits:
        if any(hit.passage.place == other.passage.place or hit.passage.text == other.passage.text for other in chosen):
            covered |= hit.covered
            if hit.score >= near and sum(hit.passage.place == other.passage.place for other in chosen) < MOST:
                chosen.append(hit)
            continue
        if messages >= (2 * MOST if hit.score >= 0.98 * best.score else MOST if certain else MOST - 1):
            continue
        new = sum(asked[term] for term in hit.covered - covered)
        if hit.score >= near or (new >= 0.3 * total and hit.passage.trust > 0.5):
            chosen.append(hit)
            covered |= hit.covered
            messages += 1
    return chosen


def _earlier(before: Sequence[Message]) -> dict[str, float]:
    """The terms of the person's message before, for a question that leans on it ("And in winter?")."""
    for message in reversed(before):
        if message.role == "user":
            return {term: weight * 0.5 for term, weight in question_terms(unwrapped(message.text[:2000])).items()}
    return {}


def _told(asked: dict[str, float], question: str, window: Sequence[Passage]) -> list[Hit]:
    """What the person told last, for a question that names nothing: "What did I tell you?", "Who am I?"."""
    own = [passage for passage in window if passage.role == "user" and passage.trust > 0.5]
    if not _TOLD.search(question):
        own = [passage for passage in own if passage.terms & asked.keys()]
    return [Hit(passage, 1.0, 0.0, frozenset()) for passage in reversed(own[-MOST:])]


def quoted(hits: Sequence[Hit], window: Sequence[Passage]) -> list[Quote]:
    """The hits as quotes, one for each message: a short message whole, of a longer one the sentences found and what
    belongs to them."""
    by_place: dict[int, set[int]] = {}
    for hit in hits:
        by_place.setdefault(hit.passage.place, set()).add(hit.passage.index)
    quotes: dict[str, list[str]] = {}
    for place, indexes in by_place.items():
        told = {passage.index: passage for passage in window if passage.place == place}
        if sum(len(passage.text) for passage in told.values()) <= _SHORT and len(told) <= 4:
            indexes = set(told)
        else:
            indexes |= {index + 1 for index in indexes if index + 1 in told and _leads(told[index].text)}
            indexes |= {index - 1 for index in indexes if index - 1 in told and _leans(told[index].text)}
        text, last = "", None
        for index in sorted(indexes):
            text += ("" if last is None else " " if index == last + 1 else " … ") + told[index].text
            last = index
        quotes.setdefault(text, []).append(next(iter(told.values())).id)
    return [Quote(text, tuple(ids)) for text, ids in quotes.items()]


def _leads(text: str) -> bool:
    return text.endswith((":", "："))


def _leans(text: str) -> bool:
    return bool(re.match(r"(?:It|Its|This|That|He|She|They|His|Her|Their|The code|它|这|那|他|她)\b|[它这那他她]", text))


def nothing(messages: Sequence[Message], running: int, words: Language) -> str:
    """Say that nothing in the window answers, what the window holds, and where the rest may be."""
    ids = tuple(reference(message, place) for place, message in enumerate(messages))
    text = f"{phrase('nothing', words)} {phrase('holds', words, ids=', '.join(ranges(ids)))}"
    numbers = [int(id[1:]) for id in ids if id[:1] == "m" and id[1:].isdigit()]
    gap = any(after - before > 1 for before, after in itertools.pairwise(numbers)) or bool(numbers and numbers[0] > 2)
    return f"{text} {phrase('evicted', words)}" if gap else text


def summary(messages: Sequence[Message], running: int, words: Language) -> str:
    """Pick the most telling sentence of each message, at most six, in order."""
    sources = [(place, message) for place, message in enumerate(messages) if place != running and message.role != "system"]
    if not sources:
        sources = [(running, messages[running])]
    window = [passage for passage in passages(sources) if passage.trust > 0.5]
    common: dict[str, int] = {}
    for passage in window:
        for term in passage.terms:
            common[term] = common.get(term, 0) + 1
    best: dict[int, tuple[float, Passage]] = {}
    for passage in window:
        weight = sum(common[term] for term in passage.terms) / (3 + len(passage.terms))
        weight *= passage.trust / (1 + 0.1 * passage.index)
        key = passage.place if len(sources) > 1 else passage.index
        if key not in best or weight > best[key][0]:
            best[key] = (weight, passage)
    chosen = sorted(best.values(), key=lambda pair: -pair[0])[:6]
    if not chosen:
        return phrase("empty", words)
    told = sorted((passage for _, passage in chosen), key=lambda passage: (passage.place, passage.index))
    return "\n".join([phrase("summary", words), *(f"- {Quote(passage.text, (passage.id,))}" for passage in told)])


def instructions(messages: Sequence[Message], words: Language, most: int = 3) -> list[Quote]:
    """The sentences of the system message that tell what the agent is for, in the person's language where there are any."""
    for place, message in enumerate(messages):
        if message.role == "system":
            told = [text for text in sentences(message.text) if len(text) > 12 and not text.endswith((":", "：", "?", "？"))]
            same = [text for text in told if language(text) == words] or told
            first = [text for text in same if _PURPOSE.match(text)]
            picked = (first or same)[:most]
            return [Quote(" ".join(sorted(picked, key=same.index)), (reference(message, place),))] if picked else []
    return []
