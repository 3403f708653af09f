"""Text as words: language, sentences, and the terms by which a question finds its answer, in English and in Chinese.

English words are lowered and lightly stemmed; codes (`QX-4471`) stay whole and are split besides. Chinese has no spaces:
single characters and pairs of them are terms, and the characters of grammar break a run. Pronouns are terms of little
weight that name the person or the agent, whoever speaks.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

Language = Literal["en", "zh"]

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
"""Scripts that are written without spaces (and Hangul, whose words inflect), for a character class."""

_CJK_CHARACTER = re.compile(f"[{CJK}]")
_WORD = rf"(?:(?![{CJK}])[^\W_])"
_TOKEN = re.compile(rf"(/?{_WORD}+(?:[-_./@:'’]{_WORD}+)*)|([{CJK}]+)")
_PART = re.compile(r"[-_./@:]")

STOP = frozenset(
    "a about actually again all also am an and any are as at be been being but by can come could did do does doing done during "
    "each else ever exactly for from get give go got had has have having he her here hers him his how if in into is it its just "
    "kindly let like made make many may might much must need now of off oh ok okay on one or our out over please put quite "
    "rather really say said says shall she should so some still such sure take tell than that the their them then there these "
    "they this those though thus to told too under until up upon us use used very want was we were what whats when where "
    "whether which while who whom whose why will with would yes yet don doesn didn isn wasn aren ll ve re t s d m "
    "see seen look find long something anything know remember recall mention mentioned remind question answer ask asked again "
    "currently".split()
)
"""Words that do not tell one sentence from another."""

_PERSON = {"i": 0, "me": 0, "my": 0, "mine": 0, "myself": 0, "you": 1, "your": 1, "yours": 1, "yourself": 1}
_WHO = ("@person", "@agent")
_STOP_CHARACTERS = frozenset(
    "的了是在和与及或也都就还又被把从向对于为以之其这那有没不会要能可个们吗呢吧啊呀嘛么着过给让跟同该此地得上下里中"
)
_PERSON_CHARACTERS = {"我": 0, "咱": 0, "俺": 0, "你": 1, "您": 1}
_WHO_ZH = "".join(_PERSON_CHARACTERS)
_RUN = re.compile(rf"[{_WHO_ZH}]|[^{''.join(sorted(_STOP_CHARACTERS))}{_WHO_ZH}]+")
_ASKING_ZH = re.compile(
    "什么|甚么|多少|多大|多久|多长|多远|哪里|哪儿|哪个|哪位|哪些|哪天|哪年|哪一[个天年位家]|哪|怎么样|怎样|怎么|如何|请问|告诉我|告诉|"
    "为什么|为何|是谁|谁|几号|几点|几个|几|是不是|有没有|是否|还记得|记得|记住|知道|刚才|之前|一下|请"
)

PRONOUN_WEIGHT = 0.2
_SINGLE_WEIGHT = 0.3
_ALONE_WEIGHT = 0.7
"""Of a character that stands between two of grammar: a word by itself (我住在…)."""


def language(text: str) -> Language:
    """The language to answer in: Chinese where at least a fifth of the letters are Chinese."""
    head = text[:4000]
    chinese = len(_CJK_CHARACTER.findall(head))
    letters = sum(1 for character in head if character.isalpha())
    return "zh" if chinese and chinese * 5 >= letters else "en"


_IRREGULAR = {
    "children": "child", "people": "person", "men": "man", "women": "woman", "feet": "foot", "mice": "mouse", "bought": "buy",
    "sold": "sell", "went": "go", "left": "leave", "kept": "keep", "held": "hold", "met": "meet", "paid": "pay", "sent": "send",
    "began": "begin", "ran": "run", "wrote": "write", "written": "write", "chose": "choose", "chosen": "choose", "born": "birth",
    "drove": "drive", "ate": "eat", "drank": "drink", "flew": "fly", "grew": "grow", "lost": "lose", "won": "win",
    "stood": "stand", "spoke": "speak", "sat": "sit", "built": "build",
    "forgot": "forget", "forgotten": "forget", "favorite": "favourit",
    "color": "colour", "center": "centre", "sales": "sale", "bus": "bus", "gas": "gas", "news": "news",
}  # fmt: skip


@lru_cache(maxsize=20_000)
def stem(word: str) -> str:
    """A lower-case English word without its plural, -ing, -ed or -ier; other words as they are."""
    if (known := _IRREGULAR.get(word)) is not None:
        return known
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    for ending, stand_in in (("ies", "y"), ("sses", "ss"), ("xes", "x"), ("ches", "ch"), ("shes", "sh"), ("s", "")):
        if word.endswith(ending) and not (ending == "s" and word.endswith(("ss", "us", "is"))):
            word = word[: -len(ending)] + stand_in
            break
    if len(word) >= 6 and word.endswith("ier"):
        return word[:-3] + "y"
    for ending in ("ing", "ed"):
        root = word[: -len(ending)]
        if word.endswith(ending) and len(root) >= 3 and re.search("[aeiouy]", root):
            word = root[:-1] if root[-1] == root[-2] and root[-1] not in "lsz" else root
            break
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


def terms(text: str, speaker: int = 0) -> dict[str, float]:
    """The terms of a text with their weights. `speaker`: 0 where "I" is the person, 1 where "I" is the agent."""
    found: dict[str, float] = {}
    for latin, run in _TOKEN.findall(text if text.isascii() else unicodedata.normalize("NFKC", text)):
        for term, weight in _latin(latin, speaker) if latin else _chinese(run, speaker):
            if found.get(term, 0.0) < weight:
                found[term] = weight
    return found


_WEAK = frozenset(("call", "nam", "work", "mean", "happen", "kind", "sort", "thing"))
"""Stems that a question uses to ask, more than to say about what."""


def question_terms(text: str) -> dict[str, float]:
    """The terms of a question: without the words of asking, names and codes counting more than other words."""
    found = terms(_ASKING_ZH.sub(" ", text))
    for index, token in enumerate(re.finditer(r"[^\W\d_][\w-]*", text)):
        word = token[0]
        if word[0].isupper() and (index or word[1:] != word[1:].lower()) and (term := stem(word.lower())) in found:
            found[term] *= 1.4
    for term in found.keys() & _WEAK:
        found[term] = min(found[term], PRONOUN_WEIGHT)
    for term in found:
        if any(character.isdigit() for character in term):
            found[term] *= 1.4
    return found


def _latin(token: str, speaker: int) -> Iterator[tuple[str, float]]:
    word = token.lower()
    if word[0] == "/":
        yield word, 1.5
        word = word[1:]
    for short in re.split("['’]", word) if "'" in word or "’" in word else (word,):
        if short in _PERSON:
            yield _WHO[_PERSON[short] ^ speaker], PRONOUN_WEIGHT
        elif short and short not in STOP:
            parts = [part for part in _PART.split(short) if part]
            yield stem(short), 1.0
            if len(parts) > 1:
                yield from ((stem(part), 0.7) for part in parts if part not in STOP)


def _chinese(run: str, speaker: int) -> Iterator[tuple[str, float]]:
    for word in _RUN.findall(run):
        if (who := _PERSON_CHARACTERS.get(word)) is not None:
            yield _WHO[who ^ speaker], PRONOUN_WEIGHT
        elif len(word) == 1:
            yield word, _ALONE_WEIGHT
        else:
            yield from ((character, _SINGLE_WEIGHT) for character in word)
            yield from ((word[index : index + 2], 1.0) for index in range(len(word) - 1))


_ABBREVIATION = re.compile(r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|approx|e\.g|i\.e|cf|Nr|No|Ave|Inc|Ltd)|\b[A-Z])\.$")
_BREAK = re.compile(r"(?:[.!?…]+[\"'”’)\]」』]*(?=\s))|[。！？；]+[”’」』）]*|\n+")
_MARK = re.compile(r"^\s*(?:#{1,6}\s+|[-*•>]\s+|\d{1,3}[.)]\s+)+")
LONGEST = 400
"""Characters of a sentence; a longer one is cut at a comma or a space."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, list and heading marks taken off, none longer than `LONGEST`."""
    found: list[str] = []
    start = 0
    for end in _BREAK.finditer(text):
        head = text[max(start, end.end() - 12) : end.end()]
        if end[0] == "." and _ABBREVIATION.search(head) and _goes_on(head, text[end.end() : end.end() + 4]):
            continue
        _keep(text[start : end.end()], found)
        start = end.end()
    _keep(text[start:], found)
    return found


def _goes_on(head: str, tail: str) -> bool:
    """`No.` is an abbreviation before a number alone."""
    return not head.endswith("No.") or tail.strip()[:1].isdigit()


def _keep(piece: str, found: list[str]) -> None:
    piece = (_MARK.sub("", piece[:200]) + piece[200:]).strip()
    start = 0
    while start < len(piece):
        end = len(piece)
        if end - start > LONGEST:
            cuts = (piece.rfind(mark, start + LONGEST // 2, start + LONGEST) + 1 for mark in (",", "，", "、", " ", "；", ";"))
            end = max(cuts) or start + LONGEST
        if any(character.isalnum() for character in piece[start:end]):
            found.append(piece[start:end].strip())
        start = end
