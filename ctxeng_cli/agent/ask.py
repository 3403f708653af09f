"""Build one request from the history, record it, send it, record the answer."""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections.abc import Callable
from dataclasses import replace

from ctxeng_cli.agent.offloaded import equipped
from ctxeng_cli.agent.summary import drive
from ctxeng_cli.agent.wires import Agent, Unsent, Wires
from ctxeng_cli.core.budget import Budget
from ctxeng_cli.core.errors import Overflow
from ctxeng_cli.core.events import (
    Event,
    MessageAdded,
    ModelAnswered,
    ModelDelta,
    PartDefined,
    RequestSent,
    Source,
    StageFinished,
    WindowEdited,
)
from ctxeng_cli.core.history import History
from ctxeng_cli.core.messages import Message, ToolCall, assistant, expand, ranges
from ctxeng_cli.core.ports import Answer
from ctxeng_cli.core.request import Request, ToolDefinition, text_hash
from ctxeng_cli.core.tokens import PRIMING
from ctxeng_cli.lint import check
from ctxeng_cli.window import Held, Hold, Pins, budgets_of, memory_of, shown
from ctxeng_cli.window.cache import marks


class Partial(Exception):
    """A model's answer was cut off. `text` is what had come; the cause is what cut it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


async def ask(agent: Agent, wires: Wires, *, round: int, final: bool) -> Message:
    """Bring the window under its budget, send the request, record and answer what the model said.

    `final`: without tools. Before the first request of a turn the policy's `overflow` decides what happens when the floor
    does not fit; afterwards nothing is lost: results are shortened in the request, and if that is not enough the tools stay
    away (SPEC 3).
    """
    tools = () if final else tuple(tool.definition for tool in equipped(agent, wires).values())
    budgets = budgets_of(agent.policy or agent.spec.policy, agent.context_window, agent.max_output, agent.provider)
    window = None
    for budget in budgets:
        tools, window = await _fit(agent, wires, budget, tools, first=round == 1)
    request = _record_request(agent, wires, budgets[0], tools, round, window)
    if wires.dry:
        raise Unsent("not sent")
    return await _send(agent, wires, request)


async def _fit(
    agent: Agent, wires: Wires, budget: Budget, tools: tuple[ToolDefinition, ...], *, first: bool
) -> tuple[tuple[ToolDefinition, ...], tuple[str, ...] | None]:
    """Hold the window under a budget; answers the tools that may stay, and the order of the window where it is not ours."""
    history = wires.history(agent)
    fixed = _fixed(agent, tools)
    before = history.window_tokens + fixed
    started = wires.timer()
    policy, texts, turn = agent.policy or agent.spec.policy, wires.state.texts, wires.state.turn
    if agent.pins is None:
        agent.pins = Pins(policy.pin)
        agent.memory = memory_of(policy, agent.spec.model.model)
    hold = Hold(history, policy, _recorder(agent, wires), agent.counter.text, texts, turn, agent.pins, agent.memory)
    try:
        held = await drive(agent, wires, hold.under(budget, fixed=fixed, first=first))
    except Overflow:
        _stage(wires, before, before, started, "overflow")
        raise
    if held.over and not first:
        tools = ()
        fixed = _fixed(agent, tools)
    after = history.window_tokens + fixed
    if first or held.evicted or before != after:
        _stage(wires, before, after, started, _detail(held, budget, first))
    return tools, held.window


def _recorder(agent: Agent, wires: Wires) -> Callable[[Event], object]:
    def record(event: Event) -> None:
        if isinstance(event, WindowEdited):
            for edit in event.edits:
                if edit.text:  # another text stands in: what was counted by kind is not so any more
                    for id in edit.messages:
                        agent.kinds.pop(id, None)
                        if edit.op == "offload" and wires.keep_file is not None:
                            wires.keep_file(id, wires.history(agent).messages[id].text)
        wires.record(event)

    return record


def _detail(held: Held, budget: Budget, first: bool) -> str:
    if held.over and first:
        return f"{held.over:,} {budget.unit} over the limit, sent all the same (overflow=keep)"
    return f"{held.evicted} {'message' if held.evicted == 1 else 'messages'} evicted" if held.evicted else ""


def _stage(wires: Wires, before: int, after: int, started: float, detail: str) -> None:
    duration = round((wires.timer() - started) * 1000, 3)
    wires.record(
        StageFinished(
            stage="window", changed=before != after, tokens_before=before, tokens_after=after, duration_ms=duration, detail=detail
        )
    )


def _fixed(agent: Agent, tools: tuple[ToolDefinition, ...]) -> int:
    """Tokens of what is sent besides the window's messages."""
    return sum(agent.weight(tool) for tool in tools) + agent.counter.tools_overhead(tools) + PRIMING


