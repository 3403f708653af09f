"""`ctxeng`: the table of commands."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ctxeng_cli.cli.agents import agents
from ctxeng_cli.cli.chat import chat
from ctxeng_cli.cli.doctor import doctor
from ctxeng_cli.cli.init import init
from ctxeng_cli.cli.inspect_context import inspect_context
from ctxeng_cli.cli.replay import replay
from ctxeng_cli.cli.sessions import sessions

HELP = """Decide, see and test what a language model is shown on every call.

\b
  ctxeng chat guide                       talk to an agent; watch its window
  ctxeng inspect-context guide -m "Hi"    what would be sent, part by part
  ctxeng replay SESSION.jsonl             a recorded conversation, step by step
"""

app = typer.Typer(
    name="ctxeng",
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        typer.echo(f"ctxeng {version('ctxeng-cli')}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


app.command("chat", short_help="Talk to an agent and watch its window.")(chat)
app.command("inspect-context", short_help="Show the assembled window, part by part.")(inspect_context)
app.command("replay", short_help="Play a recorded session back, step by step.")(replay)
app.command("agents", short_help="List the agents of agents.yaml, or check it.")(agents)
app.add_typer(sessions, name="sessions")
app.command("init", short_help="Write the starter project.")(init)
app.command("doctor", short_help="What is installed, which models can be used.")(doctor)


def main() -> None:
    """The entry point."""
    try:
        app()
    except KeyboardInterrupt:
        sys.exit(130)
