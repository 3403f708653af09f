"""What a message says that may stand in an argument: enum values, numbers, dates, quoted text, names, `key=value`."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ctxeng_cli.models.offline.fields import MONTHS, Field, is_sql, month_words, quarter_words
from ctxeng_cli.models.offline.words import CJK, STOP


@dataclass(frozen=True, slots=True)
class Found:
    """A value and where in the message it stands."""

    value: Any
    start: int
    end: int


_QUOTED = re.compile(
    r"\"([^\"\n]{1,2000})\"|“([^”\n]{1,2000})”|「([^」\n]{1,2000})」|『([^』\n]{1,2000})』|"
    r"‘([^’\n]{1,2000})’|`([^`\n]{1,2000})`|(?<!\w)'([^'\n]{1,2000})'(?!\w)"
)
_NUMBER = re.compile(r"(?<![\w.-])-?\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\w)|(?<![A-Za-z_\d.])-?\d+(?:\.\d+)?(?![A-Za-z_\d]|\.\d)")
_SHORT_MONTHS = [month[:3].lower() for month in MONTHS]
_MONTH = "|".join(f"{month}|{month[:3]}" for month in MONTHS)
_DATES = (
    re.compile(r"(?<!\d)(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})(?!\d)"),
    re.compile(rf"(?i)(?<!\d)(?P<d>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<n>{_MONTH})\.?,? (?P<y>\d{{4}})(?!\d)"),
    re.compile(rf"(?i)\b(?P<n>{_MONTH})\.? (?P<d>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<y>\d{{4}})(?!\d)"),
    re.compile(r"(?P<y>\d{4})\s*年\s*(?P<m>\d{1,2})\s*月\s*(?P<d>\d{1,2})\s*[日号]"),
)
_NAME = re.compile(
    r"(?<![\w'’])[A-Z][\w'’&.-]*[\w](?:[ ](?:(?:of|de|da|del|la|van|von|der|&)[ ])?[A-Z0-9][\w'’&-]*)*|"
    r"(?<![\w-])[A-Za-z]+-?\d[\w-]*"
)
_PATH = re.compile(
    r"https?://[^\s，。；、“”\"'<>]+|(?<![\w/])(?:[\w.~-]*/)+[\w.-]+|"
    r"\b[\w-]+\.(?:py|md|txt|csv|json|jsonl|ya?ml|toml|html|pdf|log|xml|sql)\b|"
    r"[\w.+-]+@[\w-]+\.[\w.]+"
)
_SQL = re.compile(r"(?is)\b(?:select|with)\b\s.+")
_CLOSING = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "「": "」"}
_SEARCH = re.compile(
    r"(?is)^\W*(?:please |can you |could you |请|帮我)*"
    r"(?:(?:search|look|find|ask|query)\b(?: (?:for|up|out|about))*|搜索|查找|查询|搜一下|查一下|查)\s*(.+?)[\s?？.。!！]*$"
)
_DAY = re.compile(r"(?:^|_)(?:date|day|since|until|from|to|start|end|deadline|birthday)(?:$|_)")
_EVERY = r"(?:each|every|all(?: the)?|per|by|各个?|每个?|所有)\s*(?:the )?"
_NUMBER_WORDS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
                 "一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10}  # fmt: skip
_SPELLED = re.compile(
    rf"(?i)\b(?:{'|'.join(word for word in _NUMBER_WORDS if word.isascii())})\b|(?<=前)[一二两三四五六七八九十]"
)
_WHOLE = ("query", "question", "message", "prompt", "request", "text", "task", "input", "topic", "q")


class Reading:
    """A message read for arguments. Positions are those of `text`."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def quoted(self) -> list[Found]:
        return [Found(next(filter(None, match.groups())), *match.span()) for match in _QUOTED.finditer(self.text)]

    @cached_property
    def dates(self) -> list[Found]:
        found = []
        for pattern in _DATES:
            for match in pattern.finditer(self.text):
                part = match.groupdict()
                named = (part.get("n") or "")[:3].lower()
                month = _SHORT_MONTHS.index(named) + 1 if named else int(part["m"])
                if 1 <= month <= 12 and 1 <= int(part["d"]) <= 31:
                    found.append(Found(f"{int(part['y']):04}-{month:02}-{int(part['d']):02}", *match.span()))
        return _longest(found)

    @cached_property
    def numbers(self) -> list[Found]:
        return [Found(float(m[0].replace(",", "")), *m.span()) for m in _NUMBER.finditer(self.text) if len(m[0]) < 18]

    @cached_property
    def names(self) -> list[Found]:
        found = []
        for match in _NAME.finditer(self.text):
            words = match[0].split()
            skipped = 0
            while words and words[0].lower() in _OPENERS:
                skipped += len(words[0]) + 1
                words = words[1:]
            if words:
                found.append(Found(" ".join(words), match.start() + skipped, match.end()))
        return found

    def given(self, field: Field) -> list[Found]:
        """`name=value` or `name: value`, for any argument. A value that the argument can't take is not taken."""
        label = re.escape(field.name).replace("_", r"[\s_-]")
        pattern = re.compile(
            rf"(?i:(?<![A-Za-z0-9_]){label})\s*[=＝:：]\s*(?:\"([^\"]*)\"|'([^']*)'|“([^”]*)”|(\{{[^{{}}]*\}}|\[[^\[\]]*\])|([^\s,，;；。？?]+))"
        )
        found = []
        for match in pattern.finditer(self.text):
            raw = next((group for group in match.groups() if group is not None), "")
            value = coerced(field, raw)
            if value is not None:
                found.append(Found(value, *match.span()))
        return found

    def chosen(self, field: Field) -> list[Found]:
        """The enum values that stand in the message; the longest where two overlap (十一月 is not 一月)."""
        found = [
            Found(choice.value, *match.span())
            for choice in field.choices
            for match in choice.pattern.finditer(self.text)
            if match.end() > match.start()
        ]
        found = _longest(found)
        if not found and field.required and 1 < len(field.choices) <= 8:
            every = re.search(rf"(?i)(?<![a-z]){_EVERY}{re.escape(field.name)}s?(?![a-z])", self.text)
            if every and not every[0].lower().startswith("all"):
                return [Found(choice.value, *every.span()) for choice in field.choices]
        return found

    def found(self, field: Field, taken: list[Found]) -> list[Found]:
        """What may stand in a field, in the order of the message; `taken` stands in others already."""
        if given := self.given(field):
            return given
        if field.choices:
            return self.chosen(field)
        return [item for item in self._free(field) if not any(_overlap(item, other) for other in taken)]

    def _free(self, field: Field) -> list[Found]:
        name = field.name.lower()
        if field.kind in ("integer", "number"):
            return self._figures(field, name)
        if field.kind == "boolean":
            return self._truth(field)
        if field.kind != "string":
            return []
        if "date" in field.form or (self.dates and _DAY.search(name)):
            return self.dates
        if is_sql(field):
            return (
                [Found(_unquoted(self.text, match).rstrip("?？`").strip(), *match.span())]
                if (match := _SQL.search(self.text))
                else []
            )
        if "quarter" in name:
            return self._named([(f"Q{n}", quarter_words(n)) for n in (1, 2, 3, 4)])
        if "month" in name:
            return self._named([(full, _month_words(n)) for n, full in enumerate(MONTHS, 1)])
        if self.quoted:
            return self.quoted
        if re.search(r"path|file|folder|url|link|mail|directory", name):
            return [Found(match[0].rstrip(".,"), *match.span()) for match in _PATH.finditer(self.text)]
        if not field.required:
            return self._beside(field)
        return self.names

    def whole(self, field: Field) -> Found | None:
        """The message itself, for an argument that takes a question or a text."""
        if field.kind != "string" or field.choices or field.name.lower() not in _WHOLE or is_sql(field):
            return None
        match = _SEARCH.match(self.text)
        return Found(match[1] if match else self.text.strip(), 0, len(self.text))

    def _figures(self, field: Field, name: str) -> list[Found]:
        as_value = int if field.kind == "integer" else _plain
        if "year" in name or "年" in field.description[:12]:
            return [Found(int(m[0]), *m.span()) for m in re.finditer(r"(?<![\d.,-])(?:19|20)\d\d(?![\d]|[.,-]\d)", self.text)]
        if "quarter" in name:
            return self._named([(n, quarter_words(n)) for n in (1, 2, 3, 4)])
        if "month" in name and (found := self._named([(n, _month_words(n)) for n in range(1, 13)])):
            return found
        whole = [number for number in self.numbers if field.kind == "number" or number.value == int(number.value)]
        beside = self._figures_beside(field, whole)
        found = beside or (whole if field.required else [])
        return [Found(as_value(item.value), item.start, item.end) for item in found]

    def _figures_beside(self, field: Field, numbers: list[Found]) -> list[Found]:
        """The numbers that stand beside the field's name or a word of its description (`top 5`, `前三名`)."""
        words = set(re.findall(r"[a-z]{3,}", f"{field.name} {field.description}".lower())) - STOP - {"number", "how", "many"}
        marks = set(re.findall(f"[{CJK}]", field.description)) - set("的了是几个")
        candidates = numbers + [Found(float(_NUMBER_WORDS[m[0].lower()]), *m.span()) for m in _SPELLED.finditer(self.text)]
        found = []
        for number in candidates:
            before = re.findall(r"[A-Za-z]+", self.text[max(0, number.start - 20) : number.start].lower())[-1:]
            after = re.findall(r"[A-Za-z]+", self.text[number.end : number.end + 20].lower())[:1]
            near = self.text[max(0, number.start - 1) : number.start].strip()
            if words & {*before, *after} or (near and near in marks):
                found.append(number)
        return found

    def _truth(self, field: Field) -> list[Found]:
        label = re.escape(field.name).replace("_", r"[\s_-]+")
        no = r"\b(?:no|not|without|don['’]t|exclude|excluding)\s+(?:the\s+)?|不|没有|无"
        match = re.search(rf"(?i)(?P<no>{no})?(?<![A-Za-z]){label}(?![A-Za-z])", self.text)
        return [Found(match["no"] is None, *match.span())] if match else []

    def _beside(self, field: Field) -> list[Found]:
        """The name that stands after the field's own name: `customer Ann Lee`."""
        label = re.escape(field.name).replace("_", r"[\s_-]+")
        match = re.search(rf"(?i)(?<![A-Za-z]){label}\s+(?:is\s+|named\s+)?", self.text)
        return [name for name in self.names if match and name.start == match.end()]

    def _named(self, named: list[tuple[Any, list[str]]]) -> list[Found]:
        found = [Found(value, *match.span()) for value, words in named for match in re.finditer("|".join(words), self.text)]
        return _longest(found)


