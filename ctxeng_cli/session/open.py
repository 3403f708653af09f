"""The one place that wires the ports: a project, an agent's name and a session become something that takes turns."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ctxeng_cli.agent import Agent, Outcome, Summarizer, Wires, take_turn
from ctxeng_cli.agent.turn import close_turn
from ctxeng_cli.assembly import check_agent, given_inputs, hook_problem, parse
from ctxeng_cli.core.budget import Edit, Reason
from ctxeng_cli.core.errors import Problem, SessionError, SpecError, ToolError, UsageError, nearest
from ctxeng_cli.core.events import (
    Entry,
    Event,
    SessionHealed,
    SessionOpened,
    SpecChanged,
    SummaryMade,
    TurnStarted,
    WindowEdited,
)
from ctxeng_cli.core.history import RESTORED, State
from ctxeng_cli.core.messages import number
from ctxeng_cli.core.ports import Model, Observer, Record, Tool
from ctxeng_cli.core.redact import Redactor
from ctxeng_cli.core.tokens import counter_for
from ctxeng_cli.models.catalog import limits_of, model_for, provider_of, window_problem
from ctxeng_cli.session.journal import Journal, NoLines
from ctxeng_cli.session.stores import Loaded, Log, Store, data_folder, parse_log, store_for
from ctxeng_cli.session.stores import latest as latest_of
from ctxeng_cli.session.stores.memory import MemoryStore
from ctxeng_cli.spec import AgentSpec, ModelSpec, Policy, Project, load
from ctxeng_cli.spec.load import model_problem
from ctxeng_cli.spec.policy import Summarize
from ctxeng_cli.tools import load_function, load_tools
from ctxeng_cli.window.summarize import PROMPT


def now() -> str:
    """The moment, ISO 8601 in local time with offset, to the millisecond."""
    return datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")  # noqa: TID251  # the clock port


def new_id(agent: str) -> str:
    """A readable id that no other session has."""
    return f"{agent}-{datetime.datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"  # noqa: TID251  # an id is drawn here, at the edge


@dataclass(slots=True)
class Overrides:
    """What a command line says instead of the spec."""

    model: str | None = None
    policy: Policy | None = None

    def on(self, spec: AgentSpec, project: Project) -> AgentSpec:
        """The spec with these in place. Raises UsageError for a model that can't be."""
        if self.model is not None:
            wrong = model_problem(self.model, Path(project.folder), project.models)
            if wrong:
                raise UsageError(wrong)
            model = project.models.get(self.model) or ModelSpec(self.model)
            spec = replace(spec, model=model)
        return spec if self.policy is None else replace(spec, policy=replace(self.policy, pin=spec.policy.pin))


def agent_spec(project: Project, name: str) -> AgentSpec:
    """The agent of that name. Raises UsageError with the nearest name."""
    if name not in project.agents:
        known = f" {project.file} has {', '.join(project.agents) or 'none'}."
        raise UsageError(f'there is no agent "{name}".{nearest(name, project.agents) or known}')
    return project.agents[name]


def wire(spec: AgentSpec, folder: str, environ: Mapping[str, str]) -> Agent:
    """Load what stands behind a spec. Raises SpecError with places: templates, tools, scripts."""
    problems = [p for p in check_agent(spec) if p.severity == "error"]
    tools: tuple[Tool, ...] = ()
    try:
        tools = load_tools(spec.tools, folder)
    except SpecError as error:
        problems += error.problems
    limits = limits_of(spec.model)
    share = window_problem(spec)
    limit, wrong = limit_of(spec, folder)
    problems += [*([share] if share else []), *wrong]
    if spec.policy.compat and spec.policy.kind == "tokens" and not counter_for(spec.model.model).exact:
        unknown = f"compat: {spec.policy.compat} counts by OpenAI's encodings, and none is known for {spec.model.model}"
        problems.append(Problem(f"{unknown}. Use messages:N.", spec.place))
    if problems:
        raise SpecError(problems)
    model = model_for(spec.model, folder, environ)
    return Agent(
        spec=spec,
        model=model,
        tools={tool.definition.name: tool for tool in tools},
        counter=counter_for(spec.model.model, spec.image_tokens),
        system=parse(spec.system) if spec.system else None,
        user=parse(spec.user) if spec.user else None,
        provider=provider_of(spec.model),
        context_window=limits.window,
        max_output=limits.output,
        summarizer=summarizer_of(spec, folder, environ, model),
        limit=limit,
    )


