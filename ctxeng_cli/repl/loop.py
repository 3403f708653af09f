"""The loop: read a line, run a command or a turn, again."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxeng_cli.core.events import RequestSent
from ctxeng_cli.core.history import State
from ctxeng_cli.repl.commands import dispatch
from ctxeng_cli.screen.safe import encodable, safe
from ctxeng_cli.session.open import run_cancellable

if TYPE_CHECKING:
    from rich.console import Console

    from ctxeng_cli.screen.stream import LiveScreen
    from ctxeng_cli.session import Session

_TWICE_S = 2.0


class Repl:
    """A session at the terminal."""

    def __init__(self, session: Session, console: Console, screen: LiveScreen, folder: Path, environ: Mapping[str, str]) -> None:
        self.session, self.console, self.screen, self.folder, self.environ = session, console, screen, folder, environ
        self._last: str | None = None
        self._again: str | None = None
        session.journal.observers.append(screen)

    # -- printing ----------------------------------------------------------------------------------------------------

    def print(self, text: str) -> None:
        from rich.text import Text

        self.console.print(Text(encodable(safe(text), self.console.encoding)))

    def print_rows(self, title: str, rows: list[tuple[str, str]]) -> None:
        from ctxeng_cli.screen.tables import rows_table

        self.console.print(rows_table(title, rows))

    def print_tools(self, rows: list[dict[str, Any]]) -> None:
        from ctxeng_cli.screen.tables import tools_table

        self.console.print(tools_table(rows))

    def show_context(self, request: int | None) -> None:
        """The window of a request of this session, or of the last one."""
        from ctxeng_cli.core.view import context
        from ctxeng_cli.screen.panels import LISTED, window_panel

        session = self.session
        sent = session.wires.history(session.agent).last_request
        if sent is None:
            self.print("nothing was sent yet; /context shows the window after the first turn")
            return
        state, turn = session.journal.state, session.journal.state.turn
        if request is not None and request != sent.request and session.log is not None:
            state = State()
            sent = None
            for entry in session.recorded():
                state.apply(entry)
                if isinstance(entry.event, RequestSent) and entry.event.request == request:
                    sent, turn = entry.event, entry.turn
                    break
        if sent is None:
            self.print(f"there is no request {request}; the session has {session.wires.history(session.agent).requests}")
            return
        self.console.print(
            window_panel(
                context(state, session.agent.spec.name, sent, turn, session.agent.counter), view_mode="full", max_rows=LISTED
            )
        )

    def retry(self) -> None:
        """Ask the last question again: out with the exchange, in with its text."""
        text = self._last
        if text is None:
            self.print("there is nothing to ask again in this session yet")
            return
        if not self.session.journal.state.running and self._answered:
            self.session.take_back()
        self._again = text

    # -- the loop ----------------------------------------------------------------------------------------------------

    def run(self) -> int:
        try:
            return asyncio.run(self._loop())
        except KeyboardInterrupt:  # Ctrl-C in the moment between two lines
            self._farewell()
            return 0

    async def _loop(self) -> int:
        from ctxeng_cli.repl.line import in_background, prompt_session

        agent = self.session.agent
        plain = "NO_COLOR" in self.environ or self.console.no_color
        line = prompt_session(self.folder, self._toolbar, plain, self.console.file)
        self._greet()
        warm = in_background(lambda: agent.counter.text("warm"), getattr(agent.model, "warm", lambda: None))
        interrupted = 0.0
        first = True
        while True:
            try:
                text = await line.prompt_async(f"{agent.spec.name}> ", pre_run=warm if first else None)
                first = False
            except KeyboardInterrupt:
                first = False
                if time.monotonic() - interrupted < _TWICE_S:
                    break
                interrupted = time.monotonic()
                self.print("(Ctrl-C again, or Ctrl-D, leaves)")
                continue
            except EOFError:
                break
            if not text.strip():
                continue
            if text.startswith("/"):
                if dispatch(self, text):
                    break
                if self._again is None:
                    continue
                text, self._again = self._again, None
            await self._turn(text)
        self._farewell()
        return 0

    _answered = False

    async def _turn(self, text: str) -> None:
        for problem in self.session.reload():
            self.print(f"{problem} The old spec stays in use.")
        self._last = text
        try:
            outcome = await run_cancellable(self.session, text)
        except Exception as error:
            from ctxeng_cli.core.errors import CtxengError

            if not isinstance(error, CtxengError):
                raise
            self.print(str(error))
            return
        if self.session.state.running:  # the turn's end could not be recorded, so the screen has not drawn it
            self.print(outcome.text)
        self._answered = outcome.state in ("answered", "limit")

    def _greet(self) -> None:
        session = self.session
        model = session.agent.spec.model.model
        what = "offline, a reader of its window and no language model" if model == "offline" else model
        how = "new session" if session.fresh else f"session with {session.journal.state.turn} turns"
        self.print(f"{session.agent.spec.name} · {what} · window {session.agent.spec.policy}")
        self.print(f"{how} {session.id} · /help for commands, /exit or Ctrl-D to leave")

    def _farewell(self) -> None:
        if self.session.journal.state.turn and self.session.lasts:
            self.print(
                f"session {self.session.id}; go on with: ctxeng chat {self.session.agent.spec.name} --session {self.session.id}"
            )

    def _toolbar(self) -> str:
        """Model, meter, figures and turn; shorter where the terminal is narrow."""
        return meter(self.session, self.console.width, self.console.encoding.startswith("utf"))


def meter(session: Session, width: int, unicode: bool) -> str:
    """The window meter in one line: `guide · offline · ●●●○○ 34% 612/1,800 tokens · turn 3`."""
    spec = session.agent.spec
    history = session.wires.history(session.agent)
    sent = history.last_request
    budget: Mapping[str, Any] = sent.budget if sent else {}
    limit = spec.policy.limit
    used = budget.get("used", 0)
    dot, full, empty = ("·", "●", "○") if unicode else ("|", "#", "-")
    label = "" if session.agent.counter.exact else "≈ " if unicode else "~ "
    unit = spec.policy.kind if spec.policy.kind in ("tokens", "messages") else "tokens"
    if limit:
        share = min(1.0, used / limit)
        filled = round(share * 5)
        gauge = f"{full * filled}{empty * (5 - filled)} {share:.0%} {label}{used:,}/{limit:,} {unit}"
    else:
        gauge = f"{label}{used:,} tokens, {spec.policy}"
    wide = f" {spec.name} {dot} {spec.model.model} {dot} {gauge} {dot} turn {session.journal.state.turn} {dot} /help "
    if len(wide) <= width:
        return safe(wide)
    return safe(f" {gauge} {dot} turn {session.journal.state.turn}"[: max(width - 1, 1)])
