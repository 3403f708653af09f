"""Shapes: what a value of the spec may look like. One description, two uses: it reads nodes with places, and it writes
the JSON schema that editors use.

Pydantic would do the second and half of the first; it costs a third of the time to the first prompt, and knows no
places, so the loader would translate every error anyway.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import yaml

from ctxeng_cli.core.errors import nearest
from ctxeng_cli.spec.nodes import Document, items, scalar, value

MISSING: Any = object()
"""What a shape answers when it has reported a problem."""


class Shape(Protocol):
    def read(self, document: Document, node: yaml.Node) -> Any:
        """The value, or MISSING after reporting what is wrong."""
        ...

    def schema(self) -> dict[str, Any]: ...


def found(node: yaml.Node) -> str:
    """What stands there, in a word or two."""
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return f'"{node.value}"' if node.value else "nothing"


@dataclass(frozen=True, slots=True)
class Str:
    """Text. Any scalar will do: `NO` and `1.10` are taken as written."""

    empty: bool = True
    check: Callable[[str], str | None] | None = None
    """Answers what is wrong with a value, or None."""

    def read(self, document: Document, node: yaml.Node) -> Any:
        if not isinstance(node, yaml.ScalarNode) or (scalar(node) is None and not node.style):
            document.problem(node, f"expected text, found {found(node)}")
            return MISSING
        text = str(node.value)
        wrong = "expected text, found nothing" if not self.empty and not text.strip() else None
        wrong = wrong or (self.check(text) if self.check else None)
        if wrong:
            document.problem(node, wrong)
            return MISSING
        return text

    def schema(self) -> dict[str, Any]:
        return {"type": ["string", "number", "boolean"]}


@dataclass(frozen=True, slots=True)
class Number:
    """A number; `whole` for integers. Bounds are inclusive."""

    whole: bool = False
    least: float | None = None
    most: float | None = None

    def read(self, document: Document, node: yaml.Node) -> Any:
        number = scalar(node) if isinstance(node, yaml.ScalarNode) and not node.style else None
        kinds: tuple[type, ...] = (int,) if self.whole else (int, float)
        if isinstance(number, bool) or not isinstance(number, int | float) or not isinstance(number, kinds):
            document.problem(node, f"expected a {'whole ' if self.whole else ''}number, found {found(node)}")
            return MISSING
        if (self.least is not None and number < self.least) or (self.most is not None and number > self.most):
            least = "" if self.least is None else f" of {self.least:g} or more"
            most = "" if self.most is None else f"{' and' if least else ' of'} {self.most:g} or less"
            document.problem(node, f"expected a number{least}{most}, found {number}")
            return MISSING
        return number

    def schema(self) -> dict[str, Any]:
        bounds = {"minimum": self.least, "maximum": self.most}
        return {"type": "integer" if self.whole else "number", **{k: v for k, v in bounds.items() if v is not None}}


@dataclass(frozen=True, slots=True)
class Word:
    """One of a few words. `later` are words of the contract that are not built yet, alone or before a colon."""

    words: tuple[str, ...]
    later: tuple[str, ...] = ()

    def read(self, document: Document, node: yaml.Node) -> Any:
        text = node.value if isinstance(node, yaml.ScalarNode) else None
        if text in self.words:
            return text
        if isinstance(text, str) and text.partition(":")[0] in self.later:
            document.problem(node, f'"{text.partition(":")[0]}" is not built yet; use {" or ".join(self.words)}')
        else:
            hint = nearest(text, self.words) if isinstance(text, str) else ""
            document.problem(node, f"expected one of {', '.join(self.words)}, found {found(node)}.{hint}")
        return MISSING

    def schema(self) -> dict[str, Any]:
        """A word as text, and as what YAML reads where it is not quoted: `1` and `true` are no text to an editor."""
        return {"enum": [*self.words, *(read for word in self.words if (read := yaml.safe_load(word)) != word)]}


@dataclass(frozen=True, slots=True)
class Anything:
    """Any plain data."""

    def read(self, document: Document, node: yaml.Node) -> Any:
        return value(document, node)

    def schema(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True, slots=True)
class Default:
    """The default of an input: plain data, and the text as it was written, for inputs of type string."""

    def read(self, document: Document, node: yaml.Node) -> Any:
        data = value(document, node)
        written = node.value if isinstance(node, yaml.ScalarNode) else None
        return (datetime.date.fromisoformat(written) if written and _is_date(node) else data, written, node)

    def schema(self) -> dict[str, Any]:
        return {}


def _is_date(node: yaml.Node) -> bool:
    try:
        return isinstance(node, yaml.ScalarNode) and bool(datetime.date.fromisoformat(node.value)) and len(node.value) == 10
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list, all items of one shape."""

    item: Shape

    def read(self, document: Document, node: yaml.Node) -> Any:
        if not isinstance(node, yaml.SequenceNode):
            document.problem(node, f"expected a list, found {found(node)}")
            return MISSING
        return tuple(v for v in [self.item.read(document, n) for n in node.value] if v is not MISSING)

    def schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.item.schema()}