def _record_request(
    agent: Agent,
    wires: Wires,
    budget: Budget,
    tools: tuple[ToolDefinition, ...],
    round: int,
    order: tuple[str, ...] | None,
) -> Request:
    history, state = wires.history(agent), wires.state
    tokens: Tally[str] = Tally()
    refs: list[str] = []
    for tool in tools:
        text = json.dumps({"name": tool.name, "description": tool.description, "parameters": tool.parameters}, ensure_ascii=False)
        hash = text_hash(text)
        if hash not in state.texts:
            wires.record(
                PartDefined(
                    hash=hash, part="tools", source=Source(key=f"tools.{tool.name}"), text=text, tokens=agent.weight(tool)
                )
            )
        tokens["tools"] += state.texts[hash].tokens
        refs.append(hash)
    window = history.window() if order is None else order
    question = history.exchanges[-1].question if history.exchanges else None
    for id in window:
        for kind, count in _kinds(agent, history, id).items():
            tokens["user" if id == question else kind] += count
    if history.summary is not None:
        tokens["summary"] = history.summary_tokens
    messages, named = shown(history, state.texts, window=order)
    refs += named
    tokens["overhead"] = PRIMING + agent.counter.tools_overhead(tools)
    request = Request(tuple(messages), tools, None, agent.spec.model.parameters, _marks(agent, wires, refs, len(tools)))
    used = tokens.total()
    wires.record(
        RequestSent(
            request=history.requests + 1,
            round=round,
            window=ranges(window),
            parts=ranges(tuple(refs)),
            tokens=dict(tokens),
            budget=_budget(budget, used, history.window_count),
            tools=tuple(tool.name for tool in tools),
            parameters=dict(request.parameters),
            marks=request.marks,
            stable_prefix_tokens=_stable(history, wires, refs),
            fingerprint=request.fingerprint,
            lint=check(
                request,
                provider=agent.provider,
                tokens=used,
                context_window=agent.context_window,
                rewritten=frozenset(ref.partition("=")[0] for ref in named if "=" in ref),
            ),
            payload=request.payload() if wires.payload else None,
        )
    )
    return request


def _kinds(agent: Agent, history: History, id: str) -> dict[str, int]:
    """A message's tokens by kind of part; they add up to its count."""
    if id not in agent.kinds:
        message, total = history.messages[id], history.tokens[id]
        calls = sum(agent.counter.call(call.name, call.arguments) for call in message.tool_calls)
        kind = {"system": "system", "tool": "tool_result"}.get(message.role, "history")
        agent.kinds[id] = {kind: total - calls, **({"tool_call": calls} if calls else {})}
    return agent.kinds[id]


def _budget(budget: Budget, used: int, count: int) -> dict[str, object]:
    in_unit = used if budget.unit == "tokens" else count
    room = budget.room
    free = None if room is None else room - in_unit
    return {
        "unit": budget.unit,
        "limit": budget.limit,
        "reserve": budget.reserve,
        "used": in_unit,
        "free": free,
        "used_tokens": used,
    }


def _marks(agent: Agent, wires: Wires, refs: list[str], tools: int) -> tuple[str, ...]:
    """The marks for the prompt cache, where the provider wants them."""
    if agent.provider != "anthropic" or agent.spec.model.cache != "auto":
        return ()
    history, texts = wires.history(agent), wires.state.texts
    before = expand(history.last_request.parts) if history.last_request else ()

    def weigh(ref: str) -> int:
        return texts[ref].tokens if ref.startswith("#") else history.tokens[ref.partition("=")[0]]

    return marks(before, refs, tools, history.system, weigh)


def _stable(history: History, wires: Wires, refs: list[str]) -> int:
    """Tokens of the longest prefix that this request shares with the one before."""
    if history.last_request is None:
        return 0
    total = 0
    for before, now in zip(expand(history.last_request.parts), refs, strict=False):
        if before != now:
            break
        total += wires.state.texts[now].tokens if now.startswith("#") else history.tokens[now.partition("=")[0]]
    return total


async def _send(agent: Agent, wires: Wires, request: Request) -> Message:
    said: list[str] = []

    def signal(event: Event) -> None:
        if isinstance(event, ModelDelta):
            said.append(event.text)
        wires.record(event)

    started = wires.timer()
    try:
        answer = await agent.model.answer(request, signal)
    except BaseException as error:
        raise Partial("".join(said)) from error
    message = assistant(answer.text, _calls(answer, wires, agent))
    added = wires.record(MessageAdded(message=message, tokens=agent.counter.message(message))).event
    assert isinstance(added, MessageAdded)
    duration = round(wires.timer() - started, 3)
    wires.record(
        ModelAnswered(
            message=added.message.id,
            usage=answer.usage,
            cost=answer.cost,
            duration_s=duration,
            finish_reason=answer.finish_reason,
            served=answer.served,
        )
    )
    return added.message


def _calls(answer: Answer, wires: Wires, agent: Agent) -> tuple[ToolCall, ...]:
    """The calls with ids that are there and differ; a model that leaves them out gets ours."""
    seen: set[str] = set()
    calls = []
    for n, call in enumerate(answer.tool_calls, 1):
        id = call.id if call.id and call.id not in seen else f"call_{wires.history(agent).requests}_{n}"
        seen.add(id)
        calls.append(replace(call, id=id))
    return tuple(calls)
