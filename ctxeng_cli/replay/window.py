"""A window for a program of one's own: messages in, what should be sent out, by the code of a live session."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ctxeng_cli.core.budget import Edit
from ctxeng_cli.core.events import Entry, Event, Finding, MessageAdded, WindowEdited
from ctxeng_cli.core.history import History, State
from ctxeng_cli.core.request import Request, openai_message
from ctxeng_cli.core.tokens import PRIMING, counter_for
from ctxeng_cli.lint import check
from ctxeng_cli.replay.simulate import ROOM, written
from ctxeng_cli.spec import parse_policy
from ctxeng_cli.spec.policy import Offload, PolicyError
from ctxeng_cli.transcripts import openai_chat
from ctxeng_cli.window import Hold, Pins, Wanted, budgets_of, held, memory_of, shown, start
from ctxeng_cli.window.offload import READ, read_back
from ctxeng_cli.window.summarize import summarizing, summary_of


class Window:
    """A conversation under a window policy, in OpenAI's chat shape.

    `policy` is a policy string, `model` names the tokenizer, `tools` are tool definitions, which count too. `summarize`
    writes the summary of a text, for policies that want one: it should ask a model; unless it is given, sentences are
    picked. Raises PolicyError for a policy that can't be.
    """

    def __init__(
        self,
        policy: str,
        *,
        model: str = "gpt-4o",
        tools: Sequence[Mapping[str, Any]] = (),
        context_window: int | None = None,
        summarize: Callable[[str], str] | None = None,
    ) -> None:
        self._policy = parse_policy(policy)
        if self._policy.kind in ("python", "as-recorded"):
            raise PolicyError(f"{policy} can't be asked for its limit here; give tokens")
        self._budgets = budgets_of(self._policy, context_window, None)
        self._counter = counter_for(model)
        self._summarize, self._name = summarize, "summarize" if summarize else "simulated"
        self._tools = tuple(openai_chat.tool(tool, number) for number, tool in enumerate(tools, 1))
        if any(isinstance(step, Offload) for step in self._policy.pipeline):
            self._tools += (READ,)
        self._fixed = sum(map(self._counter.tool, self._tools)) + self._counter.tools_overhead(self._tools) + PRIMING
        self._state, self._pins, self._turn = State(), Pins(self._policy.pin), 0
        self._memory = memory_of(self._policy, model)
        self._order: tuple[str, ...] | None = None
        self.edits: tuple[Edit, ...] = ()
        """What the last `messages` changed: which messages left or were shortened, by which rule, at what measured value."""

    def add(self, body: Mapping[str, Any]) -> str:
        """Take a message in; answers its id. Raises InputError for what is no message."""
        message = openai_chat.message(body, self._state.last_message + 1).with_id(f"m{self._state.last_message + 1}")
        if message.role == "user":
            self._turn += 1
            self._state.unsummarized = False
            edits = start(self._history, self._policy, self._turn)
            if edits:
                self._record(WindowEdited(edits=edits))
        self._record(MessageAdded(message=message, tokens=self._counter.message(message)))
        return message.id

    def messages(self) -> list[dict[str, Any]]:
        """What to send now. Raises Overflow where what must stay does not fit and the policy does not say what to do then."""
        self.edits = ()
        first = not self._history.exchanges or not self._history.exchanges[-1].rounds
        hold = Hold(
            self._history, self._policy, self._record, self._counter.text, self._state.texts, self._turn, self._pins, self._memory
        )
        for budget in self._budgets:
            self._order = held(hold.under(budget, fixed=self._fixed, first=first), self._summary).window
        return [openai_message(message) for message in self._sent().messages]

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The tools to send: those that were given, and `read_offloaded` where the policy offloads."""
        return [tool.openai() for tool in self._tools]

    def read_offloaded(self, handle: str, start: int = 0, length: int = 2000) -> str:
        """What the tool of that name answers. Raises KeyError for a handle that no notice names."""
        if handle not in self._history.capped:
            raise KeyError(handle)
        return read_back(self._history.messages[handle].text, start, length)

    @property
    def tokens(self) -> int:
        """What a request with this window weighs, tools and framing included."""
        return self._history.window_tokens + self._fixed

    @property
    def lint(self) -> tuple[Finding, ...]:
        """What a provider would say of it."""
        return check(self._sent())

    def _summary(self, wanted: Wanted) -> str | None:
        state = self._state
        if wanted.key in state.summaries or state.unsummarized:
            return state.summaries.get(wanted.key)
        writing = summarizing(self._history, state.texts, wanted, ROOM, self._counter.text)
        text = written(writing, self._summarize)
        made = summary_of(self._history, wanted, text, self._name, self._counter)
        self._record(made)
        return made.hash

    def _sent(self) -> Request:
        return Request(tuple(shown(self._history, self._state.texts, window=self._order)[0]), self._tools)

    @property
    def _history(self) -> History:
        return self._state.history("")

    def _record(self, event: Event) -> None:
        if isinstance(event, WindowEdited):
            self.edits += event.edits
        self._state.apply(Entry(self._state.seq + 1, "", self._turn, "", event))
