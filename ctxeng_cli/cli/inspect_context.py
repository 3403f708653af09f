"""`ctxeng inspect-context`: an assembled window, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ctxeng_cli.cli.io import reported, standard
from ctxeng_cli.cli.options import (
    File,
    Json,
    Model,
    Provider,
    SessionId,
    Variables,
    Window,
    check_provider,
    overrides,
    project,
    variables,
)

if TYPE_CHECKING:
    from ctxeng_cli.cli.io import Io
    from ctxeng_cli.core.events import Entry
    from ctxeng_cli.core.view import Context


def inspect_context(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="An agent; with --session it may be left out.")] = None,
    session: SessionId = None,
    message: Annotated[
        str | None, typer.Option("-m", "--message", metavar="TEXT", help="What would be sent for this message; nothing is sent.")
    ] = None,
    transcript: Annotated[
        str | None, typer.Option("--transcript", metavar="FILE", help="A recording; --window puts it under another policy.")
    ] = None,
    turn: Annotated[int | None, typer.Option("--turn", metavar="N", help="The last request of this turn.")] = None,
    request: Annotated[int | None, typer.Option("--request", metavar="N", help="This request.")] = None,
    provider: Provider = None,
    part: Annotated[str | None, typer.Option("--part", metavar="ID", help="One part, whole: p3, or a message's id.")] = None,
    payload: Annotated[bool, typer.Option("--payload", help="The exact body of the request.")] = False,
    var: Variables = None,
    model: Model = None,
    window: Window = None,
    file: File = None,
    json: Json = False,
) -> None:
    """Show the assembled window, part by part, with the source and the cost of each; ghosts with what removed them.

    \b
      ctxeng inspect-context guide -m "Hello"
      ctxeng inspect-context --session guide-20261201-093000-1a2b
      ctxeng inspect-context --session ID --request 4 --json
      ctxeng inspect-context --session ID --part m2
      ctxeng inspect-context --transcript chat.json --window tokens:4000
    """
    with reported(io := standard()):
        from ctxeng_cli.core.errors import UsageError

        check_provider(provider)
        if message is not None and (turn is not None or request is not None):
            raise UsageError("-m shows what would be sent next; --turn and --request show what was sent. Take one.")
        if transcript is not None:
            if name or session or message or var or model:
                raise UsageError("--transcript goes with --window, --turn, --request, --part and --payload alone")
            view = replayed_view(io, transcript, window, turn, request, provider, file)
        elif session is not None and message is None:
            view = recorded_view(io, session, name, turn, request, file)
        elif turn is not None or request is not None:
            raise UsageError("--turn and --request belong to a session: add --session ID")
        else:
            view = unsent_view(io, name, session, message, var, overrides(io, model, window, file), file)
        _show(io, _linted(view, provider), part, payload, json, provider)


def _linted(view: Context, provider: str | None) -> Context:
    """The view under another provider's rules, where one is asked for."""
    from dataclasses import replace

    from ctxeng_cli.core.view import request_of
    from ctxeng_cli.lint import check

    if provider is None or provider == view.provider:
        return view
    found = check(
        request_of(view),
        provider=provider,
        tokens=view.budget.get("used_tokens"),
        rewritten=frozenset(
            part.message for part in view.parts if part.message and part.state in ("cleared", "capped", "offloaded")
        ),
    )
    return replace(view, provider=provider, lint=found)


def recorded_view(io: Io, session: str, name: str | None, turn: int | None, request: int | None, file: str | None) -> Context:
    """A request of a session as it was sent: the last one, or the one asked for."""
    from ctxeng_cli.core.errors import UsageError
    from ctxeng_cli.session.stores import read

    loaded = read(io.stores(file, name).with_id(session) or io.store(), session)
    if loaded.torn:
        io.say(f"session {session}: the last line is torn; it is healed when the session goes on")
    return view_of(loaded.entries, name, turn, request, UsageError, f"session {session}")


def view_of(
    entries: list[Entry], name: str | None, turn: int | None, request: int | None, error: type[Exception], what: str
) -> Context:
    """Fold up to the request and look. Raises `error` when there is none such."""
    from ctxeng_cli.core.events import RequestSent
    from ctxeng_cli.core.history import State
    from ctxeng_cli.core.tokens import counter_named
    from ctxeng_cli.core.view import context

    def fits(entry: Entry) -> bool:
        sent = entry.event
        return (
            isinstance(sent, RequestSent)
            and (turn is None or entry.turn == turn)
            and (request is None or sent.request == request)
            and (name is None or entry.agent == name)
        )

    target = next((e for e in reversed(entries) if fits(e)), None)
    if target is None or not isinstance(target.event, RequestSent):
        sent = [e for e in entries if isinstance(e.event, RequestSent)]
        have = (
            f"it has the requests 1 to {len(sent)} in {max(e.turn for e in sent)} turns" if sent else "nothing was sent in it yet"
        )
        raise error(f"{what} has no such request: {have}")
    state = State()
    for entry in entries:
        if entry.seq > target.seq:
            break
        state.apply(entry)
    spec = state.spec
    counter = counter_named(spec.tokenizer, spec.exact) if spec else counter_named("", False)
    return context(state, target.agent, target.event, target.turn, counter)


