"""Variables: where the values that templates show come from.

An agent's declared inputs (given by a caller, else their default), the environment variables listed under `env:`, and
the built-ins, which are read once a turn from the recorded clock.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxeng_cli.assembly.template import Variable, parse, unknown_variable
from ctxeng_cli.core.errors import Problem, SpecError, UsageError, nearest
from ctxeng_cli.spec import AgentSpec
from ctxeng_cli.spec.values import coerce, show

BUILT_INS = ("current_date", "current_time", "current_date_time")


@dataclass(frozen=True, slots=True)
class Clock:
    """A moment as it is recorded: ISO 8601 with offset."""

    at: str

    def variables(self) -> dict[str, str]:
        """The built-ins: `2026-12-01`, `09:30:00`, `2026-12-01T09:30:00`."""
        moment = datetime.datetime.fromisoformat(self.at)
        return {
            "current_date": moment.date().isoformat(),
            "current_time": moment.time().isoformat("seconds"),
            "current_date_time": moment.replace(tzinfo=None).isoformat(timespec="seconds"),
        }


def given_inputs(agent: AgentSpec, given: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """The agent's inputs for a turn: what is given now, else what the session's last turn had, else the defaults.

    Raises UsageError for an unknown, a missing or a wrong value.
    """
    specs = {spec.name: spec for spec in agent.inputs}
    for name in given:
        if name not in specs:
            known = f" It has {', '.join(specs)}." if specs else " It declares none."
            raise UsageError(f'agent {agent.name} has no input "{name}".{nearest(name, specs) or known}')
    values: dict[str, Any] = {}
    for name, spec in specs.items():
        source = given if name in given else before
        if name in source:
            try:
                values[name] = coerce(spec, source[name])
                continue
            except ValueError as error:
                if name in given:
                    raise UsageError(f'input "{name}" of agent {agent.name} {error}') from None
        if spec.required:
            what = f" ({spec.description})" if spec.description else ""
            raise UsageError(f'agent {agent.name} needs the input "{name}"{what}: give it with --var {name}=…', spec.place)
        values[name] = spec.default
    return values


def variables(agent: AgentSpec, inputs: Mapping[str, Any], clock: Clock, environ: Mapping[str, str]) -> dict[str, str]:
    """All that the agent's templates may show, as text. A listed environment variable that is not set is empty."""
    listed = {f"env.{name}": environ.get(name, "") for name in agent.env}
    return {**listed, **{name: show(value) for name, value in inputs.items()}, **clock.variables()}


def check_agent(agent: AgentSpec) -> list[Problem]:
    """What is wrong with an agent's templates, without rendering them; warnings for inputs that nothing uses."""
    problems: list[Problem] = []
    used: set[str] = set()
    known = [spec.name for spec in agent.inputs] + [f"env.{name}" for name in agent.env] + list(BUILT_INS)
    for source, extra in ((agent.system, ()), (agent.user, ("it",))):
        if source is None:
            continue
        try:
            template = parse(source)
        except SpecError as error:
            problems += error.problems
            continue
        used |= set(template.names)
        for piece in template.pieces:
            if isinstance(piece, Variable) and piece.name not in (*known, *extra):
                problems.append(_unknown(piece, source, (*known, *extra)))
        if extra and "it" not in template.names:
            problems.append(
                Problem("the user template never shows {{it}}, so the model won't see what the person wrote", source.place(0))
            )
    for spec in agent.inputs:
        if spec.name not in used:
            problems.append(Problem(f'input "{spec.name}" is used by no template of {agent.name}', spec.place, "warning"))
    return problems


def _unknown(piece: Variable, source: Any, known: tuple[str, ...]) -> Problem:
    if piece.name == "it":
        return Problem(
            "{{it}} is the person's text; it stands in the `user` template, not in `system`", source.place(piece.offset)
        )
    return unknown_variable(piece, source, known)
