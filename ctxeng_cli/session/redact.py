"""Secrets stay out of logs: values of environment variables that look like keys, and Authorization headers."""

from __future__ import annotations

import re
from collections.abc import Mapping

_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL)", re.IGNORECASE)
_HEADER = re.compile(r"(authorization\W{1,4}(?:bearer|basic)\s+)[\w.~+/=-]{8,}", re.IGNORECASE)
_LEAST = 8
"""Characters; shorter values are words, and taking them out would spoil ordinary text."""


class Redactor:
    """Replaces secrets by `[redacted NAME]`. Made once for an environment."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        names = {value: name for name, value in environ.items() if _NAME.search(name) and _is_secret(value)}
        self._names = names
        longest_first = sorted(names, key=len, reverse=True)
        self._secret = re.compile("|".join(map(re.escape, longest_first))) if names else None

    def __call__(self, text: str) -> str:
        if self._secret is not None:
            text = self._secret.sub(lambda found: f"[redacted {self._names[found[0]]}]", text)
        return _HEADER.sub(r"\1[redacted]", text) if "uthorization" in text or "UTHORIZATION" in text else text


def _is_secret(value: str) -> bool:
    """Long enough, without spaces, no path and no plain word: `sk-…` is, `disabled-for-now/etc` and `/run/keys` are not."""
    if len(value) < _LEAST or re.search(r"\s", value) or value.startswith(("/", "./", "~")):
        return False
    return not value.isalpha() or len(value) >= 20
