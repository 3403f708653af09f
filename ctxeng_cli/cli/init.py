"""`ctxeng init`: the starter project, in a folder of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ctxeng_cli.cli.io import reported, standard

PIECES = ("agents.yaml", "prompts", "agent_tools")


def init(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write it; default here.")] = Path(),
) -> None:
    """Write the starter project: a spec with four agents, prompts, tools and sample data.

    \b
      ctxeng init my-agents
      cd my-agents && ctxeng chat guide
    """
    with reported(io := standard()):
        written = copy_starter(folder)
        for path in written:
            io.out(str(path))
        where = "" if folder == Path() else f"cd {folder} && "
        io.say(f"Wrote {len(written)} files. Next: {where}ctxeng chat guide")


def starter() -> Path:
    """Where the starter project lies: in the installed package, or at the top of the checkout."""
    package = Path(__file__).resolve().parent.parent
    inside = package / "starter"
    return inside if (inside / "agents.yaml").is_file() else package.parent


def copy_starter(folder: Path) -> list[Path]:
    """Copy the starter project. Raises UsageError when a file is there already, SessionError when it can't be written."""
    from ctxeng_cli.core.errors import SessionError, UsageError
    from ctxeng_cli.spec import json_schema

    source = starter()
    files = [
        path.relative_to(source)
        for piece in PIECES
        for path in sorted([source / piece] if (source / piece).is_file() else (source / piece).rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    ]
    present = [str(folder / file) for file in files if (folder / file).exists()]
    if present:
        raise UsageError(f"{present[0]} is there already; nothing was written. Name another folder: ctxeng init DIR")
    try:
        for file in files:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes((source / file).read_bytes())
        schema = folder / "docs" / "schemas" / "agents.schema.json"
        if not schema.exists():
            import json

            schema.parent.mkdir(parents=True, exist_ok=True)
            schema.write_text(json.dumps(json_schema(), indent=2) + "\n", encoding="utf-8")
            files.append(schema.relative_to(folder))
    except OSError as error:
        raise SessionError(f"can't write {folder}: {(error.strerror or str(error)).lower()}") from None
    return [folder / file for file in files]
