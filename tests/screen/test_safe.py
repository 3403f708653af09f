"""No text steers the terminal: not whole, not in pieces, not in boxes."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxeng_cli.screen.safe import SafeStream, boxed, encodable, one_line, safe

CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]")
ANYTHING = st.text(st.characters(codec=None, exclude_categories=()))  # lone surrogates too
HOSTILE = st.lists(
    st.one_of(
        st.sampled_from(["\x1b", "\r", "\n", "\r\n", "\t", "\x07", "\x9b", "\x00", "\x7f", "\u202e", "\ud83d", "a", "中"]),
        ANYTHING,
    )
)


@settings(deadline=None)
@given(HOSTILE)
def test_no_control_character_survives(pieces: list[str]) -> None:
    assert not CONTROL.search(safe("".join(pieces)))


@settings(deadline=None)
@given(HOSTILE)
def test_its_own_output_passes_unchanged(pieces: list[str]) -> None:
    once = safe("".join(pieces))
    assert safe(once) == once
    once.encode("utf-8")


@settings(deadline=None)
@given(HOSTILE)
def test_text_in_pieces_is_the_text(pieces: list[str]) -> None:
    stream = SafeStream()
    assert "".join(stream.feed(piece) for piece in pieces) + stream.finish() == safe("".join(pieces))


@settings(deadline=None)
@given(ANYTHING)
def test_a_box_gets_no_control_character_and_no_joiner(text: str) -> None:
    assert not CONTROL.search(boxed(text))
    assert not re.search("[\u200b-\u200f\ufe00-\ufe0f\u2060\ufeff]", boxed(text))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;cm0=\x07", r"\x1b]52;c;cm0=\x07"),
        ("\x9b31m\x90q\x9c", r"\x9b31m\x90q\x9c"),
        ("one\r\ntwo\rthree", "one\ntwo\\rthree"),
        ("a\tb\n\tc", "a   b\n    c"),
        ("user\u202etxt.exe", r"user\u202etxt.exe"),
        ("half \ud83d", r"half \ud83d"),
        ("tag \U000e0041", r"tag \U000e0041"),
        ("[/red] [bold]b[/bold] :smile: {x} 100%", "[/red] [bold]b[/bold] :smile: {x} 100%"),
        ("天气 é 😀", "天气 é 😀"),
    ],
)
def test_what_is_harmful_is_spelled_and_the_rest_is_as_it_was(text: str, shown: str) -> None:
    assert safe(text) == shown


def test_an_escape_split_over_two_pieces_stays_harmless() -> None:
    stream = SafeStream()
    assert stream.feed("a\x1b") + stream.feed("[2Jb\r") + stream.feed("\nc") == "a\\x1b[2Jb\nc"


def test_a_family_becomes_its_members_and_a_flag_its_letters() -> None:
    assert (
        boxed("\U0001f469\u200d\U0001f467 \U0001f1e8\U0001f1ed \u2764\ufe0f e\u0301") == "\U0001f469\U0001f467 CH \u2764 \u00e9"
    )


def test_one_line_looks_at_the_head_only() -> None:
    assert one_line(" a\n\tb " * 1_000_000, 12) == "a b a b"


def test_what_an_encoding_lacks_is_spelled() -> None:
    assert encodable("a天é", "latin-1") == "a\\u5929é"
    assert encodable("a天é", "ascii") == "a\\u5929\\xe9"
    assert encodable("a天é", "no-such-encoding") == "a\\u5929\\xe9"
    assert encodable("a天é", "UTF-8") == "a天é"


def test_five_megabytes_take_seconds_at_most() -> None:
    for text in ("\x1b" * 5_000_000, "天" * 5_000_000, "a\t" * 2_500_000, "\r\n" * 2_500_000):
        started = time.perf_counter()
        safe(text)
        assert time.perf_counter() - started < 20, json.dumps(text[:2])


@pytest.mark.parametrize("module", ["safe", "jsonl", "board", "words"])
def test_the_plain_path_does_not_load_rich(module: str) -> None:
    program = (
        f"import sys, ctxeng_cli.screen, ctxeng_cli.screen.{module}; sys.exit(any(n.startswith('rich') for n in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
