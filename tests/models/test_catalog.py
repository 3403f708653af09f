"""What a model's window holds: the spec's word, else litellm's map, read without importing litellm."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ctxeng_cli.models.catalog import Limits, limits_of, provider_of, window_problem
from ctxeng_cli.spec import AgentSpec, ModelSpec, parse_policy


@pytest.mark.parametrize(
    ("spec", "known"),
    [
        (ModelSpec("offline"), Limits()),
        (ModelSpec("scripted:a.jsonl"), Limits()),
        (ModelSpec("openai/gpt-4o"), Limits(128_000, 16_384)),
        (ModelSpec("gpt-4o"), Limits(128_000, 16_384)),
        (ModelSpec("anthropic/claude-sonnet-4-5"), Limits(200_000, 64_000)),
        (ModelSpec("openai/gpt-4o", api_base="http://127.0.0.1:1/v1"), Limits()),
        (ModelSpec("openai/gpt-4o", context_window=9000), Limits(9000, 16_384)),
        (ModelSpec("openai/nobody-knows", context_window=9000, max_output=500), Limits(9000, 500)),
        (ModelSpec("openai/nobody-knows"), Limits()),
    ],
)
def test_the_spec_is_asked_first_and_the_map_then(spec: ModelSpec, known: Limits) -> None:
    assert limits_of(spec) == known


@pytest.mark.parametrize(
    ("spec", "provider"),
    [
        (ModelSpec("offline"), "openai"),
        (ModelSpec("scripted:a.jsonl"), "openai"),
        (ModelSpec("openai/gpt-5"), "openai"),
        (ModelSpec("ollama/qwen3:4b"), "openai"),
        (ModelSpec("openrouter/anthropic/claude-sonnet-4"), "openai"),
        (ModelSpec("anthropic/claude-sonnet-4-5"), "anthropic"),
        (ModelSpec("anthropic/mine", api_base="http://127.0.0.1:1"), "anthropic"),
        (ModelSpec("claude-opus-5"), "anthropic"),
        (ModelSpec("gemini/gemini-3-pro"), "gemini"),
        (ModelSpec("vertex_ai/gemini-2.5-pro"), "gemini"),
        (ModelSpec("vertex_ai/claude-sonnet-4-5"), "anthropic"),
        (ModelSpec("openai/gpt-5", provider="openai-responses"), "openai-responses"),
        (ModelSpec("claude-opus-5", provider="openai"), "openai"),
    ],
)
def test_whose_rules_a_model_follows(spec: ModelSpec, provider: str) -> None:
    assert provider_of(spec) == provider


def test_the_map_is_read_without_its_library() -> None:
    program = (
        "import sys; from ctxeng_cli.models.catalog import limits_of; from ctxeng_cli.spec import ModelSpec;"
        "assert limits_of(ModelSpec('gpt-4o')).window; sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=60).returncode == 0


def test_a_share_of_a_window_that_is_not_known_is_told_with_the_key_to_set() -> None:
    def problem(model: ModelSpec, policy: str) -> object:
        return window_problem(AgentSpec("a", model, policy=parse_policy(policy)))

    assert problem(ModelSpec("offline"), "tokens:60") is None
    assert problem(ModelSpec("gpt-4o"), "tokens:60%") is None
    assert problem(ModelSpec("offline", context_window=2000), "tokens:60%") is None
    assert "Set `context_window` under `models:`" in str(problem(ModelSpec("offline"), "tokens:60%"))
