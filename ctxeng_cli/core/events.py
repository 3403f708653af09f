"""What can happen in a session, one frozen class each. The log is a list of these in envelopes (`Entry`).

An *input* could not be derived and must be in the log; a *decision* was computed and can be computed again; a *signal*
is only shown and never stored. Events hold data, no sentences and no colours. They refer to messages by id and to other
texts by hash (`part.defined`), they do not copy them. Names and fields: CONTRACT.md; the JSON schema of each is made
from these classes (docs/schemas/event.schema.json).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from ctxeng_cli.core.budget import Edit
from ctxeng_cli.core.messages import Message

Kind = Literal["input", "decision", "signal"]
SCHEMA = "ctxeng.event/1"


@dataclass(frozen=True, slots=True)
class Source:
    """Where a part comes from: a file and line, a key of the spec, a message, a hook. What does not apply is None."""

    file: str | None = None
    line: int | None = None
    key: str | None = None
    message: str | None = None
    hook: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call as the model reports them. `input` includes the cached ones."""

    input: int = 0
    output: int = 0
    cached: int = 0
    cache_write: int = 0


@dataclass(frozen=True, slots=True)
class Finding:
    """What the lint says of a request: a rule's code, its severity, our words, the provider's as a prediction, the part."""

    code: str
    severity: Literal["error", "warning"]
    message: str
    provider_says: str = ""
    part: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """The root of all events. `type` is the name in the log, for ever."""

    type: ClassVar[str] = ""
    kind: ClassVar[Kind] = "input"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOpened(Event):
    """A session begins, with the agent on the envelope.

    `policy` is a policy string, `spec` the fingerprint of the agent's spec, `file` its path.
    """

    type: ClassVar[str] = "session.opened"
    session: str
    model: str
    provider: str = "openai"
    policy: str
    tokenizer: str
    exact: bool = True
    spec: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    """The agent's spec key by key, short (prompts as hashes): what a later change is told against."""
    file: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionHealed(Event):
    """The log was mended when it was opened: a torn line was cut off, or an unfinished turn was closed."""

    type: ClassVar[str] = "session.healed"
    what: Literal["torn_line", "unreadable_lines", "open_turn"]
    bytes: int = 0
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecChanged(Event):
    """The agent's spec, model, window or tokenizer is not what it was. `difference`: key → [before, after]."""

    type: ClassVar[str] = "spec.changed"
    difference: Mapping[str, tuple[Any, ...]]
    spec: str
    keys: Mapping[str, Any] = field(default_factory=dict)
    model: str
    provider: str = "openai"
    policy: str
    tokenizer: str
    exact: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    """A person's text has come. It is not in here: `message.added` holds it once it may be stored."""

    type: ClassVar[str] = "turn.started"
    inputs: Mapping[str, Any]
    clock: str
    """ISO 8601 with offset: what `current_date` and `current_time` say in this turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFinished(Event):
    """A stage of the assembly (SPEC 2) is done. Tokens are those of the text that the stage works on."""

    type: ClassVar[str] = "stage.finished"
    kind: ClassVar[Kind] = "decision"
    stage: str
    changed: bool
    tokens_before: int
    tokens_after: int
    duration_ms: float
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAdded(Event):
    """A message joins the history. `partial` marks the text of an answer that was cut off."""

    type: ClassVar[str] = "message.added"
    message: Message
    tokens: int
    partial: bool = False
    source: Source | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PartDefined(Event):
    """A text that is sent and is no message of the history: a tool's definition, a shortened result. Once for each hash."""

    type: ClassVar[str] = "part.defined"
    kind: ClassVar[Kind] = "decision"
    hash: str
    part: str
    """The part's kind: tools, context, retrieved, format, tool_result, … (`kind` in the JSON)."""
    source: Source | None = None
    text: str
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowEdited(Event):
    """The window changed: what left, what was shortened, and by which rule. Edits in the order they were made."""

    type: ClassVar[str] = "window.edited"
    kind: ClassVar[Kind] = "decision"
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryMade(Event):
    """Older messages were put into one text, which stands in their place once `window.edited` says so.

    `messages` are those that it stands for (ranges), `absorbs` is the hash of the older summary that it takes in. `text` is
    what is sent, `tokens` its weight as a message, `hash` its reference. With `error` there is none, and nothing has left.
    `payloads` are the exact requests of the summarizer, for `--payload`; they are not stored.
    """

    type: ClassVar[str] = "summary.made"
    messages: tuple[str, ...]
    absorbs: str | None = None
    model: str
    hash: str | None = None
    text: str = ""
    tokens: int = 0
    requests: int = 0
    usage: Usage = Usage()
    cost: float | None = None
    duration_s: float = 0.0
    error: str | None = None
    payloads: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryStarted(Event):
    """A summary of these messages is being written: that may take as long as an answer."""

    type: ClassVar[str] = "summary.started"
    kind: ClassVar[Kind] = "signal"
    messages: tuple[str, ...]
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HookAnswered(Event):
    """A function of the person's own has answered: `hook` is where it stands (`memory.window`), `function` its name."""

    type: ClassVar[str] = "hook.answered"
    hook: str
    function: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestSent(Event):
    """What goes to the model now. Recorded before the wire.

    `window` lists the message ids, `parts` everything in order: `#hash` for a defined text, `m5` for a message,
    `m5=#hash` for a message whose text is replaced by a defined one. Both may hold ranges (`m3..m9`).
    `parameters` is what the request carries besides messages and tools. The payload can be rebuilt from these.
    """

    type: ClassVar[str] = "request.sent"
    kind: ClassVar[Kind] = "decision"
    request: int
    round: int
    window: tuple[str, ...]
    parts: tuple[str, ...]
    tokens: Mapping[str, int]
    """Tokens by kind of part; they add up to what the request uses."""
    budget: Mapping[str, Any] = field(default_factory=dict)
    """unit, limit, reserve, used, free."""
    tools: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    marks: tuple[str, ...] = ()
    """Where the provider's prompt cache is marked: ids of messages, and `tools`."""
    stable_prefix_tokens: int = 0
    fingerprint: str
    lint: tuple[Finding, ...] = ()
    payload: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelDelta(Event):
    """A piece of an answer, as it streams."""

    type: ClassVar[str] = "model.delta"
    kind: ClassVar[Kind] = "signal"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRetried(Event):
    """A call failed for a passing reason and is made again."""

    type: ClassVar[str] = "model.retried"
    kind: ClassVar[Kind] = "signal"
    reason: str
    wait_s: float
    attempt: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswered(Event):
    """A model has answered; `message` is the id of what it said. `cost` in US dollars, None where no price is known.

    `served` is the name under which the server answered, where that is another model than was asked for.
    """

    type: ClassVar[str] = "model.answered"
    message: str
    usage: Usage
    cost: float | None = None
    duration_s: float = 0.0
    finish_reason: str = "stop"
    served: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(Event):
    """A tool is about to run. `arguments` as the model wrote them."""

    type: ClassVar[str] = "tool.called"
    kind: ClassVar[Kind] = "decision"
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolReturned(Event):
    """A tool has answered. `preview` is the head of its result; the whole is in the message named by `message`, or in
    `text` where an earlier call of the round is still running, so that the message can't join the history yet."""

    type: ClassVar[str] = "tool.returned"
    id: str
    name: str
    preview: str
    is_error: bool
    duration_s: float
    tokens: int
    message: str | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCancelled(Event):
    """The person pressed Ctrl-C."""

    type: ClassVar[str] = "turn.cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFinished(Event):
    """The turn has its answer. `value` is the parsed output where one was asked for."""

    type: ClassVar[str] = "turn.finished"
    kind: ClassVar[Kind] = "decision"
    text: str
    value: Any = None
    message: str | None = None
    limit: str | None = None
    """The limit that ended the turn, where one did (`max_rounds`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnFailed(Event):
    """The turn has no answer. `kept` are the messages of this turn that stay in the history."""

    type: ClassVar[str] = "turn.failed"
    error: str
    message: str
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRequest(Event):
    """A recorded request under a policy. `pending`: the recording holds no answer to it. `evicted` are the messages that
    left since the request before, `summarized` counts the summaries that were made since; `overflow` says why what had to
    stay did not fit, where it did not."""

    type: ClassVar[str] = "replay.request"
    kind: ClassVar[Kind] = "signal"
    policy: str
    request: int
    pending: bool = False
    window: tuple[str, ...]
    tokens: int
    evicted: tuple[str, ...]
    stable_prefix_tokens: int
    lint: tuple[Finding, ...]
    overflow: str | None = None
    summarized: int = 0
    recorded_input: int | None = None
    """The input tokens that the recording says its own request had, cached ones included."""


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """What a recording comes to under one policy. Tokens of requests; `stable_prefix_share` is the part of all input tokens
    that stood in the request before, at the same place."""

    policy: str
    requests: int
    peak_tokens: int
    input_tokens: int
    evicted_messages: int
    summaries: int
    illegal_requests: int
    stable_prefix_share: float
    overflows: int = 0
    label: str | None = None
    """What must be known to read the row: `summaries: simulated`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySummary(Event):
    """The end of a replay: a row for each policy."""

    type: ClassVar[str] = "replay.summary"
    kind: ClassVar[Kind] = "signal"
    policies: tuple[PolicyRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown(Event):
    """An event of a newer version: kept as it is, counted and shown, never a reason to fail."""

    type: ClassVar[str] = "unknown"
    name: str
    data: Mapping[str, Any]


EVENTS: dict[str, type[Event]] = {
    cls.type: cls
    for cls in (
        SessionOpened, SessionHealed, SpecChanged, TurnStarted, StageFinished, MessageAdded, PartDefined, WindowEdited,
        SummaryStarted, SummaryMade, HookAnswered, RequestSent, ModelDelta, ModelRetried, ModelAnswered, ToolCalled, ToolReturned,
        TurnCancelled, TurnFinished, TurnFailed, ReplayRequest, ReplaySummary,
    )
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Entry:
    """An event in its envelope. `seq` grows; `at` is ISO 8601; `turn` is 0 before the first; `agent` is a path."""

    seq: int
    at: str
    turn: int
    agent: str
    event: Event