def summarizer_of(spec: AgentSpec, folder: str, environ: Mapping[str, str], own: Model) -> Summarizer | None:
    """Who writes the agent's summaries, where its window wants any: the model that the spec names, else the agent's `own`."""
    if not any(isinstance(step, Summarize) for step in spec.policy.pipeline):
        return None
    model = spec.summarizer.model or spec.model
    limits = limits_of(model)
    instructions = spec.summarizer.prompt.text if spec.summarizer.prompt else PROMPT
    reserve = min(limits.output or 1024, 1024)
    room = (limits.window or SUMMARIZER_WINDOW) - reserve - counter_for(model.model).text(instructions) - 16
    port = model_for(model, folder, environ) if spec.summarizer.model else own
    return Summarizer(port, model.model, instructions, model.parameters, max(room, 256))


SUMMARIZER_WINDOW = 8192
"""What the window of a summarizer is taken to hold where that is not known, in tokens."""


def limit_of(spec: AgentSpec, folder: str) -> tuple[Callable[..., Any] | None, list[Problem]]:
    """The function that answers the window's limit, and what is wrong with it."""
    if spec.policy.kind != "python":
        return None, []
    try:
        function = load_function(spec.policy.function, folder)
    except ToolError as error:
        return None, [Problem(f"memory.window: {error.message}", spec.place)]
    wrong = hook_problem("memory.window", function)
    return function, [Problem(f"memory.window: {spec.policy.function}: {wrong}", spec.place)] if wrong else []


