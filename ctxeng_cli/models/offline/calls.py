"""Which tools a message asks for, and with which arguments. Nothing is called that can't be filled from the message."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ctxeng_cli.core.messages import ToolCall
from ctxeng_cli.core.request import ToolDefinition
from ctxeng_cli.models.offline.arguments import Found, Reading
from ctxeng_cli.models.offline.fields import Field, fields, is_sql
from ctxeng_cli.models.offline.manner import manner
from ctxeng_cli.models.offline.words import question_terms, terms

MOST = 8
"""Calls of one answer."""
_CLEAR = 2.0
_BEFORE = re.compile(
    r"\b(?:did|have) (?:i|we|you) (?:\w+ )?(?:say|said|tell|told|mention|ask|note|talk)|\bi (?:told|said|mentioned|asked)\b|"
    r"\byou (?:said|told|mentioned)\b|"
    r"\bremember\b|\bearlier\b|(?:我|你)(?:刚才|之前|前面|说过|告诉)|说过|提到过|记得|刚才|之前说",
    re.IGNORECASE,
)
_EACH = re.compile(r"(?:\b(?:each|every|per|by)|各个?|每个?|按)\s*$", re.IGNORECASE)
"""Before a value that a tool groups by: sales by region."""
_CLAUSE = re.compile(
    r"[;；?？\n]+|,? (?:and|then|plus)(?: also| then)? (?=(?:what|which|who|how|show|list|tell|run|compare)\b)|"
    r"[，,](?=\s*(?:以及|还有|和|另外|再|and|also))|以及|还有|另外",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Match:
    """A tool with the arguments of each call, and how clearly the message asks for it."""

    tool: ToolDefinition
    arguments: tuple[dict[str, Any], ...]
    score: float


def calls(tools: Sequence[ToolDefinition], text: str, count: int) -> tuple[ToolCall, ...]:
    """The calls that a message asks for, none where it asks for none. `count` messages are in the request: ids differ."""
    if manner(text) in ("greeting", "thanks", "about", "statement") or _BEFORE.search(text):
        return ()
    matches = _matches(tools, text)
    wanted = dict.fromkeys(
        (match.tool.name, json.dumps(item, ensure_ascii=False, separators=(",", ":")))
        for match in matches
        for item in match.arguments
    )
    return tuple(ToolCall(f"call_{count}_{k}", *call) for k, call in enumerate(itertools.islice(wanted, MOST), 1))


def _matches(tools: Sequence[ToolDefinition], text: str) -> list[Match]:
    whole = _best(tools, text)
    clauses = [clause.strip() for clause in _CLAUSE.split(text) if clause and clause.strip()]
    if 1 < len(clauses) <= MOST:
        parts = [match for match in (_best(tools, clause) for clause in clauses) if match]
        if len({match.tool.name for match in parts}) > 1:
            return parts
        calls_in_parts = sum(len(match.arguments) for match in parts)
        if whole and parts and all(match.tool.name == whole.tool.name for match in parts) and len(parts) == len(clauses) > 1:
            return parts if calls_in_parts <= len(whole.arguments) else [whole]
    return [whole] if whole else []


def _best(tools: Sequence[ToolDefinition], text: str) -> Match | None:
    shared = [_vocabulary(tool) for tool in tools]
    matches = [
        match
        for number, tool in enumerate(tools)
        if (match := _match(tool, text, [words for other, words in enumerate(shared) if other != number]))
    ]
    return max(matches, key=lambda match: match.score, default=None)


def _vocabulary(tool: ToolDefinition) -> dict[str, float]:
    """A tool's words with what each is worth."""
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", tool.name).replace("_", " ").replace("-", " ")
    found = {term: 1.0 * weight for term, weight in terms(tool.description).items()}
    properties = tool.parameters.get("properties")
    for name, schema in properties.items() if isinstance(properties, dict) else ():
        said = str(schema.get("description", "")) if isinstance(schema, dict) else ""
        for term, weight in terms(said).items():
            found.setdefault(term, 0.6 * weight)
        for term in terms(str(name).replace("_", " ")):
            found[term] = max(found.get(term, 0.0), 1.0)
    found |= dict.fromkeys(terms(spaced), 2.0)
    return {term: weight for term, weight in found.items() if not term.startswith("@")}


