"""The turn: from a person's text to an answer, or to a failure that leaves a legal history."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ctxeng_cli.agent.ask import Partial, ask
from ctxeng_cli.agent.limit import set_limit
from ctxeng_cli.agent.offloaded import equipped
from ctxeng_cli.agent.round import run_calls
from ctxeng_cli.agent.wires import Agent, Unsent, Wires
from ctxeng_cli.assembly import Clock, render, variables
from ctxeng_cli.core.budget import Edit, Reason
from ctxeng_cli.core.errors import CtxengError, HookError, ModelError, Overflow, SessionError, SpecError
from ctxeng_cli.core.events import (
    Event,
    MessageAdded,
    Source,
    StageFinished,
    TurnCancelled,
    TurnFailed,
    TurnFinished,
    TurnStarted,
    WindowEdited,
)
from ctxeng_cli.core.messages import Message, assistant, system, tool_result, user
from ctxeng_cli.window import start


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended. `text` is the answer, or the sentence that says why there is none; `error` is its kind."""

    state: Literal["answered", "limit", "failed", "cancelled", "unsent"]
    text: str
    error: str | None = None


async def take_turn(agent: Agent, text: str, inputs: Mapping[str, Any], wires: Wires) -> Outcome:
    """Run one turn. Never raises: an error, or the task's cancellation, ends in `turn.failed` with a legal history.

    Where the store can't be written, the outcome says so (`store`), and the turn is closed before the next one, or when the
    session is opened again.
    """
    clock = wires.clock()
    try:
        return await _turn(agent, text, inputs, clock, wires)
    except SessionError as error:
        return Outcome("failed", f"{error.message.rstrip('.')}. What was recorded before stands.", "store")


async def _turn(agent: Agent, text: str, inputs: Mapping[str, Any], clock: str, wires: Wires) -> Outcome:
    """The turn. Raises SessionError alone: where nothing can be recorded, there is no legal end to be recorded either."""
    wires.record(TurnStarted(inputs=dict(inputs), clock=clock))
    wires.last_inputs = dict(inputs)
    try:
        _assemble(agent, text, variables(agent.spec, inputs, Clock(clock), wires.environ), wires)
        await set_limit(agent, wires, inputs)
        return await _loop(agent, wires)
    except Unsent:
        return Outcome("unsent", "")
    except Partial as partial:
        _keep(agent, wires, partial.text)
        return _fail(agent, wires, partial.__cause__ or partial)
    except BaseExceptionGroup as group:  # out of a round's task group
        return _fail(agent, wires, group.exceptions[0])
    except (Exception, asyncio.CancelledError) as error:
        return _fail(agent, wires, error)


async def _loop(agent: Agent, wires: Wires) -> Outcome:
    round = 1
    while True:
        final = round > agent.spec.max_rounds and bool(equipped(agent, wires))
        message = await ask(agent, wires, round=round, final=final)
        if not message.tool_calls:
            limit = "max_rounds" if final else None
            wires.record(TurnFinished(text=message.text, message=message.id, limit=limit))
            return Outcome("limit" if limit else "answered", message.text)
        if final:
            _close_calls(agent, wires, f"not run: the limit of {agent.spec.max_rounds} rounds is reached")
            wires.record(TurnFinished(text=message.text, message=message.id, limit="max_rounds"))
            return Outcome("limit", message.text)
        await run_calls(agent, wires, message.tool_calls)
        round += 1


# -- assembly: the stages before the window --------------------------------------------------------------------------


def _assemble(agent: Agent, text: str, values: dict[str, str], wires: Wires) -> None:
    """Render the system message and the person's text, then let both join the history. A fault leaves no message."""
    history = wires.history(agent)
    started = wires.timer()
    instruction = None if agent.system is None else render(agent.system, values)
    before = history.messages[history.system].text if history.system else ""
    _stage(agent, wires, "system", before, instruction or "", started)
    started = wires.timer()
    question = text if agent.user is None else render(agent.user, {**values, "it": text})
    if agent.user is not None:
        _stage(agent, wires, "user_template", text, question, started)
    edits = start(history, agent.spec.policy, wires.state.turn)
    if edits:
        wires.record(WindowEdited(edits=edits))
    if instruction is not None and (not history.system or instruction != before):
        source = agent.system.source if agent.system else None
        where = Source(file=source.file, line=source.line, key="system") if source else None
        _add(agent, wires, system(instruction), source=where)
    elif instruction is None and history.system:
        reason = Reason("system.removed", None, None, wires.state.turn)
        wires.record(WindowEdited(edits=(Edit("replace", (history.system,), history.tokens[history.system], reason),)))
    _add(agent, wires, user(question))


