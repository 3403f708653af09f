"""Untrusted text made harmless for a terminal. Standard library only.

One rule: what could steer a terminal, reorder text, hide in it or break its encoding is spelled as Python spells it,
`\\x1b`, `\\u202e`, `\\udc80`. These are: C0 controls but newline and tab, DEL, C1 controls, bidi embeddings, overrides
and isolates, line and paragraph separators, tag characters, and lone surrogates. `\\r\\n` is a newline, tabs become
blanks. Square brackets and colons are nothing special: nobody here reads markup.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

TAB = 4
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
)  # fmt: skip


def safe(text: str) -> str:
    """The text as it may be printed anywhere. Linear in its length; its own output passes unchanged."""
    if text.isascii() and text.isprintable():
        return text
    return _spell(text.replace("\r\n", "\n")).expandtabs(TAB)


def _spell(text: str) -> str:
    return _HARMFUL.sub(_spelled, text)


def _spelled(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code == 0x0D:
        return "\\r"
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def masked(text: str) -> str:
    """The text with a replacement character for each harmful one: for a line that is being edited, where positions count."""
    return _HARMFUL.sub("\N{REPLACEMENT CHARACTER}", text)


class SafeStream:
    """`safe` for text that comes in pieces: all pieces together, with `finish`, are the `safe` of the whole."""

    def __init__(self) -> None:
        self._column = 0
        self._held = ""

    def feed(self, piece: str) -> str:
        """What may be printed now. A carriage return at the end waits for what follows it."""
        text = self._held + piece
        self._held = "\r" if text.endswith("\r") else ""
        return self._expand(_spell(text[: len(text) - len(self._held)].replace("\r\n", "\n")))

    def finish(self) -> str:
        """What was held back; the next piece begins a new text."""
        rest = self._expand(_spell(self._held))
        self._held, self._column = "", 0
        return rest

    def _expand(self, text: str) -> str:
        before = self._column % TAB
        text = ("_" * before + text).expandtabs(TAB)
        self._column = len(text) - text.rfind("\n") - 1 if "\n" in text else len(text)
        return text[before:]


def boxed(text: str) -> str:
    """Safe text for a box: only characters whose width all terminals, wcwidth and rich agree on. Normalizes, so short texts only.

    Joiners and variation selectors are left out (a family of emoji becomes its members), flags become letters, signs that
    take a cell or none depending on what stands before them become `·`.
    """
    text = safe(text)
    if text.isascii():
        return text
    return "".join(c if c < "\x7f" else _agreed(c) for c in unicodedata.normalize("NFC", text))


@lru_cache(4096)
def _agreed(char: str) -> str:
    code, category = ord(char), unicodedata.category(char)
    if 0x1F1E6 <= code <= 0x1F1FF:
        return chr(code - 0x1F1E6 + ord("A"))
    if category == "Cf" or 0xFE00 <= code <= 0xFE0F or 0xE0100 <= code <= 0xE01EF or 0x1F3FB <= code <= 0x1F3FF:
        return ""
    if category in ("Cn", "Co"):
        return "�"
    if category == "Zs":
        return "  " if unicodedata.east_asian_width(char) == "F" else " "
    if category in ("Mc", "Me") or unicodedata.combining(char) == 9:
        return "·"
    return char


def one_line(text: str, limit: int = 400) -> str:
    """The head of a text in one line for a box; costs no more for a long text than for a short one."""
    return boxed(" ".join(text[:limit].split()))


def encodable(text: str, encoding: str) -> str:
    """The text with what the encoding can't hold spelled as `safe` spells it."""
    if text.isascii() or encoding.lower().startswith("utf"):
        return text
    try:
        return text.encode(encoding, "backslashreplace").decode(encoding)
    except LookupError:
        return text.encode("ascii", "backslashreplace").decode("ascii")
