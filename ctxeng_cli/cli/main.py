"""`ctxeng`: the table of commands."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import Annotated

import typer

HELP = """Decide, see and test what a language model is shown on every call.

\b
  ctxeng chat guide                       talk to an agent; watch its window
  ctxeng inspect-context guide -m "Hi"    what would be sent, part by part
  ctxeng replay SESSION.jsonl             a recorded conversation, step by step
"""

COMMANDS = {  # each in the module of its name
    "chat": "Talk to an agent and watch its window.",
    "inspect-context": "Show the assembled window, part by part.",
    "replay": "Play a recorded session back, step by step.",
    "agents": "List the agents of agents.yaml, or check it.",
    "sessions": "List, show and delete recorded sessions.",
    "init": "Write the starter project.",
    "doctor": "What is installed, which models can be used.",
}


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"ctxeng {version('ctxeng-cli')}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def _not_asked_for() -> None:
    """Stands for a command that this command line does not name: its help line is all that is needed of it."""


def app(arguments: list[str]) -> typer.Typer:
    """The commands. Only those that the arguments name are loaded, and all of them for a shell that completes."""
    built = typer.Typer(
        name="ctxeng",
        help=HELP,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    built.callback()(_root)
    completes = "_CTXENG_COMPLETE" in os.environ
    for name, help in COMMANDS.items():
        if name not in arguments and not completes:
            built.command(name, short_help=help)(_not_asked_for)
            continue
        module = name.replace("-", "_")
        command = getattr(import_module(f"ctxeng_cli.cli.{module}"), module)
        if isinstance(command, typer.Typer):
            built.add_typer(command, name=name, short_help=help)
        else:
            built.command(name, short_help=help)(command)
    return built


def main() -> None:
    """The entry point."""
    try:
        app(sys.argv[1:])(prog_name="ctxeng")
    except KeyboardInterrupt:
        sys.exit(130)
