"""What a turn is handed from outside, and what an agent is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxeng_cli.assembly import Template
from ctxeng_cli.core.errors import CtxengError
from ctxeng_cli.core.history import History, State
from ctxeng_cli.core.messages import system, user
from ctxeng_cli.core.ports import Model, Record, Tool
from ctxeng_cli.core.request import Request, ToolDefinition
from ctxeng_cli.core.tokens import Counter
from ctxeng_cli.spec import AgentSpec, Policy
from ctxeng_cli.window import Pins

if TYPE_CHECKING:
    from ctxeng_cli.window.langchain4j import Memory


class Unsent(CtxengError):
    """The request was assembled and, as asked, not sent."""


@dataclass(frozen=True, slots=True)
class Summarizer:
    """Who writes an agent's summaries. `room` is what one of its requests may hold besides the instructions, in tokens."""

    model: Model
    name: str
    instructions: str
    parameters: Mapping[str, Any]
    room: int

    def request(self, body: str) -> Request:
        """A request of plain text alone: no tool messages, no tools."""
        return Request((system(self.instructions), user(body)), parameters=dict(self.parameters))


@dataclass(slots=True)
class Agent:
    """A wired agent: its spec, what answers, what can be called, how it counts."""

    spec: AgentSpec
    model: Model
    tools: Mapping[str, Tool]
    counter: Counter
    system: Template | None
    user: Template | None
    provider: str = "openai"
    """Whose protocol rules its requests follow."""
    context_window: int | None = None
    max_output: int | None = None
    """What the model's window holds and what it answers at most, in tokens, where that is known."""
    kinds: dict[str, dict[str, int]] = field(default_factory=dict)
    """Message id → tokens by kind of part, counted once."""
    weights: dict[str, int] = field(default_factory=dict)
    """Tool name → tokens of its definition, counted once."""

    pins: Pins | None = None
    """What of its history is pinned; made with the first request."""
    memory: Memory | None = None
    """Another framework's memory, where the policy is compatible with one; made with the first request."""
    summarizer: Summarizer | None = None
    limit: Callable[..., Any] | None = None
    """The function that answers the window's limit, where the policy names one."""
    policy: Policy | None = None
    """The policy of the running turn, where the spec's leaves its limit to a function."""

    def weight(self, tool: ToolDefinition) -> int:
        """The tokens of one of its tools' definitions."""
        if tool.name not in self.weights:
            self.weights[tool.name] = self.counter.tool(tool)
        return self.weights[tool.name]


@dataclass(slots=True)
class Wires:
    """The edges: the record, the state that it folds into, the clock, the environment. `dry` stops before the wire."""

    record: Record
    state: State
    clock: Callable[[], str]
    environ: Mapping[str, str]
    timer: Callable[[], float]
    """Seconds of a monotonic clock, for durations."""
    dry: bool = False
    payload: bool = False
    """Put the exact body of each request into `request.sent`, for `--payload`; it is not stored."""
    last_inputs: Mapping[str, Any] = field(default_factory=dict)
    """The inputs of the session's last turn: what a new turn has where nothing else is given."""
    keep_file: Callable[[str, str], None] | None = None
    """Writes a text that was offloaded, by its handle, into a file. Raises SessionError."""

    def history(self, agent: Agent) -> History:
        return self.state.history(agent.spec.name)
