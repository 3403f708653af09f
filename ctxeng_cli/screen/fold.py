"""Text that comes in pieces, folded between words, for a terminal of known width."""

from __future__ import annotations

import re

from rich.cells import cell_len

_WIDE = "\u2e80-\u9fff\uac00-\ud7a3\uf900-\ufaff\uff00-\uff60"
_TOKEN = re.compile(rf"\n|[^\S\n]+|[{_WIDE}]|[^\s{_WIDE}]+")


class Fold:
    """Puts line ends between words where a terminal would put them inside. Chinese is folded between any two characters.

    A word is held back until what follows shows that it is whole; blanks at a fold fall away. A word that is wider than
    the terminal is left to it. All pieces together, with `finish`, differ from the whole text in line ends alone.
    """

    def __init__(self, width: int) -> None:
        self._width = max(width, 1)
        self._column = 0
        self._blanks = ""
        self._word = ""

    def feed(self, piece: str) -> str:
        """What may be printed now."""
        tokens = _TOKEN.findall(self._word + piece)
        self._word = tokens.pop() if tokens and not tokens[-1].isspace() else ""
        return "".join(map(self._put, tokens))

    def finish(self) -> str:
        """The rest; the next piece begins a new line."""
        rest = self._put(self._word) if self._word else ""
        self._column, self._blanks, self._word = 0, "", ""
        return rest

    def _put(self, token: str) -> str:
        if token == "\n":
            self._column, self._blanks = 0, ""
            return token
        if token.isspace():
            self._blanks += token
            return ""
        blanks, self._blanks = self._blanks, ""
        cells = cell_len(token)
        end = self._column + len(blanks) + cells
        if end > self._width:
            end, blanks = cells, "\n" if self._column else ""
        self._column = end if end <= self._width else end % self._width  # a word that no line holds: the terminal folds it
        return blanks + token
