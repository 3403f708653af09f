"""Folding between words: nothing but line ends changes, lines fit, pieces make no difference."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from wcwidth import wcswidth

from ctxeng_cli.screen.fold import Fold

TEXTS = st.text(st.sampled_from("ab中文 \n,.é"), max_size=60)


def folded(width: int, *pieces: str) -> str:
    fold = Fold(width)
    return "".join([*(fold.feed(piece) for piece in pieces), fold.finish()])


def test_lines_end_between_words_and_chinese_anywhere() -> None:
    assert folded(10, "one two three four") == "one two\nthree four"
    assert folded(10, "one two", " three four") == "one two\nthree four"
    assert folded(10, "on", "e tw", "o thr", "ee") == "one two\nthree"
    assert folded(6, "我的狗叫旺财") == "我的狗\n叫旺财"
    assert folded(10, "  - a list of words") == "  - a list\nof words"
    assert folded(10, "one\n\ntwo") == "one\n\ntwo"
    assert folded(4, " four") == "four"
    assert folded(4, "unbreakable it") == "unbreakable\nit"


@given(TEXTS, st.integers(1, 12))
def test_only_blanks_and_line_ends_change(text: str, width: int) -> None:
    assert "".join(folded(width, text).split()) == "".join(text.split())


@given(TEXTS, st.integers(4, 12))
def test_a_line_is_too_wide_only_where_one_word_is(text: str, width: int) -> None:
    for line in folded(width, text).split("\n"):
        assert wcswidth(line) <= width or any(wcswidth(word) > width for word in line.split())


@given(st.lists(TEXTS, max_size=4), st.integers(1, 12))
def test_pieces_make_no_difference(pieces: list[str], width: int) -> None:
    assert folded(width, *pieces) == folded(width, "".join(pieces))
