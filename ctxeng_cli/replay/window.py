"""A window for a program of one's own: messages in, what should be sent out, by the code of a live session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ctxeng_cli.core.budget import Edit
from ctxeng_cli.core.events import Entry, Event, Finding, MessageAdded, WindowEdited
from ctxeng_cli.core.history import History, State
from ctxeng_cli.core.request import Request, openai_message
from ctxeng_cli.core.tokens import PRIMING, counter_for
from ctxeng_cli.lint import check
from ctxeng_cli.spec import parse_policy
from ctxeng_cli.transcripts import openai_chat
from ctxeng_cli.window import Hold, Pins, budgets_of, start


class Window:
    """A conversation under a window policy, in OpenAI's chat shape.

    `policy` is a policy string, `model` names the tokenizer, `tools` are tool definitions, which count too. Raises
    PolicyError for a policy that can't be.
    """

    def __init__(
        self, policy: str, *, model: str = "gpt-4o", tools: Sequence[Mapping[str, Any]] = (), context_window: int | None = None
    ) -> None:
        self._policy = parse_policy(policy)
        self._budgets = budgets_of(self._policy, context_window, None)
        self._counter = counter_for(model)
        self._tools = tuple(openai_chat.tool(tool, number) for number, tool in enumerate(tools, 1))
        self._fixed = sum(map(self._counter.tool, self._tools)) + self._counter.tools_overhead(self._tools) + PRIMING
        self._state, self._pins, self._turn = State(), Pins(self._policy.pin), 0
        self.edits: tuple[Edit, ...] = ()
        """What the last `messages` changed: which messages left or were shortened, by which rule, at what measured value."""

    def add(self, body: Mapping[str, Any]) -> str:
        """Take a message in; answers its id. Raises InputError for what is no message."""
        message = openai_chat.message(body, self._state.last_message + 1).with_id(f"m{self._state.last_message + 1}")
        if message.role == "user":
            self._turn += 1
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
            self._history, self._policy, self._record, self._counter.text, self._state.texts, self._turn, self._pins
        )  # fmt: skip
        for budget in self._budgets:
            hold.under(budget, fixed=self._fixed, first=first)
        return [openai_message(message) for message in self._sent().messages]

    @property
    def tokens(self) -> int:
        """What a request with this window weighs, tools and framing included."""
        return self._history.window_tokens + self._fixed

    @property
    def lint(self) -> tuple[Finding, ...]:
        """What a provider would say of it."""
        return check(self._sent())

    def _sent(self) -> Request:
        history, texts = self._history, self._state.texts
        shown = [history.messages[id] for id in history.window()]
        stand_ins = history.overrides
        return Request(
            tuple(m.with_text(texts[stand_ins[m.id]].text) if m.id in stand_ins else m for m in shown), self._tools
        )  # fmt: skip

    @property
    def _history(self) -> History:
        return self._state.history("")

    def _record(self, event: Event) -> None:
        if isinstance(event, WindowEdited):
            self.edits += event.edits
        self._state.apply(Entry(self._state.seq + 1, "", self._turn, "", event))