@dataclass(frozen=True, slots=True)
class MapOf:
    """A mapping from names of the person's own to one shape. The reader gets (name, key node, value node)."""

    item: Shape
    name: Callable[[str], str | None] = lambda name: None
    """Answers what is wrong with a name, or None."""

    def read(self, document: Document, node: yaml.Node) -> Any:
        if not isinstance(node, yaml.MappingNode):
            document.problem(node, f"expected a mapping of names, found {found(node)}")
            return MISSING
        answer = {}
        for name, key, item in items(document, node):
            wrong = self.name(name)
            if wrong:
                document.problem(key, wrong)
            read = self.item.read(document, item)
            if read is not MISSING:
                answer[name] = (read, key)
        return answer

    def schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.item.schema()}


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a record. `later` says that the contract has it and that it is not built yet."""

    shape: Shape | None = None
    doc: str = ""
    required: bool = False
    later: bool = False


@dataclass(frozen=True, slots=True)
class Record:
    """A mapping with known keys. Answers a dict of what was given: key → (value, value node)."""

    what: str
    keys: Mapping[str, Key]
    foreign: Mapping[str, str] = field(default_factory=dict)
    """Words of other tools' specs → the sentence that leads to ours."""

    def read(self, document: Document, node: yaml.Node) -> Any:
        if not isinstance(node, yaml.MappingNode):
            document.problem(
                node, f"expected {self.what} with keys such as {', '.join(list(self.keys)[:4])}; found {found(node)}"
            )
            return MISSING
        answer: dict[str, Any] = {}
        for name, key_node, item in items(document, node):
            key = self.keys.get(name)
            if key is None:
                self._unknown(document, name, key_node)
            elif key.later or key.shape is None:
                document.problem(
                    key_node, f'"{name}" is not built yet; take it out. It stays refused so that it is never ignored.'
                )
            else:
                read = key.shape.read(document, item)
                if read is not MISSING:
                    answer[name] = (read, item)
        for name, key in self.keys.items():
            if key.required and name not in answer and not any(k.value == name for k, _ in node.value):
                document.problem(node, f'{self.what} needs the key "{name}"')
        return answer

    def _unknown(self, document: Document, name: str, node: yaml.Node) -> None:
        if name in self.foreign:
            document.problem(node, f'unknown key "{name}". {self.foreign[name]}')
        else:
            hint = nearest(name, [k for k, v in self.keys.items() if not v.later])
            document.problem(node, f'unknown key "{name}" in {self.what}.{hint or " Known: " + ", ".join(self._built()) + "."}')

    def _built(self) -> list[str]:
        return [name for name, key in self.keys.items() if not key.later]

    def schema(self) -> dict[str, Any]:
        properties = {}
        for name in self._built():
            key = self.keys[name]
            if key.shape is not None:
                properties[name] = {**key.shape.schema(), **({"description": key.doc} if key.doc else {})}
        required = [name for name, key in self.keys.items() if key.required]
        body: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        return {**body, "required": required} if required else body


@dataclass(frozen=True, slots=True)
class Either:
    """One of two shapes, told apart by whether a scalar stands there."""

    scalar: Shape
    other: Shape

    def read(self, document: Document, node: yaml.Node) -> Any:
        return (self.scalar if isinstance(node, yaml.ScalarNode) else self.other).read(document, node)

    def schema(self) -> dict[str, Any]:
        return {"anyOf": [self.scalar.schema(), self.other.schema()]}
