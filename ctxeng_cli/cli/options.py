"""Options that several commands share, and how they are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ctxeng_cli.cli.io import Io
    from ctxeng_cli.session.open import Overrides
    from ctxeng_cli.spec import Policy, Project

File = Annotated[str | None, typer.Option("--file", metavar="PATH", help="The spec file; default agents.yaml, or CTXENG_FILE.")]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout.")]
Variables = Annotated[
    list[str] | None, typer.Option("--var", metavar="NAME=VALUE", help="A value for one of the agent's inputs; may be repeated.")
]
Model = Annotated[
    str | None,
    typer.Option("--model", metavar="M", help="Another model: a name of the spec, offline, scripted:FILE or a litellm string."),
]
Window = Annotated[
    str | None, typer.Option("--window", metavar="P", help="Another window policy, such as tokens:4000 or messages:10.")
]
SessionId = Annotated[str | None, typer.Option("--session", metavar="ID", help="The session.")]


def project(io: Io, file: str | None) -> Project:
    """The project of the working directory. Raises UsageError or SpecError."""
    from ctxeng_cli.spec import find, load

    return load(find(file, io.environ, io.folder))


def parsed(text: str, option: str) -> Policy:
    """A policy string of a command line. Raises UsageError."""
    from ctxeng_cli.core.errors import UsageError
    from ctxeng_cli.spec import parse_policy
    from ctxeng_cli.spec.policy import PolicyError

    try:
        return parse_policy(text)
    except PolicyError as error:
        raise UsageError(f"{option} {text}: {error.message}") from None


Provider = Annotated[
    str, typer.Option("--provider", metavar="NAME", help="Whose protocol rules the requests are held against: openai.")
]


def check_provider(name: str) -> None:
    """Raises UsageError for rules that are not there."""
    from ctxeng_cli.core.errors import UsageError

    later = ("openai-responses", "anthropic", "gemini")
    if name != "openai":
        hint = "is not built yet; openai is" if name in later else f"is none of openai, {', '.join(later)}"
        raise UsageError(f'--provider "{name}" {hint}')


def overrides(io: Io, model: str | None, window: str | None) -> Overrides:
    """What the command line, else CTXENG_MODEL and CTXENG_WINDOW, say instead of the spec."""
    from ctxeng_cli.session.open import Overrides

    text = window or io.environ.get("CTXENG_WINDOW")
    return Overrides(model or io.environ.get("CTXENG_MODEL"), parsed(text, "--window") if text else None)


def variables(given: list[str] | None) -> dict[str, str]:
    """`NAME=VALUE` pairs. Raises UsageError."""
    from ctxeng_cli.core.errors import UsageError

    pairs = {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise UsageError(f'--var takes NAME=VALUE, not "{item}"')
        pairs[name.strip()] = value
    return pairs


def shown(path: str) -> str:
    """A path as short as it can be told."""
    try:
        return str(Path(path).relative_to(Path.cwd()))
    except ValueError:
        return path
