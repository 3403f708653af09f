"""How lines fit into boxes: cutting, padding and folding by cells, and drawings that know their width and encoding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.panel import Panel
from rich.text import Text

from ctxeng_cli.screen.safe import boxed, encodable


@dataclass(frozen=True, slots=True)
class Canvas:
    """Where a drawing goes: its cells, and the signs that its encoding has."""

    width: int
    encoding: str = "utf-8"

    @property
    def unicode(self) -> bool:
        return self.encoding.lower().startswith("utf")

    @property
    def dot(self) -> str:
        return "·" if self.unicode else "|"

    @property
    def ellipsis(self) -> str:
        return "…" if self.unicode else "..."

    @property
    def about(self) -> str:
        return "≈" if self.unicode else "~"

    @property
    def times(self) -> str:
        return "×" if self.unicode else "x"

    @property
    def inner(self) -> int:
        """The cells between the borders of a box."""
        return max(self.width - 4, 1)

    def text(self, text: str) -> str:
        """Untrusted text for a box on this canvas. Lines stay lines."""
        return encodable(boxed(text), self.encoding)

    def line(self, text: str, limit: int = 400) -> str:
        """The head of an untrusted text in one line."""
        return self.text(" ".join(text[:limit].split()))

    def cut(self, text: str, cells: int) -> str:
        """The text in at most so many cells, with a sign where something is missing."""
        if cell_len(text) <= cells:
            return text
        sign = self.ellipsis[: max(cells, 0)]
        return set_cell_size(text, max(cells - len(sign), 0)) + sign

    def pad(self, text: str, cells: int, *, right: bool = False) -> str:
        """The text in exactly so many cells."""
        text = self.cut(text, cells)
        blank = " " * (cells - cell_len(text))
        return blank + text if right else text + blank

    def join(self, items: Iterable[str]) -> str:
        return f" {self.dot} ".join(item for item in items if item)


class Drawing:
    """A renderable that is built when it is printed, for the width and the encoding of the console."""

    def __init__(self, build: Callable[[Canvas], RenderableType]) -> None:
        self._build = build

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._build(Canvas(options.max_width, "utf-8" if not options.ascii_only else options.encoding))


def fold(text: str, cells: int) -> list[str]:
    """The text's lines, broken at blanks where they are too long, and inside words that are longer than a line."""
    lines: list[str] = []
    for line in text.split("\n"):
        lines += _fold(line, max(cells, 2)) if cell_len(line) > cells else [line]
    return lines


def _fold(line: str, cells: int) -> list[str]:
    lines, current, width = [], "", 0
    for word in _words(line):
        size = cell_len(word)
        if width + size > cells and current:
            lines.append(current.rstrip())
            current, width = "", 0
            word = word.lstrip()
            size = cell_len(word)
        while size > cells:
            head, word = _split(word, cells)
            lines.append(head)
            size = cell_len(word)
        current, width = current + word, width + size
    return [*lines, current.rstrip()] if current.strip() or not lines else lines


def _words(line: str) -> Iterable[str]:
    """Words with the blanks before them."""
    start = 0
    for at in range(1, len(line)):
        if line[at] == " " and line[at - 1] != " ":
            yield line[start:at]
            start = at
    yield line[start:]


def _split(word: str, cells: int) -> tuple[str, str]:
    width = 0
    for at, char in enumerate(word):
        width += cell_len(char)
        if width > cells:
            return word[:at], word[at:]
    return word, ""


def box(canvas: Canvas, title: str, lines: Sequence[Text], style: str = "") -> Panel:
    """Lines in a box of the canvas's width. Each line is cut to it, none is folded."""
    body = Text("\n", no_wrap=True, overflow="crop").join(lines)
    body.no_wrap, body.overflow = True, "crop"
    heading = Text(canvas.cut(title, max(canvas.width - 6, 1)), style="bold")
    return Panel(body, title=heading, title_align="left", border_style=style, padding=(0, 1), width=canvas.width)


def paragraph(canvas: Canvas, text: str, style: str = "", indent: int = 0) -> list[Text]:
    """Untrusted text as lines for a box, folded."""
    blank = " " * indent
    return [Text(blank + line, style) for line in fold(canvas.text(text), canvas.inner - indent)]
