"""Templates: `{{name}}` and nothing else.

`{{name}}` and `{{ name }}` stand for a variable, `{{env.NAME}}` for an environment variable; `{{{{` and `}}}}` write
literal braces. Single braces are text: JSON, set notation and LaTeX pass as they are. There are no filters, attributes,
calls, loops or conditions, so a prompt file that somebody sent can do nothing; jinja2's sandbox would have to be taught
to refuse all of these, and would still read `{%` and `{#` in a prompt as its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ctxeng_cli.core.errors import Place, Problem, SpecError, nearest
from ctxeng_cli.spec import TextSource

_TOKEN = re.compile(r"\{\{\{\{|\}\}\}\}|\{\{(.*?)\}\}", re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)?")


@dataclass(frozen=True, slots=True)
class Variable:
    """A place in a template where a value goes in."""

    name: str
    offset: int


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template: texts and variables in order."""

    source: TextSource
    pieces: tuple[str | Variable, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(piece.name for piece in self.pieces if isinstance(piece, Variable)))


def parse(source: TextSource) -> Template:
    """Read a template. Raises SpecError with the place of everything between double braces that is no name."""
    pieces: list[str | Variable] = []
    problems: list[Problem] = []
    end = 0
    text = source.text
    for found in _TOKEN.finditer(text):
        pieces.append(text[end : found.start()])
        end = found.end()
        if found[1] is None:
            pieces.append("{{" if found[0] == "{{{{" else "}}")
            continue
        name = found[1].strip()
        if _NAME.fullmatch(name):
            pieces.append(Variable(name, found.start()))
        else:
            problems.append(Problem(_wrong(found[1]), source.place(found.start())))
    pieces.append(text[end:])
    if problems:
        raise SpecError(problems)
    return Template(source, tuple(piece for piece in pieces if piece != ""))


def _wrong(inside: str) -> str:
    shown = " ".join(inside.split())[:40]
    if not shown:
        return "a variable needs a name between {{ and }}; {{{{ and }}}} write literal braces"
    rule = "only a name may stand between {{ and }}, nothing is evaluated; {{{{ and }}}} write literal braces"
    return f"{{{{{shown}}}}} is no variable: {rule}"


def render(template: Template, values: Mapping[str, str]) -> str:
    """Put the values in, once. What they hold is never looked at again. Raises SpecError for a missing variable."""
    missing = [piece for piece in template.pieces if isinstance(piece, Variable) and piece.name not in values]
    if missing:
        raise SpecError([unknown_variable(v, template.source, values) for v in missing])
    return "".join(piece if isinstance(piece, str) else values[piece.name] for piece in template.pieces)


def unknown_variable(variable: Variable, source: TextSource, known: Mapping[str, str] | tuple[str, ...]) -> Problem:
    """What to say of a variable that nobody declared."""
    prefix, dot, name = variable.name.partition(".")
    place: Place = source.place(variable.offset)
    if dot and prefix == "env":
        return Problem(f"{{{{{variable.name}}}}}: {name} is not listed under `env:`. Add it there: `env: [{name}]`.", place)
    hint = nearest(variable.name, known)
    if hint:
        return Problem(f'unknown variable "{variable.name}".{hint}', place)
    return Problem(
        f'unknown variable "{variable.name}". '
        f"Declare it under `inputs:`, for example `inputs: {{{variable.name}: {{type: string}}}}`.",
        place,
    )
