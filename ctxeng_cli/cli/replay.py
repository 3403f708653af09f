"""`ctxeng replay`: a recorded session, step by step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ctxeng_cli.cli.io import ExitCode, reported, standard
from ctxeng_cli.cli.options import File, Json, Provider, check_provider, run_of

if TYPE_CHECKING:
    from ctxeng_cli.cli.io import Io
    from ctxeng_cli.core.events import Entry, ReplayRequest
    from ctxeng_cli.replay import Expectation, Row
    from ctxeng_cli.transcripts import Recording


def replay(
    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="A session's log, or a session id.")],
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", metavar="P", help="A window policy, such as tokens:4000; may be repeated, to compare."),
    ] = None,
    provider: Provider = None,
    turn: Annotated[int | None, typer.Option("--turn", metavar="N", help="Only this turn.")] = None,
    request: Annotated[int | None, typer.Option("--request", metavar="N", help="Only the turn up to this request.")] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option("--expect", metavar="COND", help="Fail unless this holds, such as peak_tokens<=8000 or has(m2)@last."),
    ] = None,
    fix: Annotated[bool, typer.Option("--fix", help="Mend what a provider would refuse, and say each change.")] = False,
    step: Annotated[bool, typer.Option("--step", help="Wait for a key after each turn.")] = False,
    view: Annotated[str, typer.Option("--view", metavar="full|bar|off", help="How much of the window is shown.")] = "full",
    json: Json = False,
    file: File = None,
) -> None:
    """Play a recorded session back with the panels that chat showed, or put a recording through window policies.

    \b
      ctxeng replay guide-20261201-093000-1a2b
      ctxeng replay path/to/session.jsonl --turn 3
      ctxeng replay chat.json --policy tokens:4000 --policy tokens:4000,low_water=0.7
      ctxeng replay chat.json --policy messages:10 --json
      ctxeng replay chat.json --policy agent:guide --expect 'peak_tokens<=8000' --expect 'has(m2)@last'
      ctxeng replay broken.json --fix --provider anthropic

    A policy is a string such as tokens:8000,low_water=0.7, as-recorded, agent:NAME or FILE.yaml#NAME. Recordings: ours,
    OpenAI chat messages (a list, a request, JSON lines), requests of OpenAI's Responses, of Anthropic and of Gemini; - is
    standard input.
    """
    with reported(io := standard()):
        from ctxeng_cli.core.codec import dumps
        from ctxeng_cli.core.errors import UsageError
        from ctxeng_cli.replay import expectation

        if view not in ("full", "bar", "off"):
            raise UsageError(f'--view is full, bar or off, not "{view}"')
        if step and (json or not io.asks):
            raise UsageError("--step needs a terminal, and goes without --json")
        check_provider(provider)
        policies = policy or []
        wanted = Wanted(turn, request, tuple(expectation(text) for text in expect or ()), fix)
        failed = False
        for name in files:
            path, own = located(io, name, file)
            if policies or expect or fix or not own:
                if step:
                    raise UsageError("--step steps through a session of ctxeng's; leave --policy out")
                failed |= put_through(io, path, name, policies, wanted, provider, json, file)
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


def located(io: Io, name: str, file: str | None = None) -> tuple[Path | bytes, bool]:
    """Where a recording lies, a file or a session's log, and whether it begins as a session of ours; `-` is what is piped
    in. Raises UsageError or InputError."""
    from ctxeng_cli.core.errors import InputError, UsageError, nearest
    from ctxeng_cli.session.stores import FileStore
    from ctxeng_cli.session.stores.store import is_id

    if name == "-":
        data = io.stdin.read().encode("utf-8", "surrogateescape")
        return data, b'"ctxeng.event/' in data[:65_536]
    path = Path(name)
    if not path.exists():
        stores = io.stores(file)
        holds = stores.with_id(name) if is_id(name) else None
        if holds is None:
            raise UsageError(f'there is no file and no session "{name}".{nearest(name, stores.ids())}')
        if not isinstance(holds, FileStore):
            return holds.data(name) or b"", True
        path = holds.path(name)
    try:
        with path.open("rb") as opened:
            return path, b'"ctxeng.event/' in opened.read(65_536)
    except OSError as error:
        raise InputError(f"can't read {name}: {(error.strerror or str(error)).lower()}") from None


def recorded(io: Io, source: Path | bytes, name: str) -> list[Entry]:
    """The entries of a session's log. Raises InputError."""
    from ctxeng_cli.core.errors import InputError
    from ctxeng_cli.session.stores import parse_log, read_log

    loaded = parse_log(source) if isinstance(source, bytes) else read_log(source)
    if not loaded.entries:
        raise InputError(f"{name}: not understood. None of its lines is a whole ctxeng.event/1")
    if loaded.torn:
        io.say(f"{name}: the last line is torn; {len(loaded.torn):,} bytes of an unfinished event were left out")
    if loaded.unreadable:
        io.say(f"{name}: {loaded.unreadable:,} bytes in the middle can't be read and were left out")
    return loaded.entries


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of a replay: which requests are listed, what must hold, whether the recording is mended first."""

    turn: int | None
    request: int | None
    expect: tuple[Expectation, ...] = ()
    fix: bool = False

    @property
    def narrow(self) -> bool:
        return self.turn is not None or self.request is not None

    def fits(self, row: Row) -> bool:
        return self.turn in (None, row.turn) and self.request in (None, row.request.request)


def put_through(
    io: Io,
    source: Path | bytes,
    name: str,
    policies: list[str],
    wanted: Wanted,
    provider: str | None,
    json: bool,
    file: str | None,
) -> bool:
    """Put a recording through policies, and print what each request would have held. Whether a request was illegal, or what
    had to stay did not fit."""
    from ctxeng_cli.core.codec import to_json
    from ctxeng_cli.core.events import Entry, ReplaySummary
    from ctxeng_cli.core.tokens import IMAGE_TOKENS, counter_for
    from ctxeng_cli.replay import Summary, simulate

    recording = recording_of(source, name)
    repairs: tuple[str, ...] = ()
    if wanted.fix:
        from ctxeng_cli.transcripts import repaired

        recording, repairs = repaired(recording)
    runs = [run_of(io, text, "--policy", file, recording.model) for text in policies or ["as-recorded"]]
    images = next((one.image_tokens for one in runs if one.image_tokens is not None), IMAGE_TOKENS)
    counter = counter_for(recording.model, images)  # one for all policies: a message is counted once
    printed = Printed(io, json, counter.exact, [str(one) for one in runs])
    sums = [Summary(one) for one in runs]
    if wanted.fix and json:
        printed.messages(recording)
    listed = json or len(runs) < 2 or wanted.narrow
    for row in simulate(recording, runs, counter, provider or recording.provider):
        sums[row.run].add(row)
        for expected in wanted.expect:
            expected.see(row)
        if listed and wanted.fits(row):
            printed(row)
    counts = recording.counts
    found = f"{name}: {recording.format}, {counts['messages']:,} messages, {counts['requests']:,} requests"
    io.say("; ".join([found, *recording.notes]))
    for repair in repairs:
        io.say(f"{name}: mended {repair}")
    rows = tuple(one.row for one in sums)
    printed.end()
    if json:
        io.json(to_json(Entry(printed.number + 1, "", 0, "", ReplaySummary(policies=rows))))
    else:
        from ctxeng_cli.screen.tables import policies_table

        io.console().print(policies_table(rows))
    failed = False
    for expected in wanted.expect:
        for number, whole in enumerate(rows):
            what = expected.judge(number, whole)
            if what is not None:
                failed = True
                io.say(f"{name}: {expected.written} does not hold under {whole.policy}: {what}")
    return failed or any(row.illegal_requests or (row.overflows and "overflow=keep" not in row.policy) for row in rows)


def recording_of(source: Path | bytes, name: str) -> Recording:
    """A file's recording, read line by line where it has lines, or that of bytes. Raises InputError."""
    from ctxeng_cli.transcripts import read

    return read(source if isinstance(source, bytes) else lambda: source.open("rb"), name)


