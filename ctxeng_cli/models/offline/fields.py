"""The arguments of a tool as fields, from its JSON schema: what may stand in each, and by which words it is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxeng_cli.models.offline.words import CJK

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_CHINESE_NUMBERS = ("一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二")
_ORDINALS = ("first", "second", "third", "fourth")
_MAY = r"(?<!\w)May(?![A-Za-z0-9_])(?!\s+(?:I|we|you|he|she|they)\b)|(?i:(?<=\bin )may\b)"
_ALSO_A_WORD = frozenset({"may", "march", "us", "it", "in", "or", "is", "all", "no", "on", "a", "i"})


@dataclass(frozen=True, slots=True)
class Choice:
    """One value of an enum with the pattern of the words that mean it."""

    value: Any
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Field:
    """One argument. `kind`: string, integer, number, boolean, array or object; `many` where it takes a list."""

    name: str
    description: str
    kind: str
    choices: tuple[Choice, ...]
    required: bool
    many: bool = False
    form: str = ""
    """The schema's `format`: date, date-time, …"""


def fields(parameters: Mapping[str, Any], about: str = "") -> tuple[Field, ...]:
    """The fields of an object's schema. `about` is the tool's description: aliases may stand there."""
    properties = parameters.get("properties")
    required = parameters.get("required")
    if not isinstance(properties, Mapping):
        return ()
    needed = set(required) if isinstance(required, list | tuple) else set()
    return tuple(
        _field(str(name), resolved(value if isinstance(value, Mapping) else {}, parameters), parameters, name in needed, about)
        for name, value in properties.items()
        if isinstance(value, Mapping) or name in needed  # `true` and `false` are schemas too
    )


def resolved(schema: Mapping[str, Any], root: Mapping[str, Any], depth: int = 0) -> Mapping[str, Any]:
    """A schema with its reference followed and the null of an optional value taken off."""
    if depth > 8:
        return schema
    ref = schema.get("$ref")
    if isinstance(ref, str):
        target: Any = root
        for key in ref.lstrip("#/").split("/"):
            target = target.get(key) if isinstance(target, Mapping) else None
        if isinstance(target, Mapping):
            return resolved({**target, **{key: value for key, value in schema.items() if key != "$ref"}}, root, depth + 1)
    for union in ("anyOf", "oneOf", "allOf"):
        options = schema.get(union)
        if isinstance(options, list):
            rest = {key: value for key, value in schema.items() if key != union}
            typed = [item for item in options if isinstance(item, Mapping) and item.get("type") != "null"]
            real = [resolved(item, root, depth + 1) for item in typed]
            if real:
                listed = [value for item in real for value in values(item)]
                closed = all(values(item) for item in real)
                return {**real[0], **({"enum": listed} if closed else {}), **rest}
    return schema


def values(schema: Mapping[str, Any]) -> list[Any]:
    """The values of an enum or a constant, null left out."""
    if "const" in schema:
        return [schema["const"]]
    listed = schema.get("enum")
    return [value for value in listed if value is not None] if isinstance(listed, list) else []


def is_sql(field: Field) -> bool:
    """Whether an argument takes a query in SQL."""
    return field.kind == "string" and not field.choices and bool(re.search(r"(?i)\bsql\b", f"{field.name} {field.description}"))


def _field(name: str, schema: Mapping[str, Any], root: Mapping[str, Any], required: bool, about: str) -> Field:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((item for item in kind if item != "null"), "string")
    description = str(schema.get("description", ""))
    items = schema.get("items")
    many = kind == "array"
    if many and isinstance(items, Mapping):
        items = resolved(items, root)
        description = f"{description} {items.get('description', '')}".strip()
        allowed, kind = values(items), items.get("type", "string")
    else:
        allowed = values(schema)
    if kind is None:
        kind = {bool: "boolean", int: "integer", float: "number"}.get(type(allowed[0]), "string") if allowed else "string"
    choices = tuple(Choice(value, _pattern(value, f"{description}\n{about}", name)) for value in allowed)
    return Field(name, description, str(kind), choices, required, many, str(schema.get("format", "")))


