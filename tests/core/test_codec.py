"""Events survive the way to disk and back; their lines are valid, whatever they hold; what is newer is kept."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.core import events
from ctxeng_cli.core.codec import NotAnEvent, dumps, loads, to_json
from ctxeng_cli.core.events import EVENTS, Event, MessageAdded, RequestSent, Unknown
from ctxeng_cli.core.messages import Image, Message, Text, Thinking, ToolCall, expand, ranges
from docs.write_schemas import texts
from tests.contract import SCHEMAS, assert_event
from tests.notation import entry

TEXTS = st.text(st.characters(codec=None), max_size=20)  # lone surrogates and control characters too
IDS = st.integers(1, 99).map(lambda n: f"m{n}")
JSONS: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2),
    max_leaves=4,
)
BLOCKS = st.one_of(
    TEXTS.filter(bool).map(Text), st.builds(Image, TEXTS, st.none() | TEXTS), st.builds(Thinking, TEXTS, st.none() | TEXTS)
)
MESSAGES = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool"]),
    content=st.lists(BLOCKS, max_size=3).map(tuple),
    id=IDS,
    tool_calls=st.lists(st.builds(ToolCall, TEXTS, TEXTS, TEXTS), max_size=2).map(tuple),
    tool_call_id=st.none() | TEXTS,
    name=st.none() | TEXTS,
    is_error=st.booleans(),
    extra=st.dictionaries(TEXTS, JSONS, max_size=2),
)
st.register_type_strategy(str, TEXTS)
st.register_type_strategy(Message, MESSAGES)
st.register_type_strategy(int, st.integers(-(2**53), 2**53))
st.register_type_strategy(float, st.floats(0, 1e6))


def _event(kind: str) -> st.SearchStrategy[Event]:
    """Any event of a type. A mapping of anything is JSON, and a list of references is one of ids."""
    over: dict[str, st.SearchStrategy[Any]] = {
        "inputs": st.dictionaries(TEXTS, JSONS, max_size=2),
        "keys": st.dictionaries(TEXTS, JSONS, max_size=2),
        "difference": st.dictionaries(TEXTS, st.tuples(JSONS, JSONS), max_size=2),
        "budget": st.fixed_dictionaries({"unit": TEXTS, "limit": st.none() | st.integers(0, 99), "used": st.integers(0, 99)}),
        "parameters": st.dictionaries(TEXTS, JSONS, max_size=2),
        "payload": st.none() | st.dictionaries(TEXTS, JSONS, min_size=1, max_size=2),
        "window": st.lists(IDS, max_size=4).map(tuple),
        "parts": st.lists(IDS, max_size=4).map(tuple),
        "messages": st.lists(IDS, max_size=4).map(tuple),
        "payloads": st.lists(st.dictionaries(TEXTS, JSONS, min_size=1, max_size=2), max_size=2).map(tuple),
        "value": JSONS.filter(lambda value: value not in (False, [], {})),  # an empty value is left out, as no value is
    }
    cls = EVENTS[kind]
    return st.builds(cls, **{name: over.get(name, ...) for name in (f.name for f in dataclasses.fields(cls))})


@pytest.mark.parametrize("kind", EVENTS)
@given(data=st.data())
def test_an_event_is_read_back_equal_from_a_valid_line(kind: str, data: st.DataObject) -> None:
    written = entry(7, data.draw(_event(kind)))
    line = dumps(written)
    assert loads(line) == written
    assert_event(json.loads(line))
    assert_event(json.loads(dumps(written, expanded=True)))
    assert line.encode("utf-8")
    assert not re.search("[\x00-\x1f\x7f-\x9f\u2028\u2029]", line), "one line, and no terminal control gets out of it"


def test_a_window_is_short_in_the_log_and_whole_for_others() -> None:
    sent = RequestSent(request=1, round=0, window=("m1..m3",), parts=("#a", "m1..m3"), tokens={}, fingerprint="f")
    assert to_json(entry(1, sent))["window"] == ["m1..m3"]
    assert to_json(entry(1, sent), expanded=True)["window"] == ["m1", "m2", "m3"]
    assert to_json(entry(1, sent), expanded=True)["parts"] == ["#a", "m1", "m2", "m3"]


@given(st.lists(st.integers(1, 30).map(lambda n: f"m{n}") | st.sampled_from(["#a", "m3=#b"]), max_size=12).map(tuple))
def test_ranges_are_undone_by_expand(ids: tuple[str, ...]) -> None:
    assert expand(ranges(ids)) == ids


def test_an_event_of_a_newer_version_is_kept_as_it_is() -> None:
    line = (
        '{"schema":"ctxeng.event/1","seq":3,"type":"dream.had","turn":1,"agent":"a","at":"2030-01-01T00:00:00Z","of":["sheep"]}'
    )
    read = loads(line)
    assert read.event == Unknown(name="dream.had", data={"of": ["sheep"]})
    assert dumps(read) == line


def test_a_field_of_a_newer_version_does_no_harm() -> None:
    body = to_json(entry(1, MessageAdded(message=Message("user", (Text("Hi"),), id="m1"), tokens=5)))
    assert loads(json.dumps({**body, "mood": "good"})).event == loads(json.dumps(body)).event


@pytest.mark.parametrize(
    "line",
    ["", "{", "[]", "7", "null", '{"role":"user","content":"hi"}', '{"schema":"ctxeng.event/1"}',
     '{"schema":"ctxeng.event/1","seq":1,"type":"message.added","tokens":1}',
     '{"schema":"ctxeng.event/1","seq":"x","type":"turn.cancelled"}',
     '{"schema":"ctxeng.event/1","seq":1,"type":"part.defined"}'],
)  # fmt: skip
def test_what_is_no_event_is_told(line: str) -> None:
    with pytest.raises(NotAnEvent):
        loads(line)


@pytest.mark.parametrize(("name", "text"), texts().items(), ids=list(texts()))
def test_the_published_schemas_are_those_of_the_code(name: str, text: str) -> None:
    assert (SCHEMAS / name).read_text("utf-8") == text, "run `python docs/write_schemas.py`"


def test_each_event_class_is_listed_under_its_own_name() -> None:
    classes = {cls for cls in vars(events).values() if isinstance(cls, type) and issubclass(cls, Event)}
    assert classes - {Event, Unknown} == set(EVENTS.values())
    assert all(re.fullmatch(r"[a-z]+\.[a-z_]+", name) for name in EVENTS)
