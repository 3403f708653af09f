"""What never reaches a log or a reader, and what is left alone because it is ordinary text."""

from __future__ import annotations

import json

import pytest

from ctxeng_cli.core.redact import Redactor

ENVIRON = {
    "MY_API_KEY": "correct-horse",
    "OTHER_TOKEN": 'quo"te\\d-密',
    "TINY_TOKEN": "short",
    "SOME_SECRET": "disabled",
    "KEY_FILE": "/run/keys/one",
    "DB_PASSWORD": "open sesame",
    "KEY": "a note of several words",
    "HOME": "/home/me-and-you",
    "TOKENIZERS_PARALLELISM": "parallel-stay",
    "MONKEY": "swings-far-7",
}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("the key correct-horse is wrong", "the key [redacted MY_API_KEY] is wrong"),
        ("open sesame, a note of several words", "[redacted DB_PASSWORD], a note of several words"),
        ("Authorization: Bearer abc.def-123", "Authorization: [redacted]"),
        ("proxy-authorization: Basic YWJjZA==", "proxy-authorization: [redacted]"),
        ('{"Authorization": "Bearer abc.def-123", "a": 1}', '{"Authorization": "[redacted]", "a": 1}'),
        (json.dumps('{"Authorization": "Bearer abc.def-123"}'), json.dumps('{"Authorization": "[redacted]"}')),
        ("authorization=abcdef123", "authorization=[redacted]"),
        ("x-api-key: abcdef123", "x-api-key: [redacted]"),
        ("a bearer of news, basic knowledge, 10 tokens, monkey=1", "a bearer of news, basic knowledge, 10 tokens, monkey=1"),
        ("Authorization: ask your administrator", "Authorization: ask your administrator"),
        ("short disabled /run/keys/one parallel-stay swings-far-7", "short disabled /run/keys/one parallel-stay swings-far-7"),
    ],
)
def test_secrets_are_taken_out_of_a_text(text: str, shown: str) -> None:
    assert Redactor(ENVIRON)(text) == shown


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_secret_with_quotes_is_found_inside_json_and_leaves_json(ascii_only: bool) -> None:
    line = json.dumps({"text": f"it is {ENVIRON['OTHER_TOKEN']}!"}, ensure_ascii=ascii_only)
    assert json.loads(Redactor(ENVIRON)(line)) == {"text": "it is [redacted OTHER_TOKEN]!"}
