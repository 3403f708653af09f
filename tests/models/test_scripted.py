"""A scripted model says what its file says, in order; a recorded session is a script too."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from ctxeng_cli.core.errors import ModelError, SpecError
from ctxeng_cli.core.events import Event, ModelDelta
from ctxeng_cli.core.messages import user
from ctxeng_cli.core.ports import Answer
from ctxeng_cli.core.request import Request
from ctxeng_cli.models.scripted import Scripted

REQUEST = Request((user("Hi"),))


def script(folder: Path, *lines: str) -> Scripted:
    path = folder / "script.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return Scripted.read(path)


def said(model: Scripted) -> Answer:
    return asyncio.run(model.answer(REQUEST, lambda _: None))


def test_replies_come_in_order_and_the_last_one_again_and_again(tmp_path: Path) -> None:
    model = script(tmp_path, '{"content": "One"}', "", '{"content": "Two"}')
    assert [said(model).text for _ in range(4)] == ["One", "Two", "Two", "Two"]


def test_a_resumed_session_goes_on_where_it_stood(tmp_path: Path) -> None:
    model = script(tmp_path, '{"content": "One"}', '{"content": "Two"}')
    model.skip(1)
    assert said(model).text == "Two"


def test_calls_errors_and_delays_are_those_of_the_line(tmp_path: Path) -> None:
    model = script(
        tmp_path,
        '{"content": null, "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}},'
        ' {"id": "c2", "function": {"name": "g", "arguments": {"x": 1}}}]}',
        '{"content": "Late", "delay_s": 0.2}',
        '{"error": "no luck"}',
    )
    answer = said(model)
    assert [(c.id, c.name, c.arguments) for c in answer.tool_calls] == [("c1", "f", "{}"), ("c2", "g", '{"x": 1}')]
    assert answer.finish_reason == "tool_calls"
    start = time.monotonic()
    assert said(model).text == "Late"
    assert time.monotonic() - start >= 0.2
    with pytest.raises(ModelError, match="no luck") as caught:
        said(model)
    assert caught.value.kind == "scripted"


def test_it_streams_words_that_add_up(tmp_path: Path) -> None:
    pieces: list[Event] = []
    text = "  Three words\nhere. "
    model = script(tmp_path, '{"content": "  Three words\\nhere. "}')
    assert asyncio.run(model.answer(REQUEST, pieces.append)).text == text
    assert "".join(piece.text for piece in pieces if isinstance(piece, ModelDelta)) == text
    assert len(pieces) > 2


def test_other_roles_are_passed_over(tmp_path: Path) -> None:
    model = script(tmp_path, '{"role": "user", "content": "Hi"}', '{"role": "assistant", "content": "Hello"}')
    assert said(model).text == "Hello"


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["nothing"], "script.jsonl:1: a script has one JSON object on each line"),
        (['{"content": "One"}', "[1]"], "script.jsonl:2: a script has one JSON object on each line"),
        (['{"text": "One"}'], "script.jsonl:1: a reply is"),
        (['{"content": 7}'], "script.jsonl:1: a reply is"),
        (['{"tool_calls": [{"function": {}}]}'], "script.jsonl:1: a reply is"),
        (['{"tool_calls": 3}'], "script.jsonl:1: a reply is"),
        (['{"content": "x", "delay_s": "long"}'], "script.jsonl:1: a reply is"),
        (['{"content": "x", "delay_s": -1}'], "script.jsonl:1: a reply is"),
        (['{"content": "x", "delay_s": NaN}'], "script.jsonl:1: a reply is"),
        (["[" * 100_000], "script.jsonl:1: a script has"),
        ([""], "the script holds no reply"),
        (['{"role": "user", "content": "Hi"}'], "the script holds no reply"),
    ],
)
def test_a_line_that_is_no_reply_is_told_with_its_place(tmp_path: Path, lines: list[str], told: str) -> None:
    with pytest.raises(SpecError) as caught:
        script(tmp_path, *lines)
    assert told in str(caught.value)


def test_a_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "script.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(SpecError, match="can't read the script"):
        Scripted.read(tmp_path / "script.jsonl")