def _pattern(value: Any, described: str, name: str) -> re.Pattern[str]:
    """The words that mean a value: itself, its aliases in a description, and for months and quarters what they are called."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    words = [_word(text)]
    words += [_word(alias) for alias in _aliases(text, described)]
    month = next((n for n, full in enumerate(MONTHS, 1) if text.lower() in (full.lower(), full[:3].lower())), 0)
    if "month" in name.lower() and text.isdigit() and 1 <= int(text) <= 12:
        month, words = int(text), []
    if month:
        words += [_word(MONTHS[month - 1]), *month_words(month)]
    quarter = re.fullmatch(r"[Qq]?([1-4])", text) if text[:1] in "Qq" or "quarter" in name.lower() else None
    if quarter:
        words = [word for word in words if not word.endswith(f"){quarter[1]}(?![A-Za-z0-9_])")] + quarter_words(int(quarter[1]))
    return re.compile("|".join(words))


def month_words(month: int) -> list[str]:
    """Patterns of a month's short and Chinese names."""
    return [
        rf"(?i:(?<![A-Za-z0-9_]){MONTHS[month - 1][:3]}\.?(?![A-Za-z0-9_]))" if month != 5 else _MAY,
        rf"(?<![\d十]){_CHINESE_NUMBERS[month - 1]}月",
        rf"(?<!\d)0?{month}\s*月",
    ]


def quarter_words(quarter: int) -> list[str]:
    """Patterns of a quarter's names."""
    chinese = _CHINESE_NUMBERS[quarter - 1]
    return [
        rf"(?i:(?<![A-Za-z0-9_])Q\s?{quarter}(?![A-Za-z0-9_]))",
        rf"(?i:(?<![A-Za-z0-9_])(?:{_ORDINALS[quarter - 1]}|{quarter}(?:st|nd|rd|th))[ -]quarter(?![A-Za-z]))",
        rf"(?i:(?<![A-Za-z])quarter (?:{quarter}(?!\d)|{('one', 'two', 'three', 'four')[quarter - 1]}\b))",
        rf"第?(?:{chinese}|(?<!\d){quarter})个?季度?",
    ]


def _word(text: str) -> str:
    """A pattern for a word or a name: borders where it is written with letters, a plural, `_`, `-` and space alike."""
    if re.search(f"[{CJK}]", text):
        return re.escape(text) if len(text) > 1 or not text.isalpha() else rf"(?<![{CJK}]){re.escape(text)}(?![{CJK}])"
    parts = [re.escape(part) for part in re.split(r"[\s_-]+", text) if part]
    if not parts:
        return re.escape(text) or r"(?!)"
    body = r"[\s_-]+".join(parts)
    if text[-1].isalpha() and len(text) > 3:
        body += "(?:e?s)?"
        if text.endswith("y"):
            body = f"(?:{body}|{body[: -len('y(?:e?s)?')]}ies)"
    left, right = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"
    if text.lower() in _ALSO_A_WORD or (len(text) <= 2 and text.isalpha()):
        plain = rf"{left}{body}{right}(?!\s+(?:I|we|you|he|she|they)\b)"
        return rf"{plain}|(?i:(?<=\bin ){body}{right})" if text.lower() in ("may", "march") else plain
    return rf"(?i:{left}{body}{right})"


def _aliases(value: str, described: str) -> list[str]:
    """Other words for a value that a description gives: `Bern (伯尔尼)`, `north (北部, N)`, `eur = euro`."""
    found: list[str] = []
    name = rf"(?<![A-Za-z0-9_]){re.escape(value)}"
    for group in re.findall(rf"(?i:{name})\s*[(（]([^()（）]{{1,120}})[)）]", described):
        found += re.split(r"\s*[,，、;；/|]\s*", group)
    for group in re.findall(rf"(?i:{name})\s*[=＝]\s*([^,，、;；.。\n()（）]{{1,40}})", described):
        found += re.split(r"\s*[/|]\s*|\s+or\s+", group)
    found = [alias.strip(" \"'“”`") for alias in found]
    return [alias for alias in dict.fromkeys(found) if alias and len(alias) <= 40]
