"""Templates: a name between double braces, and nothing else; values go in once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.assembly import Clock, check_agent, given_inputs, parse, render, variables
from ctxeng_cli.core.errors import SpecError, UsageError
from ctxeng_cli.spec import AgentSpec, InputSpec, ModelSpec, TextSource

NAMES = st.sampled_from(["city", "it", "当前", "a_b", "env.HOME"])
VALUES = st.text(st.sampled_from("{}a %.\\n$it"), max_size=12)
TEXTS = st.text(st.characters(codec=None), max_size=30)


def filled(text: str, **values: str) -> str:
    return render(parse(TextSource(text, "prompt.md")), values)


def mistake(text: str, **values: str) -> str:
    with pytest.raises(SpecError) as caught:
        filled(text, **values)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("{{city}}", "Bern"),
        ("{{ city }}/{{city}}", "Bern/Bern"),
        ("{{\ncity\n}}", "Bern"),
        ('{"a": {"b": 1}}', '{"a": {"b": 1}}'),
        ("x_{i}^{2} and { y }", "x_{i}^{2} and { y }"),
        ("{{{{city}}}}", "{{city}}"),
        ("a }} b {{city}}", "a }} b Bern"),
        ("{% if x %}{# note #}{{city}}", "{% if x %}{# note #}Bern"),
        ("${city} %(city)s {city}", "${city} %(city)s {city}"),
        ("", ""),
    ],
)
def test_what_is_filled_in_and_what_is_text(text: str, shown: str) -> None:
    assert filled(text, city="Bern") == shown


@pytest.mark.parametrize(
    "inside",
    ["city.upper()", "7*7", "city|upper", "x.__class__", "self", "''", "1a", "city,it", "range(9)", "a.b.c", "", " ", "a b"],
)
def test_nothing_is_evaluated(inside: str) -> None:
    told = mistake("One\n  {{" + inside + "}}", city="Bern")
    assert told.startswith("prompt.md:2:3: ")
    assert "49" not in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Hi {{ctiy}}", 'prompt.md:1:4: unknown variable "ctiy". Did you mean "city"?'),
        ("a\nb {{zzz}}", 'prompt.md:2:3: unknown variable "zzz". Declare it under `inputs:`'),
        ("{{env.HOME}}", "prompt.md:1:1: {{env.HOME}}: HOME is not listed under `env:`. Add it there: `env: [HOME]`."),
        ("{{a b}}", "prompt.md:1:1: {{a b}} is no variable: only a name may stand between {{ and }}"),
        ("{{}}", "prompt.md:1:1: a variable needs a name between {{ and }}"),
    ],
)
def test_a_mistake_has_its_place_and_the_fix(text: str, told: str) -> None:
    assert mistake(text, city="Bern").startswith(told)


def test_all_mistakes_of_a_template_are_told() -> None:
    assert mistake("{{a b}} {{}}").count("prompt.md:") == 2
    assert mistake("{{one}} {{two}}").count("prompt.md:") == 2


@given(st.lists(st.tuples(VALUES.map(lambda t: t.replace("{", "{ ").replace("}", "} ")), NAMES), max_size=5), st.data())
def test_values_go_in_once_and_are_never_read(pieces: list[tuple[str, str]], data: st.DataObject) -> None:
    """The result is the texts and the values in order, whatever braces the values hold."""
    values = {name: data.draw(VALUES) for name in ("city", "it", "当前", "a_b", "env.HOME")}
    texts = [text for text, _ in pieces]
    template = "".join(text + "{{" + name + "}}" for text, (_, name) in zip(texts, pieces, strict=True))
    expected = "".join(text + values[name] for text, (_, name) in zip(texts, pieces, strict=True))
    assert render(parse(TextSource(template, "p")), values) == expected


@given(TEXTS)
def test_any_text_can_be_written_literally(text: str) -> None:
    """Doubling each pair of braces makes a template that shows the text itself."""
    spaced = text.replace("{", "{ ").replace("}", "} ")
    assert filled(spaced) == spaced
    assert filled("{{{{" + spaced + "}}}}") == "{{" + spaced + "}}"


@given(TEXTS | VALUES)
def test_any_text_is_a_template_or_told_with_a_place(text: str) -> None:
    told = ""
    try:
        parse(TextSource(text, "p"))
    except SpecError as error:
        told = str(error)
    assert told == "" or told.startswith("p:")


# -- inputs ----------------------------------------------------------------------------------------------------------


def agent(*inputs: InputSpec, system: str = "", user: str | None = None, env: tuple[str, ...] = ()) -> AgentSpec:
    return AgentSpec(
        "a", ModelSpec("offline"), inputs=inputs, env=env,
        system=TextSource(system, "s.md"), user=None if user is None else TextSource(user, "u.md"),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "given_", "value"),
    [
        ("string", "a", "a"), ("string", 7, "7"), ("string", "", ""),
        ("integer", "42", 42), ("integer", "-1_000", -1000), ("integer", 3.0, 3),
        ("number", "2.5", 2.5), ("number", 2, 2),
        ("boolean", "yes", True), ("boolean", "off", False), ("boolean", True, True),
        ("date", "2026-12-01", "2026-12-01"),
        ("list", "a, b", ["a", "b"]), ("list", '["a, b", 1]', ["a, b", 1]), ("list", "", []),
        ("object", '{"a": 1}', {"a": 1}),
        ("enum", "low", "low"),
    ],
)  # fmt: skip
def test_inputs_are_read_as_their_type(kind: str, given_: Any, value: Any) -> None:
    spec = InputSpec("x", kind, values=("low", "high"))
    read = given_inputs(agent(spec), {"x": given_}, {})["x"]
    assert read == value
    assert type(read) is type(value) or kind == "number"


@pytest.mark.parametrize(
    ("kind", "given_"),
    [("integer", "few"), ("integer", "1.5"), ("integer", True), ("number", "nan"), ("number", "1e999"), ("boolean", "perhaps"),
     ("date", "2026-02-30"), ("date", "tomorrow"), ("list", "[1"), ("object", "[]"), ("object", "a"), ("enum", "lo")],
)  # fmt: skip
def test_a_wrong_value_is_told_with_the_input_and_the_agent(kind: str, given_: Any) -> None:
    with pytest.raises(UsageError, match='input "x" of agent a must be'):
        given_inputs(agent(InputSpec("x", kind, values=("low", "high"))), {"x": given_}, {})


def test_inputs_come_from_the_caller_then_the_last_turn_then_the_default() -> None:
    specs = (InputSpec("x", "string", "d", False), InputSpec("y", "string"))
    assert given_inputs(agent(*specs), {"y": "1"}, {}) == {"x": "d", "y": "1"}
    assert given_inputs(agent(*specs), {"x": "2"}, {"y": "1", "x": "old"}) == {"x": "2", "y": "1"}
    with pytest.raises(UsageError, match=r'needs the input "y": give it with --var y='):
        given_inputs(agent(*specs), {}, {})
    with pytest.raises(UsageError, match='has no input "z"'):
        given_inputs(agent(*specs), {"z": "1"}, {})


def test_built_ins_are_those_of_the_recorded_clock() -> None:
    shown = variables(agent(), {}, Clock("2026-12-01T09:30:00.123+01:00"), {})
    assert shown == {
        "current_date": "2026-12-01",
        "current_time": "09:30:00",
        "current_date_time": "2026-12-01T09:30:00",
    }


def test_values_are_shown_as_a_reader_expects() -> None:
    inputs = {"a": True, "b": ["x", "y"], "c": {"k": "密"}, "d": 1.5, "e": None}
    shown = variables(agent(env=("REGION", "UNSET")), inputs, Clock("2026-12-01T00:00:00+00:00"), {"REGION": "eu", "SECRET": "s"})
    assert {k: shown[k] for k in "abcde"} == {"a": "true", "b": "x, y", "c": '{"k": "密"}', "d": "1.5", "e": ""}
    assert (shown["env.REGION"], shown["env.UNSET"]) == ("eu", "")
    assert "env.SECRET" not in shown


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        (agent(system="{{rolle}}", user="{{it}}"), 's.md:1:1: unknown variable "rolle"'),
        (agent(InputSpec("role", "string"), system="{{rolle}}"), 'Did you mean "role"?'),
        (agent(system="{{it}}"), "s.md:1:1: {{it}} is the person's text"),
        (agent(user="Always the same"), "u.md:1:1: the user template never shows {{it}}"),
        (agent(InputSpec("role", "string")), 'input "role" is used by no template'),
        (agent(system="{{env.REGION}}"), "REGION is not listed under `env:`"),
        (agent(system="{{a b}}"), "only a name may stand"),
    ],
)
def test_templates_are_checked_without_a_turn(spec: AgentSpec, told: str) -> None:
    problems = check_agent(spec)
    assert any(told in str(problem) for problem in problems), problems


def test_a_sound_agent_has_no_problems() -> None:
    spec = agent(InputSpec("role", "string"), system="{{role}} {{current_date}} {{env.REGION}}", user="{{it}}", env=("REGION",))
    assert check_agent(spec) == []