class Printed:
    """Prints the requests of policies: as events with numbers that grow, as they come; or as a table for each policy."""

    def __init__(self, io: Io, json: bool, exact: bool, policies: list[str]) -> None:
        self.io, self.json, self.exact, self.number = io, json, exact, 0
        self._tables: list[list[tuple[int, ReplayRequest]]] = [[] for _ in policies]
        self._policies = policies

    def __call__(self, row: Row) -> None:
        from ctxeng_cli.core.codec import to_json
        from ctxeng_cli.core.events import Entry

        if not self.json:
            self._tables[row.run].append((row.turn, row.request))
            return
        self.number += 1
        self.io.json(to_json(Entry(self.number, "", row.turn, "", row.request)))

    def messages(self, recording: Recording) -> None:
        """The messages of a mended recording, as events: what is printed is a recording again."""
        from ctxeng_cli.core.codec import to_json
        from ctxeng_cli.core.events import Entry, MessageAdded
        from ctxeng_cli.core.tokens import counter_for

        counter = counter_for(recording.model)
        for message in recording.messages:
            self.number += 1
            event = MessageAdded(message=message, tokens=counter.message(message))
            self.io.json(to_json(Entry(self.number, "", 0, "", event)))

    def end(self) -> None:
        from ctxeng_cli.screen.tables import requests_table

        for policy, rows in zip(self._policies, self._tables, strict=True):
            if rows:
                self.io.console().print(requests_table(policy, rows, self.exact))


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
