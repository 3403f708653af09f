"""The things to draw: plain values between the board and the screens. Texts in here are as they came, not yet safe."""

from __future__ import annotations

from dataclasses import dataclass

from ctxeng_cli.core.budget import Edit
from ctxeng_cli.core.events import Usage
from ctxeng_cli.core.view import Context


@dataclass(frozen=True, slots=True)
class Opened:
    """A session begins."""

    agent: str
    session: str
    model: str
    policy: str


@dataclass(frozen=True, slots=True)
class Asked:
    """A person's message, as it joined the history."""

    agent: str
    turn: int
    message: str
    text: str


@dataclass(frozen=True, slots=True)
class Window:
    """What goes to the model now."""

    view: Context


@dataclass(frozen=True, slots=True)
class EditedMessage:
    """A message that an edit names. `tokens` are those it had before the edit; `text` is its head."""

    id: str
    role: str
    tokens: int
    text: str


@dataclass(frozen=True, slots=True)
class Evictions:
    """What left the window, was shortened or came back; each edit with its messages. `window` is what is left, in tokens."""

    agent: str
    turn: int
    rows: tuple[tuple[Edit, tuple[EditedMessage, ...]], ...]
    window: int


@dataclass(frozen=True, slots=True)
class ToolTrip:
    """A tool round trip. While it runs `text` is None; `whole` says whether `text` is all that came back."""

    agent: str
    id: str
    name: str
    arguments: str
    text: str | None = None
    whole: bool = False
    is_error: bool = False
    duration_s: float = 0.0
    tokens: int = 0

    @property
    def running(self) -> bool:
        return self.text is None


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A piece of an answer, as it streams."""

    agent: str
    text: str


@dataclass(frozen=True, slots=True)
class AnswerDone:
    """A model's text is complete. `streamed`: its pieces were all told before, only the line is to be ended.

    `calls` is true where tool calls follow, so that the text is a thought beside them and not the answer.
    """

    agent: str
    message: str
    text: str
    streamed: bool
    partial: bool = False
    calls: bool = False


@dataclass(frozen=True, slots=True)
class Answered:
    """What a model's answer cost."""

    agent: str
    usage: Usage
    cost: float | None
    duration_s: float
    finish_reason: str
    served: str | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence for the person. `level`: info, warning or error."""

    level: str
    text: str


Drawable = Opened | Asked | Window | Evictions | ToolTrip | AnswerPiece | AnswerDone | Answered | Notice