@dataclass(slots=True)
class Session:
    """A conversation with one agent. `say` takes a turn; everything that happens reaches the observers as entries."""

    id: str
    agent: Agent
    project: Project
    journal: Journal
    wires: Wires
    environ: Mapping[str, str]
    given: Mapping[str, Any]
    log: Log | None
    overrides: Overrides
    fresh: bool
    """Opened anew: nothing was said in it yet."""
    store: Store | None = None
    """Where its log is kept; None for what is only looked at."""
    notices: list[str] = field(default_factory=list)
    start: list[Entry] = field(default_factory=list)
    """What was recorded while the session was being opened."""
    _asked: bool = False

    @property
    def state(self) -> State:
        return self.journal.state

    @property
    def lasts(self) -> bool:
        """It can be gone on with once this program has ended."""
        return self.store is not None and not isinstance(self.store, MemoryStore)

    async def say(self, text: str) -> Outcome:
        """Take one turn. Never raises for what goes wrong in it. Cancel it by cancelling this coroutine's task: the turn
        then ends in order and the outcome says so. Raises UsageError for inputs that are missing."""
        inputs = given_inputs(self.agent.spec, self.given, self._inputs_before())
        if self.journal.state.running:  # the store was away when the last turn ended
            try:
                close_turn(self.agent, self.wires, "interrupted", "the store could not be written when the turn ended")
            except SessionError as error:
                return Outcome("failed", error.message, "store")
        self._asked = True
        return await take_turn(self.agent, text, inputs, self.wires)

    def _inputs_before(self) -> Mapping[str, Any]:
        return self.wires.last_inputs

    def check_inputs(self) -> None:
        """Raises UsageError when a turn could not start for want of an input."""
        given_inputs(self.agent.spec, self.given, self._inputs_before())

    def reload(self) -> tuple[Problem, ...]:
        """Read the spec and its prompts again when a file changed. A fault keeps the old ones and is answered."""
        changed = any(_stamp(file) != stamp for file, stamp in self._stamps.items())
        if not changed:
            return ()
        self._stamps = _stamps(self.project)
        try:
            project = load(Path(self.project.file))
            spec = self.overrides.on(agent_spec(project, self.agent.spec.name), project)
            if spec.digest() == self.agent.spec.digest() and project.files == self.project.files:
                return ()
            agent = wire(spec, project.folder, self.environ)
        except SpecError as error:
            return error.problems
        except UsageError as error:
            return (Problem(error.message),)
        self._stamps = _stamps(project)
        self.change(agent, project)
        return ()

    def change(self, agent: Agent, project: Project) -> None:
        """Go on with another spec, model or window; recorded as `spec.changed` with the difference."""
        before = self.agent
        if type(agent.model) is type(before.model) and agent.spec.model == before.spec.model:
            agent.model = before.model
        self.agent, self.project = agent, project
        _record_change(self.wires, before.spec.digest(), agent)
        self._recount(before)

    def _recount(self, before: Agent) -> None:
        recount(self.agent, self.wires, before.counter.name)

    def recorded(self) -> list[Entry]:
        """All that the log holds."""
        data = None if self.store is None else self.store.data(self.id)
        return parse_log(data).entries if data is not None else []

    def clear(self) -> None:
        """Take everything but the system message out of the window; it stays in the log."""
        history = self.wires.history(self.agent)
        reason = Reason("command.clear", None, history.window_tokens, self.journal.state.turn)
        edits = tuple(Edit("evict", tuple(e.ids), e.tokens, reason) for e in history.exchanges)
        if history.summary is not None:
            edits += (Edit("evict", (), history.summary_tokens, reason, history.summary),)
        if edits:
            self.wires.record(WindowEdited(edits=edits))

    def restore(self, id: str) -> tuple[str, ...]:
        """Bring a ghost back, with all of its exchange that has left, and keep it from now on; answers what came back.
        Raises UsageError for what is no ghost."""
        history = self.wires.history(self.agent)
        ghost = history.ghosts.get(id)
        gone_for = ("evict", "drop", "summarize")
        if ghost is None or ghost.op not in gone_for:
            ghosts = [name for name, gone in history.ghosts.items() if gone.op in gone_for]
            have = f"; ghosts are {', '.join(ghosts[-12:])}" if ghosts else "; nothing has left the window"
            raise UsageError(f"{id} is in the window" if id in history.window() else f"there is no ghost {id}{have}")
        turn = history.turns[id]
        back = tuple(other for other, gone in history.ghosts.items() if history.turns[other] == turn and gone.op == ghost.op)
        back = tuple(sorted(back, key=number))
        reason = Reason(RESTORED, None, None, self.journal.state.turn)
        self.wires.record(WindowEdited(edits=(Edit("restore", back, sum(history.tokens[m] for m in back), reason),)))
        return back

    def take_back(self) -> bool:
        """Take the last exchange out of the window, so that its question can be asked again. False when there is none."""
        history = self.wires.history(self.agent)
        if not history.exchanges:
            return False
        last = history.exchanges[-1]
        reason = Reason("command.retry", None, None, self.journal.state.turn)
        self.wires.record(WindowEdited(edits=(Edit("drop", tuple(last.ids), last.tokens, reason),)))
        return True

    def set_window(self, policy: Policy) -> None:
        """Another window policy from the next turn on; pins stay."""
        policy = replace(policy, pin=self.agent.spec.policy.pin)
        spec = replace(self.agent.spec, policy=policy)
        limit, wrong = limit_of(spec, self.project.folder)
        share = window_problem(spec)
        if wrong or share:
            raise UsageError("; ".join(problem.message for problem in [*wrong, *([share] if share else [])]))
        self.overrides.policy = policy
        summarizer = summarizer_of(spec, self.project.folder, self.environ, self.agent.model)
        self.change(replace(self.agent, spec=spec, pins=None, memory=None, limit=limit, summarizer=summarizer), self.project)

    def close(self) -> None:
        """Let go of the log. A new session in which nothing was said leaves none."""
        if self.log is not None:
            _leave(self.log, unused=self.fresh and not self._asked)

    _stamps: dict[str, tuple[int, int]] = field(default_factory=dict)