def _stage(agent: Agent, wires: Wires, name: str, before: str, after: str, started: float) -> None:
    wires.record(
        StageFinished(
            stage=name,
            changed=before != after,
            tokens_before=agent.counter.text(before),
            tokens_after=agent.counter.text(after),
            duration_ms=round((wires.timer() - started) * 1000, 3),
        )
    )


def _add(agent: Agent, wires: Wires, message: Message, *, partial: bool = False, source: Source | None = None) -> None:
    wires.record(MessageAdded(message=message, tokens=agent.counter.message(message), partial=partial, source=source))


# -- a legal end -----------------------------------------------------------------------------------------------------


def _keep(agent: Agent, wires: Wires, text: str) -> None:
    """Keep what a model had said before it was cut off, marked as partial."""
    if text:
        _add(agent, wires, assistant(text), partial=True)


def _fail(agent: Agent, wires: Wires, error: BaseException) -> Outcome:
    cancelled = isinstance(error, asyncio.CancelledError | KeyboardInterrupt)
    if cancelled:
        wires.record(TurnCancelled())
    kind, message = _described(error)
    close_turn(agent, wires, kind, message)
    return Outcome("cancelled" if cancelled else "failed", message, kind)


def _described(error: BaseException) -> tuple[str, str]:
    if isinstance(error, asyncio.CancelledError | KeyboardInterrupt):
        return "cancelled", "cancelled"
    if isinstance(error, ModelError):
        return f"model.{error.kind}", error.message
    if isinstance(error, Overflow):
        return "window.overflow", error.message
    if isinstance(error, SpecError):
        return "spec", str(error)
    if isinstance(error, HookError):
        return "hook", error.message
    if isinstance(error, SessionError):
        return "store", error.message
    if isinstance(error, CtxengError):
        return "error", str(error)
    return "internal", f"{type(error).__name__}: {error}"


def close_turn(agent: Agent, wires: Wires, kind: str, message: str) -> None:
    """End a turn that has no answer: every open call gets a result that says so; where no model has answered, the
    turn's messages leave and what it evicted comes back, so that the history is as it was."""
    _close_calls(agent, wires, f"not run to its end: {kind}")
    state, history = wires.state, wires.history(agent)
    edits: list[Event] = []
    if not state.answered:
        reason = Reason("turn.failed", None, None, state.turn)
        mine = tuple(id for id in state.turn_messages if id not in history.ghosts)
        gone = tuple(id for edit in state.turn_edits if edit.op in ("evict", "replace", "summarize") for id in edit.messages)
        replaced = tuple(id for id, ghost in history.ghosts.items() if ghost.op == "replace" and ghost.reason.turn == state.turn)
        back = tuple(dict.fromkeys(id for id in (*gone, *replaced) if id not in mine))
        both = []
        if mine:
            both.append(Edit("drop", mine, sum(history.tokens[id] for id in mine), reason))
        if history.summary != state.turn_summary and state.turn_summary is None:
            both.append(Edit("drop", (), history.summary_tokens, reason, history.summary))
        if back or (history.summary != state.turn_summary and state.turn_summary is not None):
            text = state.turn_summary if history.summary != state.turn_summary else None
            both.append(Edit("restore", back, sum(history.tokens[id] for id in back), reason, text))
        if both:
            edits.append(WindowEdited(edits=tuple(both)))
    for event in edits:
        wires.record(event)
    kept = tuple(id for id in state.turn_messages if id not in history.ghosts)
    wires.record(TurnFailed(error=kind, message=message, kept=kept))


def _close_calls(agent: Agent, wires: Wires, why: str) -> None:
    """One result for each call that has none: the one that had already come, else a sentence that says why not."""
    for call in wires.history(agent).open_calls():
        came = wires.state.results.get(call.id)
        if came is not None and came.text is not None:
            _add(agent, wires, tool_result(call, came.text, is_error=came.is_error))
        else:
            _add(agent, wires, tool_result(call, f"{call.name} was {why}.", is_error=True))