def replayed_view(
    io: Io, transcript: str, window: str | None, turn: int | None, request: int | None, provider: str | None, file: str | None
) -> Context:
    """A request of a recording, under a policy or as it was."""
    from ctxeng_cli.cli.options import run_of
    from ctxeng_cli.cli.replay import located, recording_of
    from ctxeng_cli.core.errors import InputError
    from ctxeng_cli.core.tokens import IMAGE_TOKENS, counter_for
    from ctxeng_cli.replay import look

    source, _ = located(io, transcript)
    recording = recording_of(source, transcript)
    one = run_of(io, window or "as-recorded", "--window", file, recording.model)
    counter = counter_for(recording.model, IMAGE_TOKENS if one.image_tokens is None else one.image_tokens)
    view = look(recording, one, counter, provider or recording.provider, request=request, turn=turn)
    for note in recording.notes:
        io.say(f"{transcript}: {note}")
    if view is None:
        have = f"it has {recording.counts['requests']:,} requests"
        raise InputError(f"{transcript} has no such request: {have}")
    return view


def unsent_view(
    io: Io, name: str | None, session: str | None, message: str | None, var: list[str] | None, over: object, file: str | None
) -> Context:
    """What would be sent for a message. Everything runs as in chat, up to the wire; nothing is locked or written."""
    import asyncio

    from ctxeng_cli.core.errors import CtxengError, UsageError
    from ctxeng_cli.core.events import RequestSent
    from ctxeng_cli.core.view import context
    from ctxeng_cli.session.open import Overrides, open_session
    from ctxeng_cli.session.stores import read

    assert isinstance(over, Overrides)
    store = None
    if session is not None:
        store = io.stores(file, name).with_id(session) or io.store()
        said = read(store, session).entries
        name = name or (said[0].agent if said else None)
    if name is None:
        raise UsageError("name an agent, or a session with --session ID")
    found: list[Context] = []
    spec = project(io, file)
    looked = open_session(
        spec, name, store=store, id=session, overrides=over, given=variables(var), environ=io.environ, look=True
    )

    def look(entry: Entry) -> None:
        if isinstance(entry.event, RequestSent):
            found.append(context(looked.journal.state, entry.agent, entry.event, entry.turn, looked.agent.counter))

    looked.journal.observers.append(look)
    outcome = asyncio.run(looked.say(message if message is not None else "…"))
    if not found:
        raise CtxengError(outcome.text)
    return found[0]


def _show(io: Io, view: Context, part: str | None, payload: bool, json: bool, provider: str | None) -> None:
    from ctxeng_cli.core.errors import UsageError
    from ctxeng_cli.core.view import context_json, request_of
    from ctxeng_cli.payloads import body

    if part is not None:
        chosen = [p for p in view.parts if part in (p.id, p.message)]
        if not chosen:
            raise UsageError(f'there is no part "{part}": this window has p1 to p{len(view.parts)}, and message ids such as m1')
        if json:
            rows = zip(context_json(view)["parts"], view.parts, strict=True)
            io.json([{**row, "text": p.text} for row, p in rows if p in chosen])
        else:
            from ctxeng_cli.screen.safe import safe

            io.out(safe("\n".join(p.text for p in chosen)))
    elif payload:
        _show_payload(io, body(request_of(view), provider or view.provider), json)
    elif json:
        io.json(context_json(view))
    else:
        from ctxeng_cli.screen.panels import LISTED, window_panel
        from ctxeng_cli.screen.tables import lint_table, stages_table

        console = io.console()
        console.print(window_panel(view, view_mode="full", max_rows=LISTED if io.draws else None))
        if view.stages:
            console.print(stages_table(view.stages))
        if view.lint:
            console.print(lint_table(view.lint))


def _show_payload(io: Io, body: object, json: bool) -> None:
    """One line for programs; at a terminal spread over lines, in ASCII, so that nothing in it can act."""
    if json or not io.draws:
        io.json(body)
        return
    import json as jsonlib

    io.out(jsonlib.dumps(body, indent=2, ensure_ascii=True).replace("\x7f", "\\u007f"))
