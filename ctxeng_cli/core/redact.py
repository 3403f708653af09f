"""Secrets stay out of logs and messages: values of environment variables that look like keys, and `Authorization` headers."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_NAME = re.compile(r"(?i)(?:^|_)(?:(?:API|ACCESS)?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(?:$|_)")
_HEADER = re.compile(
    r"(?i)\b((?:proxy-)?authorization|(?:x-|x-goog-)?api-key)"  # a header's name,
    r"([\s\"'\\]{0,6}[:=][\s\"'\\]{0,6})"  # what stands before its value, in HTTP, in JSON, and in JSON inside JSON,
    r"((?:bearer|basic|token)\s+[\w\-.~+/=]{4,}|(?=[^\s\"'\\]*\d)[\w\-.~+/=]{8,})"  # and its value; prose has no digits
)
_LEAST = 8
"""Characters; shorter values are words, and taking them out would spoil ordinary text."""


class Redactor:
    """Replaces secrets by `[redacted NAME]`, in plain text and inside JSON. Made once for an environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._names: dict[str, str] = {}
        for name, value in environ.items():
            if _NAME.search(name) and _is_secret(name, value):
                for written in (value, json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
                    self._names.setdefault(written, name)
        longest_first = sorted(self._names, key=len, reverse=True)
        self._secret = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None

    def __call__(self, text: str) -> str:
        if self._secret is not None:
            text = self._secret.sub(lambda found: f"[redacted {self._names[found[0]]}]", text)
        return _HEADER.sub(r"\1\2[redacted]", text)


def _is_secret(name: str, value: str) -> bool:
    """Long enough, no path and no plain word: `sk-…` is, `disabled` and `/run/keys` are not. Only passwords have blanks."""
    if len(value) < _LEAST or value.startswith(("/", "./", "~")):
        return False
    if re.search(r"\s", value):
        return bool(re.search("(?i)pass|secret", name))
    return not value.isalpha() or len(value) >= 20
