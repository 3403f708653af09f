"""Imports point down (DESIGN.md, Rooms): every import of the package, those inside functions too, is held against a table."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = "ctxeng_cli"
ROOT = Path(__file__).parent.parent

WORDS = {"spec", "core"}
TURN = {"agent", "assembly", "window", "lint", "payloads"} | WORDS
IMPLEMENTATIONS = {"tools", "models", "transcripts"}

# room → the rooms that it may import
ROOMS: dict[str, set[str]] = {
    "core": set(),
    "spec": {"core"},
    "assembly": WORDS,
    "window": WORDS,
    "payloads": {"core"},
    "lint": {"payloads"} | WORDS,
    "tools": WORDS,
    "models": WORDS,
    "transcripts": WORDS,
    "screen": {"core"},
    "agent": TURN - {"agent"},
    "team": TURN,
    "session": {"team"} | TURN,
    "replay": {"session", "team"} | TURN | IMPLEMENTATIONS,
    "repl": {"screen", "replay", "session", "team"} | TURN,
    "cli": {"repl", "screen", "replay", "session", "team"} | TURN | IMPLEMENTATIONS,
}

# module → rooms that it alone of its room may import
EXCEPTIONS: dict[str, set[str]] = {
    "session.open": IMPLEMENTATIONS,  # the one place that wires ports
    "session.stores": {"tools"},  # a store may be an object of the person's own
}

NOWHERE: set[str] = set()
ANYWHERE = {""}


@dataclass(frozen=True)
class Library:
    """Where a library may be imported: rooms or modules by prefix; and whether only inside a function."""

    where: set[str]
    lazily: bool = False


LIBRARIES: dict[str, Library] = {
    "typer": Library({"cli"}),
    "click": Library({"cli"}),
    "prompt_toolkit": Library({"repl"}),
    "rich": Library({"screen", "repl", "cli"}),
    "litellm": Library({"models.litellm"}, lazily=True),
    "openai": Library(NOWHERE),  # litellm's business
    "httpx": Library(NOWHERE),
    "dotenv": Library({"models.keys"}, lazily=True),
    "tiktoken": Library({"core.tokens"}, lazily=True),
    "mcp": Library({"tools.mcp"}, lazily=True),
    "redis": Library({"session.stores.redis"}, lazily=True),
    "numpy": Library({"assembly.retrieval"}, lazily=True),
    "yaml": Library({"spec"}),
    "pydantic": Library(ANYWHERE, lazily=True),
    "jinja2": Library(ANYWHERE, lazily=True),
    "platformdirs": Library(ANYWHERE, lazily=True),
}


@dataclass(frozen=True)
class Import:
    """One import statement: `importer` and `imported` without the package's name where it is ours."""

    importer: str
    imported: str
    ours: bool
    lazy: bool
    place: str


def imports(tree: ast.Module, module: str, place: str) -> Iterator[Import]:
    """Every import in a file; what stands under `if TYPE_CHECKING` is an import too, for a reader as for mypy."""

    def walk(node: ast.AST, lazy: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.Import | ast.ImportFrom):
                at = f"{place}:{child.lineno}"
                for name in imported_names(child, at):
                    ours = name == PACKAGE or name.startswith(PACKAGE + ".")
                    yield Import(module, name.removeprefix(PACKAGE).lstrip(".") if ours else name, ours, lazy, at)
            typing_only = isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING")
            yield from walk(child, lazy or typing_only or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))

    yield from walk(tree, False)


def imported_names(statement: ast.Import | ast.ImportFrom, place: str) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    assert statement.level == 0, f"{place}: a relative import"
    return [f"{statement.module}.{alias.name}" for alias in statement.names]


def whole_package() -> Iterator[Import]:
    for path in sorted((ROOT / PACKAGE).rglob("*.py")):
        relative = path.relative_to(ROOT)
        module = ".".join(relative.with_suffix("").parts[1:]).removesuffix("__init__").rstrip(".")
        yield from imports(ast.parse(path.read_text("utf-8"), str(path)), module, str(relative))


def under(module: str, prefixes: set[str]) -> bool:
    return any(not prefix or module == prefix or module.startswith(prefix + ".") for prefix in prefixes)


def fault(found: Import) -> str | None:
    """What is wrong with an import, or None."""
    importer = found.importer.partition(".")[0]
    if found.importer == "":
        return None  # the public door hands out what the rooms hold
    if found.ours:
        room = found.imported.partition(".")[0]
        if room == importer:
            return None
        if room not in ROOMS:
            return f"{found.place}: imports the door of the package; import the room"
        if importer not in ROOMS:
            return f"{found.place}: the room {importer} is not in the table"
        allowed = ROOMS[importer] | EXCEPTIONS.get(found.importer, set())
        return None if room in allowed else f"{found.place}: {found.importer} imports {room}; it may import {sorted(allowed)}"
    library = LIBRARIES.get(found.imported.partition(".")[0])
    if library is None:
        return None
    if not under(found.importer, library.where):
        return f"{found.place}: {found.imported} belongs to {sorted(library.where) or 'nobody'}"
    if library.lazily and not found.lazy:
        return f"{found.place}: {found.imported} is heavy: import it in the function that needs it"
    return None


def test_every_import_of_the_package_points_down() -> None:
    found = list(whole_package())
    assert len(found) > 50, "the walk found next to nothing: is it looking at the right folder?"
    assert [wrong for one in found if (wrong := fault(one))] == []


def test_the_table_has_no_circles() -> None:
    def below(room: str, path: tuple[str, ...] = ()) -> None:
        assert room not in path, " → ".join((*path, room))
        for lower in ROOMS[room]:
            below(lower, (*path, room))

    for room in ROOMS:
        below(room)


@pytest.mark.parametrize(
    ("module", "source", "says"),
    [
        ("core.events", "from ctxeng_cli.spec import load", "core.events imports spec"),
        ("agent.turn", "def f():\n    from ctxeng_cli.models import litellm", "agent.turn imports models"),
        ("agent.turn", "def f():\n    import ctxeng_cli.models.litellm", "agent.turn imports models"),
        ("screen.panels", "from ctxeng_cli import session", "screen.panels imports session"),
        ("session.journal", "from ctxeng_cli.models import open_model", "session.journal imports models"),
        ("session.open", "from ctxeng_cli.models import open_model", None),
        ("repl.prompt", "from ctxeng_cli import Session", "imports the door"),
        ("screen.panels", "import typer", "typer belongs to ['cli']"),
        ("window.fit", "from rich.panel import Panel", "rich.panel.Panel belongs to"),
        ("models.litellm", "import litellm", "litellm is heavy"),
        ("models.litellm", "async def f():\n    import litellm", None),
        ("models.offline", "async def f():\n    import litellm", "litellm belongs to ['models.litellm']"),
        ("cli.doctor", "import openai", "openai belongs to nobody"),
        ("", "from ctxeng_cli.session import Session", None),
    ],
)
def test_a_wrong_import_is_found(module: str, source: str, says: str | None) -> None:
    faults = [wrong for one in imports(ast.parse(source), module, "file.py") if (wrong := fault(one))]
    assert (says in faults[0]) if says else not faults
