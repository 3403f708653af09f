"""`ctxeng doctor`: what is installed, which keys and models can be used, where data lies."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ctxeng_cli.cli.io import reported, standard
from ctxeng_cli.cli.options import File, Json

if TYPE_CHECKING:
    from ctxeng_cli.cli.io import Io

_LIBRARIES = ("typer", "rich", "prompt-toolkit", "pyyaml", "tiktoken", "litellm", "pydantic", "platformdirs")
_EXTRAS = ("mcp", "redis", "numpy")


def doctor(file: File = None, json: Json = False) -> None:
    """Show what is installed, which keys and models can be used, and where data lies.

    \b
      ctxeng doctor
      ctxeng doctor --json
    """
    with reported(io := standard()):
        rows = examine(io, file)
        if json:
            io.json({"schema": "ctxeng.doctor/1", "checks": rows})
            return
        from ctxeng_cli.screen.tables import doctor_table

        io.console().print(doctor_table(rows))


def examine(io: Io, file: str | None) -> list[dict[str, Any]]:
    """Rows of {check, state: ok | missing | problem | optional, detail}. Values of keys are never shown."""
    import platform

    rows = [_row("ctxeng", "ok", f"{_version('ctxeng-cli')} on Python {platform.python_version()}, {platform.system()}")]
    for name in _LIBRARIES:
        version = _version(name)
        rows.append(
            _row(name, "ok" if version else "missing", version or "not installed; run `make chat` or pip install ctxeng-cli")
        )
    for name in _EXTRAS:
        version = _version(name)
        rows.append(_row(name, "ok" if version else "optional", version or f"not installed: pip install 'ctxeng-cli[{name}]'"))
    rows.append(_tokens())
    rows.append(_data(io))
    rows += _spec(io, file)
    return rows


def _row(check: str, state: str, detail: str) -> dict[str, Any]:
    return {"check": check, "state": state, "detail": detail}


def _version(name: str) -> str:
    import importlib.metadata

    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _tokens() -> dict[str, Any]:
    from ctxeng_cli.core.tokens import count_text

    try:
        count_text("hello")
    except Exception as error:
        return _row("token counts", "problem", f"o200k_base can't be loaded: {error}")
    return _row("token counts", "ok", "o200k_base and cl100k_base, offline")


def _data(io: Io) -> dict[str, Any]:
    folder = io.data()
    nearest = next((p for p in (folder, *folder.parents) if p.exists()), folder)
    if not os.access(nearest, os.W_OK):
        return _row("data", "problem", f"{folder} can't be written; set CTXENG_DATA_DIR to another folder")
    return _row("data", "ok", f"{folder}, {len(io.store().ids())} sessions")


def _spec(io: Io, file: str | None) -> list[dict[str, Any]]:
    from ctxeng_cli.cli.options import project
    from ctxeng_cli.core.errors import CtxengError
    from ctxeng_cli.models.keys import missing_key, read_dotenv

    try:
        spec = project(io, file)
    except CtxengError as error:
        return [_row("spec", "problem", str(error))]
    rows = [_row("spec", "ok", f"{spec.file}: {', '.join(spec.agents)}")]
    from pathlib import Path

    dotenv = Path(spec.folder) / ".env"
    environ = {**(read_dotenv(dotenv) if dotenv.is_file() else {}), **io.environ}
    used = {agent.model.model: agent.model for agent in spec.agents.values()} | {m.model: m for m in spec.models.values()}
    for name, model in used.items():
        if name == "offline":
            rows.append(_row(f"model {name}", "ok", "built in; no language model, a reader of its window"))
        elif name.startswith("scripted:"):
            rows.append(_row(f"model {name}", "ok", "replies from a file"))
        else:
            key = missing_key(name, model.api_base, environ)
            where = f" at {model.api_base}" if model.api_base else ""
            rows.append(_row(f"model {name}", "missing" if key else "ok", f"set {key}" if key else f"ready to be asked{where}"))
    return rows
