"""What the documents say can be done is done: every command and program of the README runs, every path in them is there."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from docs.write_lint import written as lint_page
from docs.write_windows import written
from tests.commands import ROOT, ctxeng, environment

README = (ROOT / "README.md").read_text("utf-8")
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, re.DOTALL | re.MULTILINE)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the starter project: what a command writes beside it does no harm."""
    for name in ("agents.yaml", "prompts", "agent_tools"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, tmp_path / name)
    return tmp_path


def test_the_commands_of_the_readme_run_in_their_order(folder: Path) -> None:
    commands = [line for block in blocks("console") for line in block.splitlines()]
    assert len(commands) > 5
    for command in commands:
        name, *arguments = shlex.split(command, comments=True)
        assert name == "ctxeng"
        ran = ctxeng(*arguments, cwd=folder, home=folder / "home")
        assert (ran.exit, bool(ran.out)) == (0, True), f"{command}\n{ran.err}"


def test_the_program_of_the_readme_runs(folder: Path) -> None:
    (program,) = blocks("python")
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, env=environment(folder / "home"), capture_output=True, text=True, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    assert "budget" in ran.stdout


def test_the_spec_of_the_readme_is_one(folder: Path) -> None:
    (spec,) = blocks("yaml")
    (folder / "agents.yaml").write_text(spec, "utf-8")
    (folder / "prompts/helper.md").write_text("Help the {{role}}. Today is {{current_date}}, in {{env.REGION}}.", "utf-8")
    (folder / "my_tools.py").write_text('def get_weather(city: str) -> str:\n    """Weather."""\n    return city\n')
    ran = ctxeng("agents", "--check", "--import", cwd=folder, home=folder / "home")
    assert (ran.exit, ran.err) == (0, "")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_names_is_there(document: Path) -> None:
    text = document.read_text("utf-8")
    linked = [target for target in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in target]
    named = re.findall(r"`((?:ctxeng_cli|tests|docs|agent_tools|prompts|benchmarks)/[\w/.]+?)(?:: [^`]*)?`", text)
    missing = [name for name in linked if not (document.parent / name).exists()]
    missing += [name for name in named if not (ROOT / name).exists()]
    if document.name == "architecture.md":
        rooms = re.findall(r"`((?:agent|assembly|cli|core|lint|models|repl|screen|session|spec|tools|window)/\w+\.py)", text)
        assert len(rooms) > 20
        missing += [name for name in rooms if not (ROOT / "ctxeng_cli" / name).exists()]
    assert missing == []


def test_the_page_of_the_lint_rules_is_what_the_code_says() -> None:
    assert lint_page() == (ROOT / "docs" / "lint.md").read_text("utf-8"), "run docs/write_lint.py"


def test_the_tables_about_windows_are_what_the_code_says() -> None:
    shared = os.environ.get("CTXENG_SHARED")
    page = (ROOT / "docs" / "windows.md").read_text("utf-8")
    assert written(page, Path(shared) if shared else None) == page, "run docs/write_windows.py"
