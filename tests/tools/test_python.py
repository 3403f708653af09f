"""Python functions as tools: what a model is told of them, how its arguments are read, what becomes of the answer."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import enum
import json
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic
import pytest

from ctxeng_cli.core.errors import Place, SpecError, ToolError
from ctxeng_cli.spec import ToolSpec
from ctxeng_cli.tools import PythonTool, load_tools


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@dataclasses.dataclass
class Address:
    street: str
    number: int = 1


class Item(pydantic.BaseModel):
    name: str
    price: float = pydantic.Field(ge=0)


def order(
    item: Item,
    to: Address,
    size: Size,
    when: datetime.date,
    how: Literal["fast", "cheap"] = "cheap",
    notes: list[str] | None = None,
    count: Annotated[int, "How many."] = 1,
) -> dict[str, Any]:
    """Order an item.

    It is sent at once.

    Args:
        item: What to order.
        to: Where it goes,
            with the number of the house.
        size (Size): How large.

    Returns:
        What was ordered.
    """
    return {"item": item.name, "to": to.street, "size": size.value, "when": when, "how": how, "notes": notes, "count": count}


GOOD = {"item": {"name": "rope", "price": 3}, "to": {"street": "Quay"}, "size": "large", "when": "2026-12-01"}


def call(function: Callable[..., Any], **arguments: Any) -> str:
    return asyncio.run(PythonTool(function).call(arguments))


def refused(function: Callable[..., Any], **arguments: Any) -> str:
    with pytest.raises(ToolError) as caught:
        call(function, **arguments)
    return str(caught.value)


def test_a_model_is_told_names_types_choices_defaults_and_descriptions() -> None:
    definition = PythonTool(order).definition
    fields = definition.parameters["properties"]
    assert definition.name == "order"
    assert definition.description == "Order an item.\n\nIt is sent at once."
    assert definition.parameters["required"] == ["item", "to", "size", "when"]
    assert definition.parameters["additionalProperties"] is False
    assert fields["to"]["description"] == "Where it goes, with the number of the house."
    assert fields["size"]["description"] == "How large."
    assert fields["count"] == {"type": "integer", "description": "How many.", "default": 1}
    assert fields["how"] == {"type": "string", "enum": ["fast", "cheap"], "default": "cheap"}
    assert fields["when"] == {"type": "string", "format": "date"}
    assert {"type": "array", "items": {"type": "string"}} in fields["notes"]["anyOf"]
    assert definition.parameters["$defs"]["Size"]["enum"] == ["small", "large"]
    assert definition.parameters["$defs"]["Address"]["required"] == ["street"]


@pytest.mark.parametrize(
    "doc",
    [
        "Say.\n\nArgs:\n    city: Where.\n",
        "Say.\n\nParameters\n----------\ncity : str\n    Where.\n",
        "Say.\n\n:param city: Where.\n:returns: A text.\n",
    ],
    ids=["google", "numpy", "rest"],
)
def test_descriptions_come_from_the_docstring_in_any_style(doc: str) -> None:
    def say(city: str) -> str:
        return city

    say.__doc__ = doc
    definition = PythonTool(say).definition
    assert definition.description == "Say."
    assert definition.parameters["properties"]["city"] == {"type": "string", "description": "Where."}


def test_arguments_are_values_of_the_annotated_types() -> None:
    answer = json.loads(call(order, **GOOD, notes=["a"], count="3"))
    assert answer == {
        "item": "rope", "to": "Quay", "size": "large", "when": "2026-12-01", "how": "cheap", "notes": ["a"], "count": 3,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"size": "huge"}, "size"),
        ({"when": "tomorrow"}, "when"),
        ({"item": {"name": "rope", "price": -1}}, "item.price"),
        ({"to": {}}, "to.street"),
        ({"how": "slow"}, "how"),
        ({"count": "many"}, "count"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_wrong_argument_is_told_by_its_name(change: dict[str, Any], told: str) -> None:
    message = refused(order, **{**GOOD, **change})
    assert told in message
    assert "pydantic" not in message
    assert "https://" not in message


def test_all_wrong_arguments_are_told_at_once() -> None:
    message = refused(order, size="huge")
    assert all(name in message for name in ("item", "to", "size", "when"))


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("as it is", "as it is"),
        (None, "ok"),
        (7, "7"),
        ({"城": [1, None]}, '{"城": [1, null]}'),
        (Address("Quay"), '{"street": "Quay", "number": 1}'),
        (Item(name="rope", price=1), '{"name": "rope", "price": 1.0}'),
        ({Size.SMALL: datetime.date(2026, 12, 1)}, '{"small": "2026-12-01"}'),
        (b"bytes", '"bytes"'),
        ({1, 2}, "[1, 2]"),
    ],
)
def test_answers_become_text(answer: Any, text: str) -> None:
    assert call(lambda_named(answer)) == text


def lambda_named(answer: Any) -> Callable[[], Any]:
    def give() -> Any:
        return answer

    return give


def test_what_no_json_holds_is_told_by_its_own_words() -> None:
    assert "object" in call(lambda_named(object()))


def test_functions_run_in_threads_and_coroutines_in_the_loop() -> None:
    def where() -> str:
        return threading.current_thread().name

    async def here() -> str:
        return threading.current_thread().name

    assert call(where) == "tool"
    assert call(here) == "MainThread"


def test_plain_functions_run_at_the_same_time() -> None:
    together = threading.Barrier(3, timeout=10)

    def meet() -> str:
        together.wait()
        return "met"

    async def all_three() -> list[str]:
        tool = PythonTool(meet)
        return await asyncio.gather(*(tool.call({}) for _ in range(3)))

    assert asyncio.run(all_three()) == ["met"] * 3


def test_a_call_that_never_ends_holds_nobody_up() -> None:
    def hang() -> None:
        threading.Event().wait()

    async def given_up() -> None:
        async with asyncio.timeout(0.1):
            await PythonTool(hang).call({})

    start = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(given_up())
    assert time.monotonic() - start < 5


FUNCTIONS = '''
def good(x: int) -> int:
    return x

def good_too(x: int) -> int:
    return x

def star(*x): ...
def keywords(**x): ...
def positional(x, /): ...
def unreadable(x: "Nowhere") -> None: ...
def 天气(x: int) -> int: return x
class Desk:
    def ask(self, x: int) -> int:
        """Ask the desk."""
        return x
desk = Desk()
nothing = 3
short = lambda x: x
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "some_tools_for_tests.py").write_text(FUNCTIONS, "utf-8")
    (tmp_path / "broken_tools_for_tests.py").write_text("import nothing_such\n")
    (tmp_path / "raising_tools_for_tests.py").write_text("raise SystemExit(3)\n")
    monkeypatch.setattr("sys.path", [str(tmp_path), *__import__("sys").path])
    return tmp_path


def loaded(folder: Path, *names: str) -> tuple[PythonTool, ...]:
    return load_tools([ToolSpec(name, 30.0, Place("agents.yaml", n, 5)) for n, name in enumerate(names, 1)], str(folder))


def test_functions_and_methods_are_found_beside_the_spec(folder: Path) -> None:
    tools = loaded(folder, "some_tools_for_tests:good", "some_tools_for_tests:desk.ask")
    assert [tool.definition.name for tool in tools] == ["good", "ask"]
    assert asyncio.run(tools[1].call({"x": 4})) == "4"
    assert list(tools[1].definition.parameters["properties"]) == ["x"], "self is no parameter"


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("some_tools_for_tests:goood", 'has no function goood. Did you mean "good"?'),
        ("no_tools_for_tests:x", "there is no module no_tools_for_tests beside the spec or installed"),
        ("broken_tools_for_tests:x", "can't be imported: No module named 'nothing_such'. Install it"),
        ("raising_tools_for_tests:x", "can't be imported: SystemExit: 3"),
        ("some_tools_for_tests:nothing", "is a int, no function"),
        ("some_tools_for_tests:star", "has the parameter *x; a tool's parameters must have names"),
        ("some_tools_for_tests:keywords", "has the parameter **x"),
        ("some_tools_for_tests:positional", "has the parameter x"),
        ("some_tools_for_tests:unreadable", "the annotations of unreadable can't be read"),
        ("some_tools_for_tests:天气", "no provider takes a tool named 天气"),
        ("some_tools_for_tests:short", "no provider takes a tool named <lambda>"),
    ],
)
def test_what_can_be_no_tool_is_told_with_its_place(folder: Path, name: str, told: str) -> None:
    with pytest.raises(SpecError) as caught:
        loaded(folder, "some_tools_for_tests:good", name)
    (problem,) = caught.value.problems
    assert told in problem.message
    assert str(problem).startswith("agents.yaml:2:5: ")


def test_two_tools_of_one_name_are_told(folder: Path) -> None:
    with pytest.raises(SpecError, match="there are two tools named good"):
        loaded(folder, "some_tools_for_tests:good", "some_tools_for_tests:good")
