"""Which variable a model needs, and what never reaches a reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from ctxeng_cli.core.errors import ModelError
from ctxeng_cli.models.keys import PLACEHOLDER, key_for, missing_key, read_dotenv, redact


@pytest.mark.parametrize(
    ("model", "api_base", "environ", "missing"),
    [
        ("openai/gpt-5-mini", None, {}, "OPENAI_API_KEY"),
        ("openai/gpt-5-mini", None, {"OPENAI_API_KEY": ""}, "OPENAI_API_KEY"),
        ("openai/gpt-5-mini", None, {"OPENAI_API_KEY": "x"}, None),
        ("openai/my-model", "http://127.0.0.1:8080/v1", {}, None),
        ("gpt-5-mini", None, {}, "OPENAI_API_KEY"),
        ("o3-mini", None, {}, "OPENAI_API_KEY"),
        ("claude-sonnet-4-5", None, {}, "ANTHROPIC_API_KEY"),
        ("anthropic/claude-sonnet-4-5", "https://gateway.example", {}, "ANTHROPIC_API_KEY"),
        ("gemini-2.5-flash", None, {}, "GEMINI_API_KEY"),
        ("gemini/gemini-2.5-flash", None, {"GOOGLE_API_KEY": "x"}, None),
        ("openrouter/openai/gpt-5-mini", None, {"OPENAI_API_KEY": "x"}, "OPENROUTER_API_KEY"),
        ("ollama/qwen3:4b", None, {}, None),
        ("bedrock/anthropic.claude", None, {}, None),
    ],
)
def test_the_missing_key_is_named(model: str, api_base: str | None, environ: dict[str, str], missing: str | None) -> None:
    assert missing_key(model, api_base, environ) == missing


def test_a_server_of_ones_own_gets_a_placeholder_or_the_key_that_is_set() -> None:
    base = "http://127.0.0.1:8080/v1"
    assert key_for("openai/my-model", base, {}) == PLACEHOLDER
    assert key_for("openai/my-model", base, {"OPENAI_API_KEY": "mine"}) == "mine"
    assert key_for("ollama/qwen3:4b", None, {"OPENAI_API_KEY": "mine"}) is None


def test_a_dotenv_file_is_read_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "# keys\nOPENAI_API_KEY='sk-1'\nexport OTHER=\"a b\"\nEMPTY=\nNAME\nRAW=${OTHER}\n密=天气\n", "utf-8"
    )
    assert read_dotenv(tmp_path / ".env") == {
        "OPENAI_API_KEY": "sk-1",
        "OTHER": "a b",
        "EMPTY": "",
        "RAW": "${OTHER}",
        "密": "天气",
    }
    assert read_dotenv(tmp_path / "none.env") == {}


def test_a_dotenv_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"OPENAI_API_KEY=\xff\xfe")
    with pytest.raises(ModelError, match="UTF-8"):
        read_dotenv(tmp_path / ".env")


def test_a_key_that_a_provider_quotes_is_taken_out() -> None:
    assert redact("Incorrect API key provided: sk-proj-************WXYZ", {}) == "Incorrect API key provided: [redacted]"
    assert redact("the key corr-horse is wrong", {"MY_API_KEY": "corr-horse"}) == "the key [redacted MY_API_KEY] is wrong"
