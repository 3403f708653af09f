"""What a window looks like: the parts of a request with tokens, source and state. A fold over the log, for the eyes.

`context` answers the object that `inspect-context --json` prints, from a folded state alone; screens draw the same
value. The parts that are in add up to `used`; a message's parts add up to its count; what is left is `overhead`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ctxeng_cli.core.budget import Reason
from ctxeng_cli.core.errors import InputError
from ctxeng_cli.core.events import Finding, RequestSent, Source, StageFinished
from ctxeng_cli.core.history import UNCALIBRATED, Calibration, History, State
from ctxeng_cli.core.messages import Message, expand, summary
from ctxeng_cli.core.request import Request, ToolDefinition, openai_message
from ctxeng_cli.core.tokens import Counter

_STATES = {
    "evict": "evicted", "clear": "cleared", "cap": "capped", "offload": "offloaded",
    "summarize": "summarized", "replace": "replaced", "drop": "dropped",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a request, or a ghost of one. `message` is the id of the message that it belongs to."""

    id: str
    kind: str
    role: str | None
    source: Source
    message: str | None
    tokens: int
    state: str
    reason: Reason | None
    preview: str
    text: str


@dataclass(frozen=True, slots=True)
class Context:
    """An assembled window: what `inspect-context` shows."""

    agent: str
    session: str
    turn: int
    request: int
    model: str
    provider: str
    tokenizer: str
    exact: bool
    budget: Mapping[str, Any]
    parts: tuple[Part, ...]
    stages: tuple[StageFinished, ...]
    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...]
    lint: tuple[Finding, ...]
    parameters: Mapping[str, Any]
    marks: tuple[str, ...] = ()
    calibration: Calibration = UNCALIBRATED


def rebuild(state: State, agent: str, sent: RequestSent) -> Request:
    """The request as it went out, from the log alone; its fingerprint equals `sent.fingerprint`.

    Raises InputError where the log has lost what the request names.
    """
    import json

    history = state.history(agent)
    lost = sorted(_named(sent) - history.messages.keys() - state.texts.keys())
    if lost:
        raise InputError(f"request {sent.request} can't be shown: the log has lost {', '.join(lost[:8])}")
    messages: list[Message] = []
    tools: list[ToolDefinition] = []
    for ref in expand(sent.parts):
        id, _, stand_in = ref.partition("=")
        if id.startswith("#"):
            defined = state.texts[id]
            if defined.part == "tools":
                try:
                    body = json.loads(defined.text)
                    tools.append(
                        ToolDefinition(body["name"], body["description"], body["parameters"], dict(body.get("extra", {})))
                    )
                except (ValueError, TypeError, KeyError):
                    raise InputError(f"request {sent.request} can't be shown: {id} is no tool's definition") from None
            elif defined.part == "summary":
                messages.append(summary(defined.text))
        else:
            message = history.messages[id]
            messages.append(message.with_text(state.texts[stand_in].text) if stand_in else message)
    return Request(tuple(messages), tuple(tools), None, dict(sent.parameters), sent.marks)


def _named(sent: RequestSent) -> set[str]:
    """All ids and hashes that a request names."""
    return {name for ref in expand(sent.parts) for name in ref.split("=")}


