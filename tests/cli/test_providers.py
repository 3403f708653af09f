"""Whose rules hold: `--provider`, the key of a model, the recording's own; and the body that each provider takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.commands import ctxeng

SPEC = """\
version: 1
models: {house: {model: offline, provider: anthropic}}
agents:
  guide: {model: house, system: Help.}
  other: {model: offline, system: Help.}
"""
CALLED = [
    {"role": "user", "content": "Both?"},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": "look", "arguments": "{}"}} for id in "xy"
    ]},
    {"role": "tool", "tool_call_id": "y", "content": "twenty"},
    {"role": "tool", "tool_call_id": "x", "content": "ten"},
]  # fmt: skip
SAID = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Well,"}]
BEGUN = {"model": "claude-opus-4-6", "max_tokens": 9, "messages": SAID}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agents.yaml").write_text(SPEC)
    (tmp_path / "called.json").write_text(json.dumps(CALLED))
    (tmp_path / "begun.json").write_text(json.dumps(BEGUN))
    return tmp_path


def printed(folder: Path, *args: str, exit: int = 0) -> list[dict[str, Any]]:
    ran = ctxeng(*args, "--json", cwd=folder, home=folder / "home")
    assert ran.exit == exit, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def codes(lines: list[dict[str, Any]]) -> set[str]:
    return {finding["code"] for line in lines for finding in line.get("lint", ())}


def test_a_recording_is_held_against_the_rules_of_its_own_provider_unless_another_is_asked_for(folder: Path) -> None:
    assert codes(printed(folder, "replay", "begun.json", exit=1)) == {"AN008"}
    assert codes(printed(folder, "replay", "begun.json", "--provider", "openai")) == set()
    assert codes(printed(folder, "replay", "begun.json", "--provider", "gemini", exit=1)) == {"GE004"}
    assert codes(printed(folder, "inspect-context", "--transcript", "begun.json")) == {"AN008"}


@pytest.mark.parametrize(
    ("provider", "turns", "results"),
    [("openai", "messages", ["twenty", "ten"]), ("openai-responses", "input", ["twenty", "ten"]),
     ("anthropic", "messages", ["ten", "twenty"]), ("gemini", "contents", ["ten", "twenty"])],
)  # fmt: skip
def test_the_payload_is_the_providers(folder: Path, provider: str, turns: str, results: list[str]) -> None:
    (body,) = printed(folder, "inspect-context", "--transcript", "called.json", "--provider", provider, "--payload")
    text = json.dumps(body[turns])
    assert sorted(results, key=lambda result: text.index(f'"{result}"')) == results


def test_an_agent_is_held_against_the_rules_that_its_model_names(folder: Path) -> None:
    lines = printed(folder, "chat", "guide", "-m", "Hello")
    assert next(line["provider"] for line in lines if line["type"] == "session.opened") == "anthropic"
    for agent, args, provider in (
        ("guide", (), "anthropic"),
        ("other", (), "openai"),
        ("other", ("--provider", "gemini"), "gemini"),
    ):
        (view,) = printed(folder, "inspect-context", agent, "-m", "Hello", *args)
        assert (view["provider"], view["messages"][0]["role"]) == (provider, "system")
    (body,) = printed(folder, "inspect-context", "guide", "-m", "Hello", "--payload")
    assert body["system"] == [{"type": "text", "text": "Help."}]


@pytest.mark.parametrize("command", [("replay", "called.json"), ("inspect-context", "--transcript", "called.json")])
def test_a_provider_that_there_is_not_is_told(folder: Path, command: tuple[str, ...]) -> None:
    ran = ctxeng(*command, "--provider", "antropic", cwd=folder, home=folder / "home")
    assert ran.exit == 2
    assert 'Did you mean "anthropic"?' in ran.err
