"""`ctxeng sessions`: the logs in the data directory."""

from __future__ import annotations

from typing import Annotated

import typer

from ctxeng_cli.cli.io import reported, standard
from ctxeng_cli.cli.options import File, Json

sessions = typer.Typer(
    help="List, show and delete recorded sessions.\n\n\b\n"
    "  ctxeng sessions list\n  ctxeng sessions show ID --json\n  ctxeng sessions delete ID\n",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
Id = Annotated[str, typer.Argument(metavar="ID", help="A session's id.")]


@sessions.command("list")
def list_sessions(json: Json = False, file: File = None) -> None:
    """All sessions, the one written last first."""
    with reported(io := standard()):
        import dataclasses

        rows = [dataclasses.asdict(info) for info in io.stores(file).infos()]
        if json:
            io.json({"schema": "ctxeng.sessions/1", "sessions": rows})
        elif not rows:
            io.say("There is no session yet. Start one with `ctxeng chat AGENT`.")
        else:
            from ctxeng_cli.screen.tables import sessions_table

            io.console().print(sessions_table(rows))


@sessions.command("show")
def show(id: Id, json: Json = False, file: File = None) -> None:
    """One session: its messages, or with --json every event of its log."""
    with reported(io := standard()):
        from ctxeng_cli.core.codec import dumps
        from ctxeng_cli.session.stores import read

        loaded = read(io.stores(file).with_id(id) or io.store(), id)
        if loaded.torn:
            io.say(f"session {id}: the last line is torn ({len(loaded.torn):,} bytes); it is healed when the session goes on")
        if json:
            for entry in loaded.entries:
                io.out(dumps(entry, expanded=True))
            return
        from ctxeng_cli.cli.replay import play

        play(io, loaded.entries, view="off")


@sessions.command("delete")
def delete(id: Id, file: File = None) -> None:
    """Delete one session's log."""
    with reported(io := standard()):
        from ctxeng_cli.session import stores

        stores.delete(io.stores(file).with_id(id) or io.store(), id)
        io.say(f"deleted session {id}")
