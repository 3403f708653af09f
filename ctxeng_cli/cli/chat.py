"""`ctxeng chat`: one turn, or a session at the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ctxeng_cli.cli.io import ExitCode, quiet_stdout, reported, standard
from ctxeng_cli.cli.options import File, Json, Model, SessionId, Variables, Window, overrides, project, variables

if TYPE_CHECKING:
    from ctxeng_cli.agent import Outcome
    from ctxeng_cli.cli.io import Io
    from ctxeng_cli.core.events import Entry
    from ctxeng_cli.session import Session

VIEWS = ("full", "bar", "off")


def chat(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An agent of agents.yaml.")],
    message: Annotated[
        str | None, typer.Option("-m", "--message", metavar="TEXT", help="One turn, then exit; piped stdin is one too.")
    ] = None,
    session: SessionId = None,
    resume: Annotated[bool, typer.Option("-c", "--continue", help="Go on with the agent's latest session.")] = False,
    var: Variables = None,
    model: Model = None,
    window: Window = None,
    view: Annotated[str | None, typer.Option("--view", metavar="full|bar|off", help="How much of the window is shown.")] = None,
    json: Json = False,
    payload: Annotated[bool, typer.Option("--payload", help="With --json: the exact request body in request.sent.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Approve tools that ask.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait while another process has the session.")] = False,
    file: File = None,
) -> None:
    """Talk to an agent; the window, its evictions and the tool round trips are shown live.

    \b
      ctxeng chat guide
      ctxeng chat guide -m "What is a context window?"
      echo "What can you do?" | ctxeng chat guide
      ctxeng chat weather -m "The climate in Bern and in Cairo in July?" --json
      ctxeng chat guide -c                      go on where you left
    """
    with reported(io := standard()):
        from ctxeng_cli.core.errors import UsageError, nearest

        if view is not None and view not in VIEWS:
            raise UsageError(f'--view is full, bar or off, not "{view}".{nearest(view, VIEWS)}')
        if session and resume:
            raise UsageError("take --session or -c, not both")
        if payload and not json:
            raise UsageError("--payload goes with --json")
        text = _one_message(io, message, json)
        spec = project(io, file)
        opened = _open(io, spec, name, session, resume, var, overrides(io, model, window, file), wait, payload)
        try:
            raise typer.Exit(
                _repl(io, opened, view or "full") if text is None else _one_turn(io, opened, text, view, json, payload)
            )
        finally:
            opened.close()


def _one_message(io: Io, message: str | None, json: bool) -> str | None:
    """The message of a single turn, or None at a terminal. Raises UsageError where there is neither."""
    from ctxeng_cli.core.errors import UsageError

    if message is None and not io.stdin.isatty():
        message = io.stdin.read().rstrip("\r\n")
        if not message.strip():
            raise UsageError("stdin is empty: pipe a message, or give one with -m")
    if message is not None and not message.strip():
        raise UsageError("the message is empty")
    if message is None and (json or not io.stdout.isatty()):
        raise UsageError("this needs a message: give one with -m, or pipe it in")
    return message


def _open(
    io: Io, spec: Any, name: str, session: str | None, resume: bool, var: list[str] | None, over: Any, wait: bool, payload: bool
) -> Session:
    from ctxeng_cli.session.open import open_session

    opened = open_session(
        spec, name, id=session, latest=resume, overrides=over, given=variables(var), environ=io.environ, wait=wait,
        waiting=io.say, payload=payload,
    )  # fmt: skip
    try:
        opened.check_inputs()
    except BaseException:
        opened.close()
        raise
    if not opened.lasts:
        io.say("memory.store is memory: nothing of this session is kept once it ends")
    for notice in opened.notices:
        io.say(notice)
    return opened


def _one_turn(io: Io, session: Session, text: str, view: str | None, json: bool, payload: bool) -> int:
    """One turn. stdout gets the answer, or the events; at a terminal the panels too."""
    import asyncio
    from functools import partial

    from ctxeng_cli.session.open import run_cancellable

    if json:
        from ctxeng_cli.screen.jsonl import JsonLines

        lines = JsonLines(io.stdout, payload=payload)
        for entry in session.start:
            lines(entry)
        session.journal.observers.append(lines)
    elif io.draws:
        session.journal.observers.append(_screen(io, session, view or "full"))
    else:
        session.journal.observers.append(partial(_tell, io))
        if view in ("full", "bar"):
            session.journal.observers.append(_screen(io, session, view, answers=False))
        if session.fresh:
            io.say(f"session {session.id}")
    with quiet_stdout(io):
        outcome = asyncio.run(run_cancellable(session, text))
    if outcome.state in ("failed", "cancelled"):
        if json or not io.draws or session.state.running:  # its end could not be recorded, so nobody has drawn it
            _say_failure(io, session, outcome)
        return ExitCode.INTERRUPTED if outcome.state == "cancelled" else ExitCode.FAILED
    if not json and not io.draws:
        from ctxeng_cli.screen.safe import safe

        io.out(safe(outcome.text))
        if outcome.state == "limit":
            io.say("the turn ended at the limit of tool rounds (tool_loop.max_rounds)")
    if json is False and io.draws and session.fresh and session.lasts:
        io.say(f"session {session.id}; go on with: ctxeng chat {session.agent.spec.name} --session {session.id}")
    return ExitCode.OK


def _tell(io: Io, entry: Entry) -> None:
    """What one who sees no panels must know while a turn runs: why it takes so long, and who answered instead."""
    from ctxeng_cli.core.events import ModelAnswered, ModelRetried

    event = entry.event
    if isinstance(event, ModelRetried):
        io.say(f"{event.reason} Trying again in {event.wait_s:g} s.")
    elif isinstance(event, ModelAnswered) and event.served:
        io.say(f"answered by {event.served}, another model than was asked for")


def _say_failure(io: Io, session: Session, outcome: Outcome) -> None:
    """Why there is no answer, and where the half of one is that had come."""
    from ctxeng_cli.screen.safe import one_line

    io.say("cancelled" if outcome.state == "cancelled" else f"ctxeng: the turn failed ({outcome.error}): {outcome.text}")
    half = session.wires.history(session.agent).cut_off(session.journal.state.turn)
    if half is not None:
        io.say(f"What had come of the answer is kept as {half.id}: {one_line(half.text, 200)}")


def _screen(io: Io, session: Session, view: str, answers: bool = True) -> Any:
    from ctxeng_cli.screen.stream import LiveScreen

    console = io.console(io.stdout if answers else io.stderr)
    return LiveScreen(console, view=view, counter=session.agent.counter, state=session.journal.state, answers=answers)


def _repl(io: Io, session: Session, view: str) -> int:
    from ctxeng_cli.repl import Repl

    with quiet_stdout(io):
        return Repl(session, io.console(), _screen(io, session, view), io.state(), io.environ).run()
