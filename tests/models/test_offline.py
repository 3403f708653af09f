"""The offline model never fails, never invents, says what it is, streams what it answers, and counts exactly."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxeng_cli.core.events import Event, ModelDelta
from ctxeng_cli.core.messages import Message, Text, ToolCall, assistant, system, tool_result, user
from ctxeng_cli.core.request import Request, ToolDefinition
from ctxeng_cli.core.tokens import PRIMING, Counter
from ctxeng_cli.models.offline import Offline
from ctxeng_cli.models.offline.reader import respond


def request(*messages: Message, tools: tuple[ToolDefinition, ...] = ()) -> Request:
    return Request(tuple(m.with_id(f"m{n}") for n, m in enumerate(messages, 1)), tools)


def said(*messages: Message, tools: tuple[ToolDefinition, ...] = ()) -> str:
    return respond(request(*messages, tools=tools))[0]


def called(text: str, **properties: Any) -> list[dict[str, Any]]:
    """The arguments of the calls to one tool that requires all of its parameters."""
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    _, calls = respond(request(user(text), tools=(ToolDefinition("order_status", "Look up the status of an order.", schema),)))
    for call in calls:
        jsonschema.validate(json.loads(call.arguments), schema)
    return [json.loads(call.arguments) for call in calls]


@pytest.mark.parametrize("text", ["Who are you?", "Are you a language model?", "What can you do?", "Hello!", "你是谁？", "你好"])
def test_it_says_that_it_is_no_language_model(text: str) -> None:
    answer = said(system("You help."), user(text))
    assert "not a language model" in answer or "不是语言模型" in answer


def test_it_quotes_with_the_id_and_says_when_there_is_nothing() -> None:
    assert said(user("The code of hall B is KX-12."), assistant("Noted."), user("What is the code of hall B?")) == (
        '"The code of hall B is KX-12." [m1]'
    )
    assert said(user("The code of hall B is KX-12."), assistant("Noted."), user("Who painted the moon?")).startswith(
        "Nothing in my window answers that"
    )


def test_a_question_asked_before_is_no_answer() -> None:
    assert "Nothing in my window" in said(user("Who owns the boat?"), assistant("Nothing."), user("Who owns the boat?"))


@pytest.mark.parametrize(
    ("text", "properties", "arguments"),
    [
        ("Look up order 4711", {"order": {"type": "integer"}}, [{"order": 4711}]),
        ("order_status order=4711", {"order": {"type": "integer"}}, [{"order": 4711}]),
        ("Look up the orders 4711 and 4712", {"order": {"type": "integer"}}, [{"order": 4711}, {"order": 4712}]),
        ("Look up the order in red", {"colour": {"enum": ["red", "blue"]}}, [{"colour": "red"}]),
        ('Look up the order of "Ann B."', {"customer": {"type": "string"}}, [{"customer": "Ann B."}]),
        ("Look up the orders since 2026-12-01", {"since": {"type": "string", "format": "date"}}, [{"since": "2026-12-01"}]),
        ("Look up the order", {"order": {"type": "integer"}}, []),
    ],
)
def test_it_fills_the_arguments_from_the_message_or_does_not_call(
    text: str, properties: dict[str, Any], arguments: list[dict[str, Any]]
) -> None:
    assert called(text, **properties) == arguments


def test_a_tool_is_not_called_again_once_its_result_is_there() -> None:
    call = ToolCall("c1", "look_up", '{"order": 4711}')
    tool = ToolDefinition("look_up", "Look up an order.", {"type": "object", "properties": {"order": {"type": "integer"}}})
    answer, calls = respond(
        request(user("Look up order 4711"), assistant("", (call,)), tool_result(call, '{"state": "sent"}'), tools=(tool,))
    )
    assert calls == ()
    assert "state: sent" in answer
    assert "[m3]" in answer


@pytest.mark.parametrize("text", ["Hello", "What is a window? " * 20, "北京和上海一月的气温是多少？", "", "\ud800", "a\u202eb"])
def test_it_streams_what_it_answers_and_counts_exactly(text: str) -> None:
    asked = request(system("A window is what is sent. 窗口是发送的内容。"), user(text))
    pieces: list[Event] = []
    answer = asyncio.run(Offline().answer(asked, pieces.append))
    assert "".join(piece.text for piece in pieces if isinstance(piece, ModelDelta)) == answer.text
    assert len(pieces) > 1, "in pieces"
    counter = Counter("o200k_base", True)
    assert answer.usage.input == sum(counter.message(m) for m in asked.messages) + PRIMING
    assert answer.usage.output == counter.text(answer.text)


def test_a_megabyte_takes_moments() -> None:
    for text in ("word " * 210_000, "x" * 1_000_000, "。" * 300_000, "a. " * 300_000, "7 " * 300_000, "(" * 300_000):
        assert said(system(text), user("What is a window?"), assistant(text), user(text))


TEXTS = st.text(st.characters(codec=None), max_size=60) | st.sampled_from(
    ["[/red] [bold]", "\x1b[31m", "What is \x00?", "{{x}}", "Order 1 2 3", "什么？", "2026-12-01", '"a" "b"', "SELECT 1", "???"]
)
NAMES = st.text("abcdefgh_", min_size=1, max_size=8)
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.fixed_dictionaries(
            {"type": st.sampled_from(["string", "integer", "number", "boolean", "null", "thing", ["string", "null"]])}
        ),
        st.fixed_dictionaries({"enum": st.lists(TEXTS | st.integers() | st.none(), max_size=3)}),
        st.just({}),
        st.booleans(),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({"type": st.just("array"), "items": inner}),
        st.fixed_dictionaries({"anyOf": st.lists(inner, max_size=2)}),
        st.fixed_dictionaries({"type": st.just("object"), "properties": st.dictionaries(NAMES, inner, max_size=2)}),
        st.fixed_dictionaries({"$ref": st.just("#/$defs/nowhere")}),
    ),
    max_leaves=4,
)
TOOLS = st.builds(
    lambda name, description, properties: ToolDefinition(
        name, description, {"type": "object", "properties": properties, "required": sorted(properties)[:1]}
    ),
    NAMES, TEXTS, st.dictionaries(NAMES, SCHEMAS, max_size=3),
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.sampled_from([system, user, assistant]), TEXTS), max_size=5),
    st.lists(TOOLS, max_size=2, unique_by=lambda tool: tool.name),
    TEXTS,
)
def test_it_answers_anything_with_text_or_with_calls_that_are_json(
    before: list[tuple[Any, str]], tools: list[ToolDefinition], question: str
) -> None:
    asked = request(*(make(text) for make, text in before), user(question), tools=tuple(tools))
    text, calls = respond(asked)
    assert (text, calls) == respond(asked), "a function of the request alone"
    assert text or calls
    for call in calls:
        (tool,) = (tool for tool in tools if tool.name == call.name)
        arguments = json.loads(call.arguments)
        assert isinstance(arguments, dict)
        assert set(tool.parameters["required"]) <= set(arguments)
    assert Message("user", (Text(question),), "m1").text == question
