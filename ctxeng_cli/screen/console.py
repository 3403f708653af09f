"""A rich console that interprets nothing: no markup, no emoji names, no highlighting."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TextIO

from rich.console import Console


def console_for(
    stream: TextIO, *, width: int | None = None, color: bool | None = None, environ: Mapping[str, str] | None = None
) -> Console:
    """A console on a stream. `color` None asks the terminal, NO_COLOR, FORCE_COLOR and TERM; `width` None also COLUMNS."""
    environ = os.environ if environ is None else environ
    settings: dict[str, Any] = {}
    if color is True:
        settings = {"force_terminal": True, "color_system": "standard", "no_color": False}
    elif color is False or environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        settings = {"color_system": None, "no_color": True}
    return Console(
        file=stream, width=width, markup=False, emoji=False, highlight=False, soft_wrap=False, legacy_windows=False,
        _environ=environ, **settings,
    )  # fmt: skip
