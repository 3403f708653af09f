"""The screen for pipes and dumb terminals: lines of text, no rich, no boxes, no colours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from ctxeng_cli.core.events import Entry
from ctxeng_cli.core.history import State
from ctxeng_cli.core.tokens import Counter
from ctxeng_cli.core.view import Context, Part
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
from ctxeng_cli.screen.safe import SafeStream, encodable, safe
from ctxeng_cli.screen.words import (
    GONE,
    answered_words,
    edit_text,
    figures,
    finding_text,
    is_exact,
    kind_tokens,
    opened_text,
    reason_text,
    source_label,
    stage_text,
)

RESULT_CHARACTERS = 300


def lines_of(drawable: Drawable, view: str) -> Iterator[str]:
    """What a drawable is in lines, made safe by the caller. An answer's pieces and its end are not here: they stream."""
    match drawable:
        case Opened():
            yield opened_text(drawable)
        case Asked():
            yield f"{drawable.message} user> {drawable.text}"
        case Window():
            yield from window_lines(drawable.view, view)
        case Evictions():
            for edit, messages in drawable.rows:
                yield edit_text(edit)
                yield from (f"  {m.id} {m.role} {m.tokens:,}: {_head(m.text, 100)}" for m in messages)
        case ToolTrip(text=None):
            yield f"> {drawable.name} {_head(drawable.arguments, RESULT_CHARACTERS)}"
        case ToolTrip():
            state = "ERROR" if drawable.is_error else "ok"
            yield f"< {drawable.name}: {state}, {drawable.duration_s:,.2f} s, {drawable.tokens:,} tokens"
            yield f"  {_head(drawable.text or '', RESULT_CHARACTERS)}"
        case Answered():
            yield f"  {', '.join(answered_words(drawable))}"
        case Notice():
            yield {"error": "error: ", "warning": "! "}.get(drawable.level, "- ") + drawable.text


def window_lines(view: Context, mode: str = "full") -> Iterator[str]:
    """The window in lines: figures and kinds, and in full its parts, stages and findings."""
    mark = "" if is_exact(view) else "≈ "
    yield f"window {view.agent}, turn {view.turn}, request {view.request}, {view.model}, {mark}{view.tokenizer}: {figures(view)}"
    yield "  " + ", ".join(f"{kind} {tokens:,}" for kind, tokens in kind_tokens(view).items())
    if mode == "full":
        yield from (_part_line(part) for part in view.parts)
        if view.stages:
            yield "  stages: " + ", ".join(stage_text(stage, "->") for stage in view.stages)
    yield from (f"  {finding_text(finding)}" for finding in view.lint)


def _part_line(part: Part) -> str:
    why = f" ({part.state} by {reason_text(part.reason)})" if part.reason else f" ({part.state})" if part.state in GONE else ""
    source = source_label(part.source, part.message)
    return f"  {part.id} {part.kind} {part.tokens:,}{why}{' ' + source if source else ''}: {_head(part.preview, 100)}"


def _head(text: str, limit: int) -> str:
    head = " ".join(text[:limit].split())
    return f"{head} ... ({len(text) - limit:,} more characters)" if len(text) > limit else head


class PlainScreen:
    """An observer that writes lines to a stream. `view` and the switches are those of `LiveScreen`; `view` off writes
    answers and notices only."""

    def __init__(
        self,
        stream: TextIO,
        *,
        view: str = "off",
        counter: Counter | None = None,
        state: State | None = None,
        answers: bool = True,
        questions: bool = False,
    ) -> None:
        self.view, self.counter, self.answers, self.questions = view, counter, answers, questions
        self._out = stream
        self._encoding = getattr(stream, "encoding", None) or "utf-8"
        self._board = Board(state=state)
        self._pieces = SafeStream()
        self._speaker: str | None = None
        self._blank = True

    def absorb(self, entry: Entry) -> None:
        """Take an entry in without writing it."""
        self._board.absorb(entry)

    def __call__(self, entry: Entry) -> None:
        self._board.counter, self._board.windows = self.counter, self.view != "off"
        for drawable in self._board.apply(entry):
            if isinstance(drawable, AnswerPiece | AnswerDone):
                if self.answers:
                    self._answer(drawable)
            elif self._wanted(drawable):
                for line in lines_of(drawable, self.view):
                    self._line(line)

    def _wanted(self, drawable: Drawable) -> bool:
        if isinstance(drawable, Opened | Asked):
            return self.questions
        return self.view != "off" or isinstance(drawable, Notice)

    def _answer(self, drawable: AnswerPiece | AnswerDone) -> None:
        if isinstance(drawable, AnswerPiece):
            if self._speaker != drawable.agent:
                self._end_line()
                self._speaker = drawable.agent
            self._write(self._pieces.feed(drawable.text))
            return
        if drawable.streamed:
            self._end_line()
        else:
            self._line(f"{drawable.message} {drawable.agent}> {drawable.text}" if self.questions else drawable.text)
        if drawable.partial:
            self._line("! the answer was cut off here")

    def _line(self, text: str) -> None:
        self._end_line()
        self._write(safe(text))
        self._end_line()

    def _end_line(self) -> None:
        self._write(self._pieces.finish())
        if not self._blank:
            self._write("\n")
        self._speaker = None

    def _write(self, text: str) -> None:
        if text:
            self._blank = text.endswith("\n")
            self._out.write(encodable(text, self._encoding))
            self._out.flush()