def open_session(
    project: Project,
    name: str,
    *,
    store: Store | None = None,
    id: str | None = None,
    latest: bool = False,
    overrides: Overrides | None = None,
    given: Mapping[str, Any] | None = None,
    environ: Mapping[str, str] | None = None,
    observers: Iterable[Observer] = (),
    clock: Callable[[], str] = now,
    wait: bool = False,
    waiting: Callable[[str], None] = lambda holder: None,
    look: bool = False,
    payload: bool = False,
) -> Session:
    """Open a session: a new one, the one with `id` (new or not), or the agent's `latest`, in the `store` that the spec names
    unless another is given.

    Takes the lock, heals the log, folds it, wires the ports. With `look` nothing is locked, written or sent: a turn
    stops before the wire. Raises UsageError, SpecError or SessionError.
    """
    overrides = overrides or Overrides()
    environ = dict(os.environ) if environ is None else dict(environ)
    data = data_folder(environ)
    environ = _with_dotenv(environ, project.folder)
    spec = overrides.on(agent_spec(project, name), project)
    agent = wire(spec, project.folder, environ)
    file = str(Path(project.file).resolve())
    kept = store or store_for(spec.store, Path(project.folder), data)
    if latest:
        id = latest_of(kept, name, file)
        if id is None:
            raise UsageError(f"there is no session of {name} to continue. Leave -c out to open one.")
    if look:
        log, loaded = None, parse_log((kept.data(id) if id else None) or b"")
    else:
        log = kept.open(id := id or new_id(name), wait=wait, waiting=waiting)
        loaded = log.loaded
    id = id or new_id(name)
    try:
        session = _wired(agent, project, id, log, loaded, overrides, given or {}, environ, observers, clock, payload, file)
    except BaseException:
        if log is not None:
            _leave(log, unused=loaded.empty)
        raise
    if log is not None:
        session.store = kept
        session.wires.keep_file = lambda handle, text: kept.keep(session.id, handle, text)
    return session


def _leave(log: Log, *, unused: bool) -> None:
    """Close a log; one in which nothing was said goes, where the store lets it."""
    with contextlib.suppress(SessionError):
        log.close(discard=unused)


def _wired(
    agent: Agent, project: Project, id: str, log: Log | None, loaded: Loaded, overrides: Overrides, given: Mapping[str, Any],
    environ: Mapping[str, str], observers: Iterable[Observer], clock: Callable[[], str], payload: bool, file: str,
) -> Session:  # fmt: skip
    journal = Journal(log or NoLines(), loaded.entries, clock, Redactor(environ), observers)
    spec = agent.spec

    def record(event: Event) -> Entry:
        return journal.record(event, spec.name)

    start: list[Entry] = []
    journal.observers.append(start.append)
    wires = Wires(record, journal.state, clock, environ, time.monotonic, dry=log is None, payload=payload)
    wires.last_inputs = next((e.event.inputs for e in reversed(loaded.entries) if isinstance(e.event, TurnStarted)), {})
    if log is None and agent.summarizer is not None:  # no model is asked for what is only looked at
        agent.summarizer = replace(agent.summarizer, model=model_for(ModelSpec("offline"), "", {}), name="simulated")
    session = Session(id, agent, project, journal, wires, environ, given, log, overrides, loaded.empty)
    session._stamps = _stamps(project)
    opened = journal.state.session
    if opened is None:
        record(
            SessionOpened(
                session=id, model=spec.model.model, provider=agent.provider, policy=str(spec.policy),
                tokenizer=agent.counter.name, exact=agent.counter.exact, spec=spec.fingerprint(), keys=spec.digest(), file=file,
            )
        )  # fmt: skip
    else:
        owner = loaded.entries[0].agent
        if owner != spec.name:
            raise UsageError(f'session {id} belongs to agent "{owner}", not "{spec.name}". Take another --session.')
        _heal(session, loaded)
        current = journal.state.spec
        if current is not None and current.spec != spec.fingerprint():
            _record_change(wires, dict(current.keys), agent)
        if current is not None:
            recount(agent, wires, current.tokenizer)
        _skip(agent, wires, loaded.entries)
    journal.observers.remove(start.append)
    session.start = start
    return session


