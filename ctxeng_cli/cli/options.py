"""Options that several commands share, and how they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from ctxeng_cli.cli.io import Io
    from ctxeng_cli.replay import Run
    from ctxeng_cli.session.open import Overrides
    from ctxeng_cli.spec import AgentSpec, Policy, Project

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


def parsed(text: str, option: str, known: Callable[[str], Policy | None] = lambda head: None) -> Policy:
    """A policy string of a command line. Raises UsageError."""
    from ctxeng_cli.core.errors import UsageError
    from ctxeng_cli.spec import parse_policy
    from ctxeng_cli.spec.policy import PolicyError

    try:
        return parse_policy(text, known)
    except PolicyError as error:
        raise UsageError(f"{option} {text}: {error.message}") from None


PROVIDERS = ("openai", "openai-responses", "anthropic", "gemini")
Provider = Annotated[
    str | None,
    typer.Option("--provider", metavar="NAME", help="Whose protocol rules hold: openai, openai-responses, anthropic, gemini."),
]


def check_provider(name: str | None) -> None:
    """Raises UsageError for rules that are not there."""
    from ctxeng_cli.core.errors import UsageError, nearest

    if name is not None and name not in PROVIDERS:
        raise UsageError(f'--provider "{name}" is none of {", ".join(PROVIDERS)}.{nearest(name, PROVIDERS)}')


def run_of(io: Io, text: str, option: str, file: str | None, model: str) -> Run:
    """What a recording is put through: a policy string, `agent:NAME` of the project's spec, or `FILE.yaml#NAME`.

    Options behind a comma change it. `model` is the recording's: a share of the window is one of its. Raises UsageError or
    SpecError.
    """
    from ctxeng_cli.agent import checked_limit
    from ctxeng_cli.assembly import call_hook, hook_problem
    from ctxeng_cli.core.errors import ToolError, UsageError
    from ctxeng_cli.models.catalog import limits_of
    from ctxeng_cli.replay import Run
    from ctxeng_cli.spec import ModelSpec
    from ctxeng_cli.tools import load_function

    agent: list[tuple[AgentSpec, str]] = []

    def known(head: str) -> Policy | None:
        found = _agent_named(io, head, file)
        agent.extend([found] if found else [])
        return found[0].policy if found else None

    policy = parsed(text, option, known)
    limits = limits_of(agent[0][0].model if agent else ModelSpec(model))
    if policy.share is not None and limits.window is None:
        raise UsageError(f"{option} {text}: how much the model's window holds is not known; give tokens")
    images = agent[0][0].image_tokens if agent else None
    bound = limits if agent or policy.share is not None else None
    limit = None
    if policy.kind == "python":
        try:
            function = load_function(policy.function, agent[0][1] if agent else str(io.folder))
        except ToolError as error:
            raise UsageError(f"{option} {text}: {error.message}") from None
        wrong = hook_problem("memory.window", function)
        if wrong:
            raise UsageError(f"{option} {text}: {wrong}")

        def limit(offered: Mapping[str, Any]) -> int:
            return checked_limit(call_hook("memory.window", policy.function, function, offered), policy.function)

    return Run(
        policy,
        text if agent else "",
        bound.window if bound else None,
        bound.output if bound else None,
        limit,
        images,
        limits.window,
    )


def _agent_named(io: Io, head: str, file: str | None) -> tuple[AgentSpec, str] | None:
    """The agent that `agent:NAME` or `FILE.yaml#NAME` names, with its project's folder; None for another head."""
    from ctxeng_cli.session.open import agent_spec
    from ctxeng_cli.spec import find, load

    if head.startswith("agent:"):
        found = project(io, file)
        return agent_spec(found, head.removeprefix("agent:")), found.folder
    path, hash, name = head.rpartition("#")
    if hash and path.endswith((".yaml", ".yml")):
        found = load(find(path, {}, io.folder))
        return agent_spec(found, name), found.folder
    return None


def overrides(io: Io, model: str | None, window: str | None, file: str | None) -> Overrides:
    """What the command line, else CTXENG_MODEL and CTXENG_WINDOW, say instead of the spec. Raises UsageError."""
    from ctxeng_cli.core.errors import UsageError
    from ctxeng_cli.session.open import Overrides

    def known(head: str) -> Policy | None:
        found = _agent_named(io, head, file)
        return found[0].policy if found else None

    text = window or io.environ.get("CTXENG_WINDOW")
    policy = parsed(text, "--window", known) if text else None
    if policy is not None and policy.kind == "as-recorded":
        raise UsageError(f"--window {text}: a live window has no recording; as-recorded is a policy to replay with")
    return Overrides(model or io.environ.get("CTXENG_MODEL"), policy)


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