_OPENERS = STOP | {
    "add", "calculate", "call", "check", "compare", "create", "describe", "explain", "find", "hello", "hi", "i", "i'm", "list",
    "look", "open", "please", "read", "run", "search", "send", "show", "use", "what's", "who's", "write",
}  # fmt: skip
"""Words that begin a message in capitals and are no names."""


def _overlap(one: Found, other: Found) -> bool:
    return one.start < other.end and other.start < one.end


def _month_words(month: int) -> list[str]:
    full = MONTHS[month - 1]
    return [*([] if full == "May" else [rf"(?i:\b{full}\b)"]), *month_words(month)]


_TRUTH = {
    "true": True, "yes": True, "1": True, "on": True, "是": True,
    "false": False, "no": False, "0": False, "off": False, "否": False,
}  # fmt: skip


def _plain(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _longest(found: list[Found]) -> list[Found]:
    """In order, without what stands inside a longer one."""
    kept: list[Found] = []
    for item in sorted(found, key=lambda item: (item.start, -item.end)):
        if kept and item.start < kept[-1].end:
            if item.end - item.start > kept[-1].end - kept[-1].start:
                kept[-1] = item
            continue
        kept.append(item)
    return kept


def coerced(field: Field, raw: str) -> Any:
    """A written value as its argument takes it, or None."""
    raw = raw.strip()
    if field.choices:
        same = (c.value for c in field.choices if c.pattern.fullmatch(raw) or str(c.value).lower() == raw.lower())
        return next(same, None)
    try:
        if field.kind == "integer":
            return int(raw.replace(",", ""))
        if field.kind == "number":
            return _plain(float(raw.replace(",", "")))
        if field.kind == "boolean":
            return _TRUTH[raw.lower()]
        if field.kind in ("object", "array") or raw[:1] in ("{", "["):
            value = json.loads(raw)
            return value if isinstance(value, dict if field.kind == "object" else list) else None
    except (ValueError, KeyError, OverflowError):
        return None
    return raw or None


def _unquoted(text: str, match: re.Match[str]) -> str:
    """A match that begins inside quotes, up to where they end."""
    closing = _CLOSING.get(text[match.start() - 1 : match.start()])
    return match[0][: match[0].rindex(closing)] if closing and closing in match[0] else match[0].strip()
