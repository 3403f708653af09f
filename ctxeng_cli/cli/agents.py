"""`ctxeng agents`: the agents of the spec, and whether it is sound."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxeng_cli.cli.io import ExitCode, reported, standard
from ctxeng_cli.cli.options import File, Json, project

if TYPE_CHECKING:
    from ctxeng_cli.cli.io import Io
    from ctxeng_cli.spec import Project


def agents(
    check: Annotated[bool, typer.Option("--check", help="Check the spec and its prompts; imports and starts nothing.")] = False,
    load: Annotated[bool, typer.Option("--import", help="With --check: import the tools too.")] = False,
    schema: Annotated[bool, typer.Option("--schema", help="The JSON schema of agents.yaml, for editors.")] = False,
    hooks: Annotated[bool, typer.Option("--hooks", help="What each function of yours may ask for, and what it answers.")] = False,
    file: File = None,
    json: Json = False,
) -> None:
    """List the agents of agents.yaml, or check it.

    \b
      ctxeng agents
      ctxeng agents --check
      ctxeng agents --schema > agents.schema.json
      ctxeng agents --hooks
    """
    with reported(io := standard()):
        if schema:
            import json as jsonlib

            from ctxeng_cli.spec import json_schema

            io.out(jsonlib.dumps(json_schema(), indent=2))
        elif hooks:
            _hooks(io, json)
        elif check:
            raise typer.Exit(_check(io, project(io, file), load, json))
        else:
            _list(io, project(io, file), json)


def _hooks(io: Io, json: bool) -> None:
    from ctxeng_cli.assembly import HOOKS

    if json:
        rows = [{"hook": hook, "asks": list(asks), "answers": answers} for hook, (asks, answers) in HOOKS.items()]
        io.json({"schema": "ctxeng.hooks/1", "hooks": rows})
        return
    from ctxeng_cli.screen.tables import grid

    cells = [(hook, ", ".join(asks), answers) for hook, (asks, answers) in HOOKS.items()]
    io.console().print(grid(("hook", "may ask for", "answers"), cells))


def _check(io: Io, spec: Project, load: bool, json: bool) -> int:
    from ctxeng_cli.assembly import check_agent
    from ctxeng_cli.core.errors import Problem, SpecError
    from ctxeng_cli.models.catalog import window_problem
    from ctxeng_cli.session.open import limit_of
    from ctxeng_cli.tools import load_tools

    problems: list[Problem] = []
    for agent in spec.agents.values():
        problems += check_agent(agent)
        share = window_problem(agent)
        problems += [share] if share else []
        if load:
            problems += limit_of(agent, spec.folder)[1]
            try:
                load_tools(agent.tools, spec.folder)
            except SpecError as error:
                problems += error.problems
    problems = list(dict.fromkeys(problems))
    errors = [p for p in problems if p.severity == "error"]
    if json:
        rows = [
            {
                "severity": p.severity,
                "message": p.message,
                **({"file": p.place.file, "line": p.place.line, "column": p.place.column} if p.place else {}),
            }
            for p in problems
        ]
        io.json({"schema": "ctxeng.check/1", "file": spec.file, "agents": list(spec.agents), "problems": rows})
    else:
        for problem in problems:
            io.say(str(problem))
        if not errors:
            io.out(f"{spec.file}: {len(spec.agents)} agents, {'no problems' if not problems else f'{len(problems)} warnings'}")
    return ExitCode.USAGE if errors else ExitCode.OK


def _list(io: Io, spec: Project, json: bool) -> None:
    rows: list[dict[str, Any]] = [
        {
            "name": agent.name,
            "description": agent.description,
            "model": agent.model.model,
            "window": str(agent.policy),
            "tools": [tool.python for tool in agent.tools],
            "inputs": [
                {"name": i.name, "type": i.type, "required": i.required, "default": i.default, "description": i.description}
                for i in agent.inputs
            ],
            "line": agent.place.line if agent.place else None,
        }
        for agent in spec.agents.values()
    ]
    if json:
        io.json({"schema": "ctxeng.agents/1", "file": spec.file, "agents": rows})
        return
    from ctxeng_cli.screen.tables import agents_table

    io.console().print(agents_table(rows))
