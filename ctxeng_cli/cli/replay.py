"""`ctxeng replay`: a recorded session, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ctxeng_cli.cli.io import ExitCode, reported, standard
from ctxeng_cli.cli.options import Json, Provider, check_provider, parsed

if TYPE_CHECKING:
    from ctxeng_cli.cli.io import Io
    from ctxeng_cli.core.events import Entry, ReplayRequest
    from ctxeng_cli.spec import Policy


def replay(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="A session's log, or a session id.")],
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", metavar="P", help="A window policy, such as tokens:4000; may be repeated, to compare."),
    ] = None,
    provider: Provider = "openai",
    turn: Annotated[int | None, typer.Option("--turn", metavar="N", help="Only this turn.")] = None,
    request: Annotated[int | None, typer.Option("--request", metavar="N", help="Only the turn up to this request.")] = None,
    step: Annotated[bool, typer.Option("--step", help="Wait for a key after each turn.")] = False,
    view: Annotated[str, typer.Option("--view", metavar="full|bar|off", help="How much of the window is shown.")] = "full",
    json: Json = False,
) -> None:
    """Play a recorded session back with the panels that chat showed, or put a recording through window policies.

    \b
      ctxeng replay guide-20261201-093000-1a2b
      ctxeng replay path/to/session.jsonl --turn 3
      ctxeng replay chat.json --policy tokens:4000 --policy tokens:4000,low_water=0.7
      ctxeng replay chat.json --policy messages:10 --json

    Recordings of ours, OpenAI chat messages (a list, a request, JSON lines), requests of Anthropic.
    """
    with reported(io := standard()):
        from ctxeng_cli.core.codec import dumps
        from ctxeng_cli.core.errors import UsageError

        if view not in ("full", "bar", "off"):
            raise UsageError(f'--view is full, bar or off, not "{view}"')
        if step and (json or not io.asks):
            raise UsageError("--step needs a terminal, and goes without --json")
        check_provider(provider)
        policies = [parsed(text, "--policy") for text in policy or ()]
        failed = False
        for name in files:
            path, own = located(io, name)
            if policies or not own:
                if step:
                    raise UsageError("--step steps through a session of ctxeng's; leave --policy out")
                failed |= put_through(io, path, name, policies, turn, request, json)
                continue
            entries = recorded(io, path, name)
            chosen = pick(entries, turn, request)
            if json:
                for entry in chosen:
                    io.out(dumps(entry, expanded=True))
            else:
                play(io, entries, view, chosen, step)
        if failed:
            raise typer.Exit(ExitCode.FAILED)


def located(io: Io, name: str) -> tuple[Path, bool]:
    """Where a recording lies, a file or a session's log, and whether it begins as a session of ours. Raises UsageError."""
    from ctxeng_cli.core.errors import InputError, UsageError, nearest

    path = Path(name)
    if not path.exists():
        store = io.store()
        if "/" in name or not store.exists(name):
            raise UsageError(f'there is no file and no session "{name}".{nearest(name, store.ids())}')
        path = store.path(name)
    try:
        with path.open("rb") as file:
            return path, b'"ctxeng.event/' in file.read(65_536)
    except OSError as error:
        raise InputError(f"can't read {name}: {(error.strerror or str(error)).lower()}") from None


def recorded(io: Io, path: Path, name: str) -> list[Entry]:
    """The entries of a session's log. Raises InputError."""
    from ctxeng_cli.core.errors import InputError
    from ctxeng_cli.session.files import read_log

    loaded = read_log(path)
    if not loaded.entries:
        raise InputError(f"{name}: not understood. None of its lines is a whole ctxeng.event/1")
    if loaded.torn:
        io.say(f"{name}: the last line is torn; {len(loaded.torn):,} bytes of an unfinished event were left out")
    if loaded.unreadable:
        io.say(f"{name}: {loaded.unreadable:,} bytes in the middle can't be read and were left out")
    return loaded.entries


def put_through(io: Io, path: Path, name: str, policies: list[Policy], turn: int | None, request: int | None, json: bool) -> bool:
    """Put a recording through policies, and print what each request would have held. Whether a request was illegal, or what
    had to stay did not fit."""
    from ctxeng_cli.core.codec import to_json
    from ctxeng_cli.core.errors import UsageError
    from ctxeng_cli.core.events import Entry, ReplaySummary
    from ctxeng_cli.core.tokens import counter_for
    from ctxeng_cli.replay import counted, simulate, summary
    from ctxeng_cli.spec import Policy
    from ctxeng_cli.transcripts import read

    recording = read(path.read_bytes(), name)
    found = f"{name}: {recording.format}, {len(recording.messages):,} messages, {len(recording.asked):,} requests"
    io.say("; ".join([found, *recording.notes]))
    measured = counted(recording, counter_for(recording.model))
    printed = Printed(io, json, measured.counter.exact)
    sums = []
    for policy in policies or [Policy()]:
        if policy.share is not None:
            raise UsageError(f"--policy {policy}: how much the model's window holds is not known; give tokens")
        rows = list(simulate(measured, policy))
        sums.append(summary(policy, (row for _, row in rows)))
        wanted = [(at, row) for at, row in rows if turn in (None, at) and request in (None, row.request)]
        if json or len(policies) < 2 or turn is not None or request is not None:
            printed(str(policy), wanted)
    if json:
        io.json(to_json(Entry(printed.number + 1, "", 0, "", ReplaySummary(policies=tuple(sums)))))
    else:
        from ctxeng_cli.screen.tables import policies_table

        io.console().print(policies_table(sums))
    return any(row.illegal_requests or (row.overflows and "overflow=keep" not in row.policy) for row in sums)


class Printed:
    """Prints the requests of one policy after the other: as tables, or as events with numbers that grow."""

    def __init__(self, io: Io, json: bool, exact: bool) -> None:
        self.io, self.json, self.exact, self.number = io, json, exact, 0

    def __call__(self, policy: str, rows: list[tuple[int, ReplayRequest]]) -> None:
        from ctxeng_cli.core.codec import to_json
        from ctxeng_cli.core.events import Entry
        from ctxeng_cli.screen.tables import requests_table

        if not self.json:
            self.io.console().print(requests_table(policy, rows, self.exact))
            return
        for turn, row in rows:
            self.number += 1
            self.io.json(to_json(Entry(self.number, "", turn, "", row)))


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
