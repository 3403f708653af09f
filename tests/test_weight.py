"""What a look at the help may load: the heavy libraries stay on the disk until something needs them."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"litellm", "openai", "mcp", "prompt_toolkit", "pydantic"}

# Runs the command as its entry point does and tells, on its way out, what it has loaded.
PROGRAM = """
import atexit, sys
sys.argv[0] = "ctxeng"
atexit.register(lambda: print("loaded:", *sorted(sys.modules), file=sys.stderr))
from ctxeng_cli.cli.main import main
sys.exit(main())
"""


@pytest.mark.parametrize("arguments", [["--help"], ["chat", "--help"]], ids=" ".join)
def test_help_loads_no_heavy_library(arguments: list[str]) -> None:
    ran = subprocess.run([sys.executable, "-c", PROGRAM, *arguments], capture_output=True, encoding="utf-8", timeout=60)
    assert ran.returncode == 0, ran.stderr
    assert "chat" in ran.stdout
    loaded = {name.partition(".")[0] for name in ran.stderr.rpartition("loaded:")[2].split()}
    assert "ctxeng_cli" in loaded, ran.stderr
    assert loaded & HEAVY == set()
