"""YAML as nodes with places. Duplicate keys are errors, anchors and merge keys work, a bomb of aliases never unfolds.

Nothing is built from a node until a shape asks for it, so an alias costs nothing where nobody looks. Scalars keep the
text that was written: `NO`, `1.10` and `0777` are text where text is wanted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import yaml

from ctxeng_cli.core.errors import Place, Problem, SpecError

_TOO_MUCH = 20_000
"""Nodes that one value, or keys that all merges of a file, may unfold to."""

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(slots=True)
class Document:
    """One spec file while it is read: where problems are collected."""

    file: str
    text: str
    problems: list[Problem] = field(default_factory=list)
    merged: int = 0

    def place(self, node: yaml.Node) -> Place:
        return Place(self.file, node.start_mark.line + 1, node.start_mark.column + 1)

    def problem(self, node: yaml.Node, message: str, offset: int = 0) -> None:
        at = self.place(node)
        self.problems.append(Problem(message, Place(at.file, at.line, at.column + offset)))

    def raise_problems(self) -> None:
        errors = [p for p in self.problems if p.severity == "error"]
        if errors:
            unique = dict.fromkeys(errors)
            raise SpecError(sorted(unique, key=lambda p: (p.place.line, p.place.column) if p.place else (0, 0)))


def compose(file: str, text: str) -> tuple[Document, yaml.Node | None]:
    """Parse one YAML document. Raises SpecError with the place of a syntax error."""
    document = Document(file, text)
    try:
        return document, yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Place(file, mark.line + 1, mark.column + 1) if mark else Place(file)
        what = " ".join(str(part) for part in (error.context, error.problem) if part)
        hint = ""
        if mark and any("\t" in line[: mark.column + 1] for line in text.splitlines()[mark.line : mark.line + 1]):
            hint = " YAML is indented with spaces, never with tabs."
        elif "mapping values are not allowed" in what:
            hint = ' Put a text that holds ": " in quotes.'
        elif "alias" in what or "anchor" in what:
            hint = " An anchor (&name) must stand before its alias (*name)."
        raise SpecError([Problem(f"not valid YAML: {what}.{hint}", place)]) from None
    except yaml.reader.ReaderError as error:
        line = text[: error.position].count("\n") + 1 if isinstance(error.position, int) else 0
        raise SpecError([Problem(f"not valid YAML: {error.reason}", Place(file, line))]) from None
    except RecursionError:
        raise SpecError([Problem("not valid YAML: nested too deeply", Place(file))]) from None


def items(document: Document, node: yaml.MappingNode) -> list[tuple[str, yaml.Node, yaml.Node]]:
    """The key-value pairs of a mapping as (key text, key node, value node), merge keys resolved, duplicates reported."""
    own: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    inherited: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            document.problem(key, "a key must be a plain word")
        elif key.tag == "tag:yaml.org,2002:merge":
            for name, pair in _merged(document, value, 0).items():
                inherited.setdefault(name, pair)
        elif key.value in own:
            first = document.place(own[key.value][0])
            document.problem(key, f'key "{key.value}" stands here for the second time; the first is at {first}. Keep one.')
        else:
            own[key.value] = (key, value)
    return [(name, *pair) for name, pair in {**inherited, **own}.items()]


def _merged(document: Document, node: yaml.Node, depth: int) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    sources = node.value if isinstance(node, yaml.SequenceNode) else [node]
    found: dict[str, tuple[yaml.Node, yaml.Node]] = {}
    for source in sources:
        document.merged += 1
        if depth > 16 or document.merged > _TOO_MUCH:
            document.problem(node, "merge keys (<<) unfold to too much; write the keys out")
            document.raise_problems()
        if not isinstance(source, yaml.MappingNode):
            document.problem(source, "<< merges a mapping, or a list of mappings")
            continue
        for key, value in source.value:
            if key.tag == "tag:yaml.org,2002:merge":
                for name, pair in _merged(document, value, depth + 1).items():
                    found.setdefault(name, pair)
            elif isinstance(key, yaml.ScalarNode):
                found[key.value] = (key, value)
    return found


def value(document: Document, node: yaml.Node) -> Any:
    """A node as plain Python data (for defaults of inputs). Reports what unfolds to too much."""
    left = [_TOO_MUCH]

    def build(node: yaml.Node, depth: int) -> Any:
        left[0] -= 1
        if left[0] < 0 or depth > 50:
            raise OverflowError
        if isinstance(node, yaml.MappingNode):
            return {key: build(item, depth + 1) for key, _, item in items(document, node)}
        if isinstance(node, yaml.SequenceNode):
            return [build(item, depth + 1) for item in node.value]
        return scalar(node)

    try:
        return build(node, 0)
    except OverflowError:
        document.problem(node, "this value unfolds to too much; write it out without aliases")
        return None


def scalar(node: yaml.Node) -> Any:
    """A scalar by YAML's own reading: null, bool, int, float or text."""
    tag, text = node.tag.rpartition(":")[2], node.value
    try:
        if tag == "null":
            return None
        if tag == "bool":
            return text.lower() in ("yes", "true", "on")
        if tag == "int":
            return (
                int(text.replace("_", ""), 0)
                if not text.lstrip("+-").startswith("0") or "x" in text
                else int(text.replace("_", ""))
            )
        if tag == "float":
            return float(text.replace("_", "").replace(".inf", "inf").replace(".nan", "nan"))
    except ValueError:
        pass
    return text
