"""`ctxeng replay`: a recorded session, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ctxeng_cli.cli.io import reported, standard
from ctxeng_cli.cli.options import Json

if TYPE_CHECKING:
    from ctxeng_cli.cli.io import Io
    from ctxeng_cli.core.events import Entry


def replay(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="A session's log, or a session id.")],
    turn: Annotated[int | None, typer.Option("--turn", metavar="N", help="Only this turn.")] = None,
    request: Annotated[int | None, typer.Option("--request", metavar="N", help="Only the turn up to this request.")] = None,
    step: Annotated[bool, typer.Option("--step", help="Wait for a key after each turn.")] = False,
    view: Annotated[str, typer.Option("--view", metavar="full|bar|off", help="How much of the window is shown.")] = "full",
    json: Json = False,
) -> None:
    """Play a recorded session back with the panels that chat showed.

    \b
      ctxeng replay guide-20261201-093000-1a2b
      ctxeng replay path/to/session.jsonl --turn 3
      ctxeng replay path/to/session.jsonl --json
    """
    with reported(io := standard()):
        from ctxeng_cli.core.codec import dumps
        from ctxeng_cli.core.errors import UsageError

        if view not in ("full", "bar", "off"):
            raise UsageError(f'--view is full, bar or off, not "{view}"')
        if step and (json or not io.asks):
            raise UsageError("--step needs a terminal, and goes without --json")
        for name in files:
            entries = recorded(io, name)
            chosen = pick(entries, turn, request)
            if json:
                for entry in chosen:
                    io.out(dumps(entry, expanded=True))
            else:
                play(io, entries, view, chosen, step)


def recorded(io: Io, name: str) -> list[Entry]:
    """The entries of a log: a file, or a session's id. Raises InputError or UsageError."""
    from ctxeng_cli.core.errors import InputError, UsageError, nearest
    from ctxeng_cli.session.files import read_log

    path = Path(name)
    if not path.exists():
        store = io.store()
        if "/" in name or not store.exists(name):
            raise UsageError(f'there is no file and no session "{name}".{nearest(name, store.ids())}')
        path = store.path(name)
    loaded = read_log(path)
    if not loaded.entries:
        raise InputError(
            f"{name}: not understood. It holds no ctxeng.event/1 lines, and recordings of other tools can't be read yet."
        )
    if loaded.torn:
        io.say(f"{name}: the last line is torn; {len(loaded.torn):,} bytes of an unfinished event were left out")
    if loaded.unreadable:
        io.say(f"{name}: {loaded.unreadable:,} bytes in the middle can't be read and were left out")
    return loaded.entries


def pick(entries: list[Entry], turn: int | None, request: int | None) -> list[Entry]:
    """The entries of a turn, or up to a request. Raises UsageError with what there is."""
    from ctxeng_cli.core.errors import UsageError
    from ctxeng_cli.core.events import RequestSent

    last = max((e.turn for e in entries), default=0)
    if turn is not None and not 0 <= turn <= last:
        raise UsageError(f"there is no turn {turn}: the recording has the turns 1 to {last}")
    if request is not None:
        at = next((e for e in entries if isinstance(e.event, RequestSent) and e.event.request == request), None)
        if at is None:
            count = sum(isinstance(e.event, RequestSent) for e in entries)
            raise UsageError(f"there is no request {request}: the recording has {count}")
        if turn is not None and at.turn != turn:
            raise UsageError(f"request {request} belongs to turn {at.turn}, not {turn}")
        return [e for e in entries if e.turn == at.turn and e.seq <= at.seq]
    return [e for e in entries if turn is None or e.turn == turn]


def play(io: Io, entries: list[Entry], view: str, chosen: list[Entry] | None = None, step: bool = False) -> None:
    """Draw entries as chat drew them; those that are not chosen are folded without being drawn."""
    from ctxeng_cli.core.events import SessionOpened, SpecChanged, TurnFailed, TurnFinished
    from ctxeng_cli.core.history import State
    from ctxeng_cli.core.tokens import counter_named
    from ctxeng_cli.screen.stream import LiveScreen

    state = State()
    screen = LiveScreen(io.console(), view=view, counter=counter_named("", False), state=state, answers=True, questions=True)
    wanted = {e.seq for e in (entries if chosen is None else chosen)}
    for entry in entries:
        state.apply(entry)
        if isinstance(entry.event, SessionOpened | SpecChanged):
            screen.counter = counter_named(entry.event.tokenizer, entry.event.exact)
        if entry.seq in wanted:
            screen(entry)
            if step and isinstance(entry.event, TurnFinished | TurnFailed) and not _next(io):
                return


def _next(io: Io) -> bool:
    """Wait for a key: q leaves, anything else goes on."""
    io.stderr.write("-- Enter: next turn, q: leave -- ")
    io.stderr.flush()
    return io.stdin.readline().strip().lower() not in ("q", "quit")