def _skip(agent: Agent, wires: Wires, entries: Iterable[Entry]) -> None:
    """Let scripted models go on behind what they have said in the log."""
    answers = sum(1 for m in wires.history(agent).messages.values() if m.role == "assistant")
    written = sum(e.event.requests for e in entries if isinstance(e.event, SummaryMade))
    said: list[tuple[Any, int]] = [(agent.model, answers)]
    if agent.summarizer is not None:
        shared = agent.summarizer.model is agent.model
        said = [(agent.model, answers + written)] if shared else [*said, (agent.summarizer.model, written)]
    for model, replies in said:
        skip = getattr(model, "skip", None)
        if skip is not None:
            skip(replies)


def _heal(session: Session, loaded: Loaded) -> None:
    """Say what was mended in the log, and close a turn that a crash left open."""
    record: Record = session.wires.record
    if loaded.torn:
        record(SessionHealed(what="torn_line", bytes=len(loaded.torn), detail=loaded.torn[:200].decode("utf-8", "replace")))
        session.notices.append(
            f"session {session.id}: the last line was torn; {len(loaded.torn):,} bytes of an unfinished event were cut off"
        )
    if loaded.unreadable:
        record(SessionHealed(what="unreadable_lines", bytes=loaded.unreadable))
        session.notices.append(
            f"session {session.id}: {loaded.unreadable:,} bytes in the middle of the log can't be read; they were left in place"
        )
    if session.journal.state.running:
        record(SessionHealed(what="open_turn", detail=f"turn {session.journal.state.turn}"))
        close_turn(session.agent, session.wires, "interrupted", "the program ended before the turn did")
        session.notices.append(
            f"session {session.id}: turn {session.journal.state.turn} was interrupted; it was closed so that the history is legal"
        )


def _record_change(wires: Wires, before: Mapping[str, Any], agent: Agent) -> None:
    after = agent.spec.digest()
    difference = {key: (before.get(key), after.get(key)) for key in {**before, **after} if before.get(key) != after.get(key)}
    wires.record(
        SpecChanged(
            difference=difference,
            spec=agent.spec.fingerprint(),
            keys=after,
            model=agent.spec.model.model,
            provider=agent.provider,
            policy=str(agent.spec.policy),
            tokenizer=agent.counter.name,
            exact=agent.counter.exact,
        )
    )


def recount(agent: Agent, wires: Wires, tokenizer: str) -> None:
    """Count the window anew when the tokenizer is another one; counts in the log are the old one's."""
    agent.kinds.clear()
    if tokenizer == agent.counter.name:
        return
    history = wires.history(agent)
    for id in history.window():
        message = history.messages[id]
        stand_in = history.overrides.get(id)
        history.tokens[id] = agent.counter.message(message.with_text(wires.state.texts[stand_in].text) if stand_in else message)
    history.rebuild()


def _with_dotenv(environ: dict[str, str], folder: str) -> dict[str, str]:
    """The environment with a `.env` beside the spec behind it: what is set already wins."""
    path = Path(folder) / ".env"
    if not path.is_file():
        return environ
    from ctxeng_cli.models.keys import read_dotenv

    return {**read_dotenv(path), **environ}


def _stamp(file: str) -> tuple[int, int]:
    try:
        stat = os.stat(file)
        return stat.st_mtime_ns, stat.st_size
    except OSError:
        return 0, 0


def _stamps(project: Project) -> dict[str, tuple[int, int]]:
    return {file: _stamp(file) for file in project.files}


async def run_cancellable(session: Session, text: str) -> Outcome:
    """One turn that Ctrl-C cancels: the turn's task is cancelled, the turn ends in order."""
    import signal

    task = asyncio.ensure_future(session.say(text))
    loop = asyncio.get_running_loop()
    try:
        loop.add_signal_handler(signal.SIGINT, task.cancel)
    except (NotImplementedError, RuntimeError):
        return await task
    try:
        return await task
    finally:
        loop.remove_signal_handler(signal.SIGINT)
