"""The live screen: what the board gives is printed into the scrollback as it comes. Replay prints through it as well."""

from __future__ import annotations

from dataclasses import replace

from rich.console import Console, RenderableType

from ctxeng_cli.core.events import Entry, StageFinished
from ctxeng_cli.core.history import State
from ctxeng_cli.core.tokens import Counter
from ctxeng_cli.core.view import Context
from ctxeng_cli.screen import panels
from ctxeng_cli.screen.board import Board
from ctxeng_cli.screen.drawables import (
    AnswerDone,
    Answered,
    AnswerPiece,
    Asked,
    Drawable,
    Evictions,
    Notice,
    Opened,
    ToolTrip,
    Window,
)
from ctxeng_cli.screen.fold import Fold
from ctxeng_cli.screen.safe import SafeStream, encodable, safe
from ctxeng_cli.screen.words import opened_text

LIVE_ROWS = 24
"""Parts that a window lists while one talks; `/context` and `inspect-context` list all."""


class LiveScreen:
    """An observer that draws on a console. `view` is full, bar or off and may be changed between entries.

    `state` is one that is folded before each call (the journal's); without it the screen folds its own. `answers` false
    draws panels only, `questions` true also the person's messages, for a replay.
    """

    def __init__(
        self,
        console: Console,
        *,
        view: str = "full",
        counter: Counter | None = None,
        state: State | None = None,
        answers: bool = True,
        questions: bool = False,
    ) -> None:
        self.console, self.view, self.counter = console, view, counter
        self.answers, self.questions = answers, questions
        self._board = Board(state=state)
        self._stages: tuple[StageFinished, ...] = ()
        self._speaker: str | None = None
        self._stream = SafeStream()
        self._fold: Fold | None = None
        self._blank = True

    def absorb(self, entry: Entry) -> None:
        """Take an entry in without drawing it."""
        self._board.absorb(entry)

    def __call__(self, entry: Entry) -> None:
        self._board.counter, self._board.windows = self.counter, self.view != "off"
        for drawable in self._board.apply(entry):
            self._draw(drawable)

    def _draw(self, drawable: Drawable) -> None:
        match drawable:
            case AnswerPiece():
                self._piece(drawable)
            case AnswerDone():
                self._done(drawable)
            case Answered():
                if self.view != "off":
                    self._print(panels.answered_text(drawable))
            case Asked():
                if self.questions:
                    self._say(f"{drawable.message} user> {drawable.text}")
            case Window():
                if self.view != "off":
                    self._window(drawable.view)
            case Evictions():
                if self.view != "off":
                    self._print(panels.evictions_panel(drawable))
            case ToolTrip():
                self._trip(drawable)
            case Notice():
                self._print(panels.notice_text(drawable))
            case Opened():
                if self.questions:
                    self._print(panels.notice_text(Notice("info", opened_text(drawable))))

    def _window(self, view: Context) -> None:
        """The panel; stages are told once a turn, not again with each tool round."""
        if view.stages == self._stages:
            view = replace(view, stages=())
        else:
            self._stages = view.stages
        self._print(panels.window_panel(view, view_mode=self.view, max_rows=LIVE_ROWS, details=True))

    def _trip(self, trip: ToolTrip) -> None:
        if self.view == "off" and (not self.questions or trip.running):
            return  # one who looks into a session without its windows still wants to know what was called
        short = trip.running or self.view != "full"
        self._print(panels.tool_line(trip) if short else panels.tool_panel(trip))

    # -- the answer --------------------------------------------------------------------------------------------------

    def _piece(self, piece: AnswerPiece) -> None:
        if not self.answers:
            return
        if self._speaker != piece.agent:
            self._end_line()
            self._speaker = piece.agent
        self._write(self._folded(self._stream.feed(piece.text)))

    def _done(self, done: AnswerDone) -> None:
        if not self.answers:
            return
        if done.streamed:
            self._end_line()
        elif self.questions:
            self._say(f"{done.message} {done.agent}> {done.text}")
        else:
            self._say(done.text)
        if done.partial:
            self._print(panels.notice_text(Notice("warning", "the answer was cut off here")))

    def _say(self, text: str) -> None:
        """A whole text. Not through rich, whose folding takes minutes for one of megabytes."""
        self._end_line()
        self._write(self._folded(safe(text)))
        self._end_line()

    def _folded(self, text: str) -> str:
        """At a terminal the lines end between words."""
        if not self.console.is_terminal:
            return text
        if self._fold is None:
            self._fold = Fold(self.console.width)
        return self._fold.feed(text)

    def _write(self, text: str) -> None:
        """Raw text, harmless already. The terminal folds it."""
        if text:
            self._blank = text.endswith("\n")
            self.console.file.write(encodable(text, self.console.encoding))
            self.console.file.flush()

    def _end_line(self) -> None:
        self._write(self._folded(self._stream.finish()))
        if self._fold is not None:
            self._write(self._fold.finish())
            self._fold = None
        if not self._blank:
            self._write("\n")
        self._speaker = None

    def _print(self, renderable: RenderableType) -> None:
        self._end_line()
        self.console.print(renderable)
