"""agents.yaml: what is read, and for each kind of mistake the place and the fix."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxeng_cli.core.errors import Problem, SpecError, UsageError
from ctxeng_cli.spec import Project, json_schema, load
from ctxeng_cli.spec.keys import AGENT, MEMORY, ROOT, TOOL, TOOL_LOOP
from ctxeng_cli.spec.load import find

FULL = """\
version: 1
models:
  small: {model: openai/gpt-5-mini, temperature: 0.2, context_window: 8000, max_output: 500, timeout_s: 30}
  mine: {model: openai/qwen, api_base: "http://127.0.0.1:8080/v1"}
defaults:
  memory: {window: tokens:6000, reserve: 500}
agents:
  helper:
    description: helps
    model: small
    inputs:
      role: {type: string, default: guest, description: who asks}
      since: {type: date, default: 2026-01-02}
      level: {type: enum, values: [low, high], default: low}
    env: [REGION]
    system: {file: prompts/helper.md}
    user: "From {{role}}: {{it}}"
    tools:
      - python: app.tools:look
        timeout_s: 5
    tool_loop: {max_rounds: 3, on_limit: answer}
  plain:
    system: Be brief.
    memory: none
"""


def write(folder: Path, text: str, **files: str) -> Path:
    for name, content in {"prompts/helper.md": "Help {{role}}.\n", **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, "utf-8")
    path = folder / "agents.yaml"
    path.write_text(text, "utf-8")
    return path


def problems(folder: Path, text: str, **files: str) -> list[str]:
    """`line:column: message` of each problem."""
    with pytest.raises(SpecError) as caught:
        load(write(folder, text, **files))
    return [f"{p.place.line}:{p.place.column}: {p.message}" for p in caught.value.problems if p.place]


def test_a_whole_spec_is_read(tmp_path: Path) -> None:
    project = load(write(tmp_path, FULL))
    helper, plain = project.agents["helper"], project.agents["plain"]
    assert list(project.agents) == ["helper", "plain"]
    assert (helper.model.model, helper.model.temperature, helper.model.max_output) == ("openai/gpt-5-mini", 0.2, 500)
    assert project.models["mine"].api_base == "http://127.0.0.1:8080/v1"
    assert [(i.name, i.type, i.default, i.required) for i in helper.inputs] == [
        ("role", "string", "guest", False),
        ("since", "date", "2026-01-02", False),
        ("level", "enum", "low", False),
    ]
    assert helper.system is not None
    assert helper.system.text == "Help {{role}}."
    assert (str(helper.policy), str(plain.policy)) == ("tokens:6000,reserve=500", "none")
    assert (helper.max_rounds, plain.max_rounds) == (3, 20)
    assert [(t.python, t.timeout_s) for t in helper.tools] == [("app.tools:look", 5.0)]
    assert plain.model.model == "offline"
    assert {Path(file).name for file in project.files} == {"agents.yaml", "helper.md"}


def test_a_spec_is_frozen(tmp_path: Path) -> None:
    helper = load(write(tmp_path, FULL)).agents["helper"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        helper.max_rounds = 4  # type: ignore[misc]


def test_what_was_written_is_what_is_read(tmp_path: Path) -> None:
    """YAML's own ideas (NO is false, 1.10 is 1.1, 0777 is 511) don't reach texts."""
    text = (
        "version: 1\nagents: {a: {description: NO, inputs: {v: {default: 1.10}, w: {default: 0777}, x: {default: 2026-01-02}}}}\n"
    )
    agent = load(write(tmp_path, text)).agents["a"]
    assert agent.description == "NO"
    assert [i.default for i in agent.inputs] == ["1.10", "0777", "2026-01-02"]


def test_anchors_and_merge_keys_work(tmp_path: Path) -> None:
    text = "version: 1\nagents:\n  a: &base {system: Hi., env: [X]}\n  b:\n    <<: *base\n    env: [Y]\n"
    project = load(write(tmp_path, text))
    assert project.agents["b"].env == ("Y",)
    assert project.agents["b"].system is not None
    assert project.agents["b"].system.text == "Hi."


@pytest.mark.parametrize("form", ["\ufeff{}", "{}\r\n", "%YAML 1.2\n---\n{}"], ids=["byte order mark", "crlf", "directive"])
def test_files_of_other_systems_are_read(tmp_path: Path, form: str) -> None:
    body = "version: 1\nagents: {a: {system: Hi.}}"
    path = tmp_path / "agents.yaml"
    path.write_bytes(form.replace("{}", body.replace("\n", "\r\n") if "\r\n" in form else body).encode())
    system = load(path).agents["a"].system
    assert system is not None
    assert system.text == "Hi."


A = "version: 1\nagents:\n  a:\n    "  # then one line of an agent, at line 4, column 5

MISTAKES = [
    # syntax
    ("version: 1\nagents:\n\ta: {}\n", "3:1", "indented with spaces"),
    ("version: 1\nagents: {a: {system: Hi: there}}\n", "2:24", "not valid YAML"),
    ("version: 1\nagents: [a\n", "3:1", "not valid YAML"),
    ("version: 1\nagents: {a: *nobody}\n", "2:13", "An anchor (&name) must stand before its alias"),
    ("version: 1\n---\nversion: 1\n", "2:1", "not valid YAML"),
    # the root
    ("", "1:1", "the file is empty"),
    ("# nothing\n", "1:1", "the file is empty"),
    ("- a\n", "1:1", "found a list"),
    ("agents: {a: {}}\n", "1:1", 'needs the key "version"'),
    ("version: 2\nagents: {a: {}}\n", "1:10", "expected one of 1"),
    ("version: 1\n", "1:1", 'needs the key "agents"'),
    ("version: 1\nagents: {}\n", "2:9", "there is no agent here"),
    ("version: 1\nagent: {a: {}}\n", "2:1", "Agents stand under `agents`, by name"),
    ("version: 1\nagents: {a: {}}\nagents: {b: {}}\n", "3:1", 'key "agents" stands here for the second time'),
    ("version: 1\nagents: {a: {}, a: {}}\n", "2:17", 'key "a" stands here for the second time'),
    ("version: 1\nagents: {a b: {}}\n", "2:10", "a b"),
    ("version: 1\nagents: {a: {}}\nworkflows: {}\n", "3:1", '"workflows" is not built yet'),
    # keys
    (A + "sistem: Hi.", "4:5", 'Did you mean "system"'),
    (A + "instructions: Hi.", "4:5", "called `system` here"),
    (A + "system: Hi.\n    system: Ho.", "5:5", 'key "system" stands here for the second time'),
    (A + "retrieval: {files: []}", "4:5", '"retrieval" is not built yet'),
    (A + "compat: langchain4j", "4:13", "takes messages:N or tokens:N"),
    (A + "compat: spring", "4:13", "expected one of langchain4j"),
    (A + "system: [Hi.]", "4:13", "found a list"),
    (A + "system:", "4:12", "found nothing"),
    (A + "env: REGION", "4:10", "expected a list"),
    # prompts
    (A + "system: {file: prompts/helpr.md}", "4:20", 'Did you mean "prompts/helper.md"'),
    (A + "system: {file: nowhere/x.md}", "4:20", "there is no file x.md"),
    (A + "system: {file: prompts}", "4:20", "can't read"),
    (A + "system: {path: prompts/helper.md}", "4:14", 'unknown key "path"'),
    (A + "system: file://prompts/helper.md", "4:13", "write `system: {file: prompts/helper.md}`"),
    # models
    (A + "model: ofline", "4:12", 'Did you mean "offline"'),
    (A + "model: scripted:nothing.jsonl", "4:12", "there is no script nothing.jsonl"),
    ("version: 1\nmodels: {m: {temperature: 1}}\nagents: {a: {}}\n", "2:13", 'needs the key "model"'),
    ("version: 1\nmodels: {m: {model: x/y, temperature: hot}}\nagents: {a: {}}\n", "2:39", "expected a number"),
    ("version: 1\nmodels: {m: {model: x/y, temperature: 3}}\nagents: {a: {}}\n", "2:39", "of 0 or more and 2 or less"),
    ("version: 1\nmodels: {m: {model: x/y, api_key: abc}}\nagents: {a: {}}\n", "2:26", "Keys never stand in a spec"),
    # inputs
    (A + "inputs: {r: {type: strin}}", "4:24", 'Did you mean "string"'),
    (A + "inputs: {r: {type: enum}}", "4:14", "name its values"),
    (A + "inputs: {r: {type: integer, default: few}}", "4:42", 'must be a whole number, not "few"'),
    (A + "inputs: {r: {type: enum, values: [a, b], default: c}}", "4:55", "must be one of a, b"),
    (A + "inputs: {r: {type: date, default: 2026-02-30}}", "4:39", "must be a date"),
    (A + "inputs: {it: {}}", "4:14", "it"),
    (A + "inputs: {current_date: {}}", "4:14", "current_date"),
    (A + "inputs: {a-b: {}}", "4:14", "a-b"),
    # memory
    (A + "memory: {window: token:60}", "4:22", 'Did you mean "tokens:60"'),
    (A + "memory: {window: tokens:many}", "4:29", 'needs a whole number, not "many"'),
    (A + 'memory: {window: "messages:0"}', "4:32", "greater than zero"),
    (A + "memory: {window: python:a}", "4:29", "expected python:module:function"),
    (A + "memory: {window: as-recorded}", "4:22", "a live window has no recording"),
    (A + "memory: {window: tokens:180%}", "4:29", "more than the model has"),
    (A + "memory: {window: messages:4, low_water: 7}", "4:45", "of 0.01 or more and 1 or less"),
    (A + "memory: {unit: message}", "4:20", "unit belongs to a window with a limit"),
    (A + "memory: {window: messages:4, unit: mesage}", "4:40", 'Did you mean "message"'),
    (A + 'memory: {window: "messages:4,unit=message", unit: exchange}', "4:55", "unit stands in `window` too"),
    (A + "memory: {window: unlimited, pipeline: []}", "4:43", "a pipeline belongs to a window of tokens"),
    (A + "memory: {window: messages:4, pipeline: [{offload: {}}]}", "4:44", "a pipeline belongs to a window of tokens"),
    (A + "memory: {window: tokens:400, pipeline: [{offload: {over_tokens: 0}}]}", "4:69", "of 1 or more"),
    (A + "memory: {window: tokens:400, pipeline: [{summarize: {over: 120%}}]}", "4:64", 'expected a share such as "80%"'),
    (A + "memory: {window: tokens:400, pipeline: [{summarize: {model: offlin}}]}", "4:65", 'Did you mean "offline"'),
    (A + "memory: {window: tokens:400, pipeline: [{summarize: {prompt: no.md}}]}", "4:66", "there is no file no.md"),
    (A + "memory: {window: tokens:400, pipeline: [{cap_result: {token: 5}}]}", "4:59", 'Did you mean "tokens"'),
    (A + "memory: {window: tokens:400, pipeline: [{cap_result: {}}, {cap_result: {}}]}", "4:44", "each step stands once"),
    (A + "memory: {window: 'tokens:400,cap_result=9', pipeline: []}", "4:59", "steps stand in `window` too"),
    (A + "memory: {window: tokens:40, pin: [first]}", "4:39", '"first" is no message id such as m2'),
    (A + "memory: {window: tokens:40, pin: [{has: x}]}", "4:40", 'unknown key "has"'),
    (A + "memory: {pin: [m2]}", "4:19", "pins belong to a window with a limit"),
    (A + "memory: {overflow: explode}", "4:24", "expected one of error, truncate, keep"),
    (A + "memory: {store: redis}", "4:21", 'unknown store "redis". Write redis://host:port/db.'),
    (A + "memory: {store: 'sqlite:'}", "4:21", "Write sqlite:PATH."),
    (A + "memory: {store: fiel}", "4:21", 'Did you mean "file"'),
    (A + "memory: {store: python:x}", "4:21", "expected module:function"),
    (A + "memory: {store: file:x}", "4:21", "Write file."),
    (A + "memory: {window: tokens:100, reserve: 100}", "4:43", "leaves nothing"),
    (A + "memory: {window: messages:4, reserve: 10}", "4:43", "belongs to a tokens:N window"),
    (A + "memory: {max_messages: 4}", "4:14", "Write `window: messages:N`"),
    (A + "memory: nothing", "4:13", "none"),
    # tools
    (A + "tools: app.tools:look", "4:12", "expected a list"),
    (A + "tools: [app.tools:look]", "4:13", "found"),
    (A + "tools: [{python: look}]", "4:22", "module:function"),
    (A + "tools: [{mcp: {url: x}}]", "4:14", '"mcp" is not built yet'),
    (A + "tools: [{python: a:b, timeout_s: 0}]", "4:38", "of 0.01 or more"),
    (A + "tools: [{timeout_s: 3}]", "4:12", "a tool needs its source"),
    (A + "tool_loop: {max_rounds: -1}", "4:29", "of 0 or more"),
    (A + "tool_loop: {max_rounds: 1.5}", "4:29", "expected a whole number"),
    (A + "tool_loop: {on_limit: error}", "4:27", '"error" is not built yet'),
    (A + "tool_loop: {max_iterations: 3}", "4:17", "Write `max_rounds`"),
]


@pytest.mark.parametrize(("text", "place", "message"), MISTAKES, ids=[f"{p} {m}"[:60] for _, p, m in MISTAKES])
def test_each_mistake_is_told_with_its_place_and_the_fix(tmp_path: Path, text: str, place: str, message: str) -> None:
    found = problems(tmp_path, text)
    assert any(line.startswith(place + ": ") and message in line for line in found), found


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    found = problems(tmp_path, A + "sistem: Hi.\n    memory: {window: token:60}\n    model: ofline\n")
    assert [line.split(" ")[0] for line in found] == ["4:5:", "5:22:", "6:12:"]


def test_what_the_contract_has_and_is_not_built_is_refused_never_ignored(tmp_path: Path) -> None:
    """Every such key, wherever it stands: none may be accepted in silence."""
    later = 0
    places = {
        "%s, agents: {a: {}}": ROOT,
        "agents: {a: {%s}}": AGENT,
        "agents: {a: {memory: {window: messages:4, %s}}}": MEMORY,
        "agents: {a: {tools: [{python: a:b, %s}]}}": TOOL,
        "agents: {a: {tool_loop: {%s}}}": TOOL_LOOP,
    }
    for body, record in places.items():
        for name, key in record.keys.items():
            if key.later:
                later += 1
                found = problems(tmp_path, "{version: 1, " + body.replace("%s", f"{name}: 1") + "}")
                assert any(f'"{name}" is not built yet' in problem for problem in found), (name, found)
    assert later > 10


def test_a_file_that_may_not_be_read_is_told() -> None:
    root = os.geteuid() == 0  # who reads everything, so it becomes nobody for a moment
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        path = write(folder, FULL)
        (folder / "prompts/helper.md").chmod(0)
        if root:
            os.seteuid(65534)
        try:
            with pytest.raises(SpecError, match=r"agents.yaml:16:20: can't read .*helper.md: permission denied"):
                load(path)
        finally:
            if root:
                os.seteuid(0)


def test_a_prompt_that_is_no_utf8_is_told_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, FULL)
    (tmp_path / "prompts/helper.md").write_bytes(b"Hi\nGr\xfc\xdfe\n")
    with pytest.raises(SpecError, match=r"helper.md is not UTF-8: byte 0xfc in line 2"):
        load(path)


def test_a_bomb_of_aliases_is_refused_at_once(tmp_path: Path) -> None:
    layers = "\n".join(f"  x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, 12))
    text = f"version: 1\nagents: {{a: {{inputs: {{i: {{type: list, default: *x11}}}}}}}}\nscope:\n  x0: &x0 [1]\n{layers}\n"
    assert problems(tmp_path, text.replace("agents:", "zzz:"))
    bomb = (
        "version: 1\ndefaults:\n  description: Hi\nagents:\n  a:\n    inputs:\n      i:\n        type: list\n        default:\n"
    )
    rows = ["          - &x0 [1]", *(f"          - &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]" for n in range(1, 10))]
    assert any("unfold" in line or "too" in line for line in problems(tmp_path, bomb + "\n".join(rows) + "\n"))


def test_another_tools_file_is_told_apart(tmp_path: Path) -> None:
    crew = "researcher:\n  role: finds\n  goal: find\n  backstory: found\nwriter:\n  role: writes\n  goal: write\n"
    assert "this looks like a CrewAI agents.yaml" in problems(tmp_path, crew)[0]


def test_where_the_spec_is_looked_for(tmp_path: Path) -> None:
    path = write(tmp_path, FULL)
    assert find(None, {}, tmp_path) == path
    assert find(None, {"CTXENG_FILE": str(path)}, Path("/")) == path
    assert find(str(tmp_path), {}, Path("/")) == path
    with pytest.raises(UsageError, match="there is no spec file other"):
        find("other.yaml", {}, tmp_path)
    path.rename(tmp_path / "agents.yml")
    with pytest.raises(UsageError, match="There is an agents"):
        find(None, {}, tmp_path)


# -- the laws --------------------------------------------------------------------------------------------------------


def _loads_or_tells(path: Path) -> Project | None:
    problems: tuple[Problem, ...] = ()
    try:
        return load(path)
    except SpecError as error:
        problems = error.problems
    assert problems
    assert all(problem.message and problem.place for problem in problems)
    return None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_spec_that_was_damaged_anywhere_is_read_or_told(tmp_path: Path, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(FULL)))
    end = data.draw(st.integers(start, min(len(FULL), start + 30)))
    junk = data.draw(st.text(st.sampled_from("{}[]:-#&*!|>'\"%@`,? \n\tabc01\u00e9\u4e2d"), max_size=12))
    _loads_or_tells(write(tmp_path, FULL[:start] + junk + FULL[end:]))


PLAIN: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 9) | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from([k for k, v in AGENT.keys.items() if not v.later]), value=PLAIN)
def test_any_value_under_any_key_is_read_or_told_and_the_published_schema_agrees(tmp_path: Path, key: str, value: Any) -> None:
    """What the JSON schema refuses, the loader refuses: an editor that uses it never marks a good spec."""
    body = {"version": 1, "agents": {"a": {key: value}}}
    project = _loads_or_tells(write(tmp_path, yaml.safe_dump(body, allow_unicode=True)))
    if project is not None:
        jsonschema.validate(yaml.safe_load((tmp_path / "agents.yaml").read_text("utf-8")), json_schema())


def test_the_published_schema_is_a_schema_and_takes_the_full_spec() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(json.loads(json.dumps(yaml.safe_load(FULL), default=str)), json_schema())