def context(state: State, agent: str, sent: RequestSent, turn: int, counter: Counter) -> Context:
    """The window of one request. `state` is the log folded up to that request."""
    history = state.history(agent)
    request = rebuild(state, agent, sent)
    parts: list[Part] = []

    def add(kind: str, role: str | None, source: Source, message: str | None, tokens: int, text: str,
            state: str = "in", reason: Reason | None = None) -> None:  # fmt: skip
        preview = " ".join(text[:400].split())[:160]
        parts.append(Part(f"p{len(parts) + 1}", kind, role, source, message, tokens, state, reason, preview, text))

    sent_ids = {ref.partition("=")[0] for ref in expand(sent.parts) if not ref.startswith("#")}
    for ref in expand(sent.parts):
        if ref.startswith("#") and state.texts[ref].part != "summary":
            defined = state.texts[ref]
            add(defined.part, None, defined.source or Source(), None, defined.tokens, defined.text)
    stand_ins = dict(ref.split("=", 1) for ref in expand(sent.parts) if "=" in ref)
    order = [id for id, m in history.messages.items() if m.role == "system"]
    order += [ref for ref in expand(sent.parts) if ref.startswith("#") and state.texts[ref].part == "summary"]
    order += [id for id, m in history.messages.items() if m.role != "system"]
    question = _question(history, sent_ids)
    for id in order:
        if id.startswith("#"):
            defined = state.texts[id]
            add("summary", "user", defined.source or Source(), None, defined.tokens, defined.text)
            continue
        message = history.messages[id]
        if id in sent_ids:
            here = history.capped.get(id)
            shown = message.with_text(state.texts[stand_ins[id]].text) if id in stand_ins else message
            status, reason = (_STATES[here.op], here.reason) if here and id in stand_ins else ("in", None)
        elif id in history.ghosts:
            ghost = history.ghosts[id]
            shown, status, reason = message, _STATES[ghost.op], ghost.reason
        else:
            continue  # added after this request
        source = history.sources.get(id, Source(message=id))
        total = history.tokens[id] if id not in stand_ins else counter.message(shown)
        calls = [(call, counter.call(call.name, call.arguments)) for call in message.tool_calls]
        kind = "user" if id == question else {"system": "system", "tool": "tool_result"}.get(message.role, "history")
        if not calls or shown.text or total > sum(n for _, n in calls):
            add(kind, message.role, source, id, total - sum(n for _, n in calls), shown.text, status, reason)
        for call, tokens in calls:
            add("tool_call", message.role, source, id, tokens, f"{call.name}({call.arguments})", status, reason)
    overhead = int(sent.tokens.get("overhead", 0))
    add("overhead", None, Source(), None, overhead, "")
    opened, spec = state.session, state.spec
    return Context(
        agent=agent,
        session=opened.session if opened else "",
        turn=turn,
        request=sent.request,
        model=spec.model if spec else "",
        provider=spec.provider if spec else "openai",
        tokenizer=counter.name,
        exact=counter.exact,
        budget=sent.budget,
        parts=tuple(parts),
        stages=tuple(history.stages),
        messages=request.messages,
        tools=request.tools,
        lint=sent.lint,
        parameters=dict(sent.parameters),
        marks=sent.marks,
        calibration=history.calibration,
    )


def request_of(view: Context) -> Request:
    """The request behind a view."""
    return Request(view.messages, view.tools, None, view.parameters, view.marks)


def _question(history: History, sent: set[str]) -> str | None:
    """The running question: the last user message of the request."""
    return next((id for id in reversed(history.messages) if id in sent and history.messages[id].role == "user"), None)


def _calibration(calibration: Calibration) -> dict[str, Any] | None:
    if not calibration.calls:
        return None
    return {"ratio": round(calibration.ratio, 3), "calls": calibration.calls}


def context_json(view: Context) -> dict[str, Any]:
    """The contract's `ctxeng.context/1` object."""
    from ctxeng_cli.core.codec import plain

    has_images = any(m["content"].__class__ is list for m in map(openai_message, view.messages))
    return {
        "schema": "ctxeng.context/1",
        "agent": view.agent,
        "session": view.session,
        "turn": view.turn,
        "request": view.request,
        "model": view.model,
        "provider": view.provider,
        "tokenizer": {
            "name": view.tokenizer,
            "exact": view.exact and not view.tools and not has_images,
            "frame": Counter("", True).frame,
            "calibration": _calibration(view.calibration),
        },
        "budget": dict(view.budget),
        "parts": [
            {
                "id": p.id,
                "kind": p.kind,
                "role": p.role,
                "source": plain(p.source),
                "message": p.message,
                "tokens": p.tokens,
                "state": p.state,
                "reason": None if p.reason is None else plain(p.reason),
                "preview": p.preview,
            }
            for p in view.parts
        ],
        "stages": [plain(stage) for stage in view.stages],
        "messages": [openai_message(m) for m in view.messages],
        "tools": [tool.openai() for tool in view.tools],
        "lint": [plain(finding) for finding in view.lint],
    }