def _match(tool: ToolDefinition, text: str, others: Sequence[dict[str, float]]) -> Match | None:
    reading = Reading(text)
    slots = fields(tool.parameters, tool.description)
    found = _filled(slots, reading)
    if found is None:
        return None
    taken = [item for items in found.values() for item in items]
    rest = _blanked(text, [item for name, items in found.items() for item in items if _is_closed(slots, name)])
    words = _vocabulary(tool)
    # A word that other tools know too says that the message concerns them, not which.
    known = {
        term: words[term] * (0.7 if any(term in other for other in others) else 1.0)
        for term in question_terms(rest)
        if term in words
    }
    score = sum(min(weight, 2.0) for weight in known.values())
    if any(_EACH.search(text[: item.start]) for field in slots if field.required for item in found.get(field.name, ())):
        score += _CLEAR
    closed = [name for name in found if _is_closed(slots, name)]
    given = sum(1 for field in slots if reading.given(field))
    if any(is_sql(field) and field.name in found for field in slots):
        score += 2 * MOST  # nothing else means a query that is written out
    score += 1.5 * len(closed) + 0.5 * (len(found) - len(closed)) + given
    concerns = any(weight >= 0.5 for weight in known.values()) or len(closed) > 1 or bool(given)
    if not concerns or score < _CLEAR:
        return None
    for field in slots:  # an argument that takes the whole message counts for nothing
        if field.required and field.name not in found and (whole := reading.whole(field)):
            found[field.name] = [whole]
    if any(field.required and field.name not in found for field in slots):
        return None
    return Match(tool, tuple(_spread(slots, found)), score + 0.1 * len(taken))


def _is_closed(slots: Sequence[Field], name: str) -> bool:
    return any(field.name == name and field.choices for field in slots)


def _blanked(text: str, items: Sequence[Found]) -> str:
    for item in items:
        text = text[: item.start] + " " * (item.end - item.start) + text[item.end :]
    return text


def _filled(slots: Sequence[Field], reading: Reading) -> dict[str, list[Found]] | None:
    """What stands in each field, or None where a required one stays empty. Fields with equal choices share what is found."""
    found: dict[str, list[Found]] = {}
    taken: list[Found] = []
    for field in sorted(slots, key=lambda field: (not field.choices, field.kind == "string", not field.required)):
        if field.name in found:
            continue
        twins = [other for other in slots if _alike(field, other)]
        items = reading.found(field, taken)
        if len(twins) > 1 and not reading.given(field):
            for twin, item in zip(sorted(twins, key=lambda twin: not twin.required), _first_of_each(items), strict=False):
                found[twin.name] = [item]
                taken.append(item)
        elif items:
            found[field.name] = items
            taken += items
        if field.required and field.name not in found and reading.whole(field) is None:
            return None
    return found


def _alike(field: Field, other: Field) -> bool:
    if field.many or other.many or field.kind != other.kind or len(field.choices) != len(other.choices):
        return False
    if field.choices:
        return [choice.value for choice in field.choices] == [choice.value for choice in other.choices]
    figures = field.kind in ("integer", "number") and field.required and other.required
    return field is other or figures or ("date" in field.form and "date" in other.form)


def _first_of_each(items: Sequence[Found]) -> list[Found]:
    seen: dict[str, Found] = {}
    for item in items:
        seen.setdefault(repr(item.value), item)
    return list(seen.values())


def _spread(slots: Sequence[Field], found: dict[str, list[Found]]) -> list[dict[str, Any]]:
    """One set of arguments for each call: every combination, or pair by pair where the message pairs them."""
    order = [field.name for field in slots if field.name in found]
    lists = {field.name for field in slots if field.many}
    several = {name: found[name] for name in order if name not in lists and len(_first_of_each(found[name])) > 1}
    fixed = {
        name: [item.value for item in _first_of_each(found[name])] if name in lists else found[name][0].value
        for name in order
        if name not in several
    }
    rows = _paired(several) or itertools.product(*([item.value for item in _first_of_each(items)] for items in several.values()))
    made = []
    for row in itertools.islice(rows, MOST):
        values = {**fixed, **dict(zip(several, row, strict=True))}
        made.append({name: values[name] for name in order})
    return made


def _paired(several: dict[str, list[Found]]) -> list[tuple[Any, ...]] | None:
    """Values that the message gives in turn (Bern in July and Cairo in May) as rows, else None."""
    if len(several) < 2 or len({len(items) for items in several.values()}) != 1:
        return None
    said = sorted(((item.start, name, item.value) for name, items in several.items() for item in items), key=lambda item: item[0])
    rows = [said[start : start + len(several)] for start in range(0, len(said), len(several))]
    if any({name for _, name, _ in row} != set(several) for row in rows):
        return None
    return [tuple(next(value for _, other, value in row if other == name) for name in several) for row in rows]
