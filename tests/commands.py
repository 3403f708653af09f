"""Run `ctxeng` as a person does: as a process, with pipes or in a pseudo-terminal, HOME and data in folders of its own."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pexpect
import pyte

ROOT = Path(__file__).resolve().parents[1]
CTXENG = [sys.executable, "-c", "from ctxeng_cli.cli.main import main; main()"]


@dataclass(frozen=True)
class Ran:
    """What a command did. In a terminal `out` is everything and `screen` what a person sees, scrollback included."""

    exit: int
    out: str
    err: str = ""
    screen: str = ""


def environment(home: Path, more: Mapping[str, str] | None = None) -> dict[str, str]:
    """An empty HOME and nothing of the developer's own."""
    home.mkdir(parents=True, exist_ok=True)
    base = {"HOME": str(home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", "PYTHONUTF8": "1"}
    return {**base, **(more or {})}


def ctxeng(
    *args: str,
    cwd: Path = ROOT,
    home: Path,
    stdin: str | bytes | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 60,
    most_mb: int | None = None,
) -> Ran:
    """Run with pipes. Without `stdin` there is none. `most_mb` bounds the memory that the process may ask for."""
    command = [*CTXENG, *args]
    if most_mb is not None:
        command = ["bash", "-c", f'ulimit -v {most_mb * 1024}; exec "$0" "$@"', *command]
    data = stdin.encode("utf-8", "surrogatepass") if isinstance(stdin, str) else stdin
    source: Any = {"input": data} if data is not None else {"stdin": subprocess.DEVNULL}
    ended: subprocess.CompletedProcess[bytes] = subprocess.run(
        command, cwd=cwd, env=environment(home, env), capture_output=True, timeout=timeout, check=False, **source
    )
    return Ran(ended.returncode, ended.stdout.decode("utf-8", "replace"), ended.stderr.decode("utf-8", "replace"))


class Terminal:
    """A `ctxeng` process in a pseudo-terminal. `wait_for` polls; on failure it shows the screen."""

    def __init__(
        self,
        *args: str,
        cwd: Path = ROOT,
        home: Path,
        size: tuple[int, int] = (80, 30),
        env: Mapping[str, str] | None = None,
        errors: Path | None = None,
    ) -> None:
        columns, lines = size
        variables = {**environment(home, {"TERM": "xterm-256color"}), **(env or {})}
        self.raw = ""
        self._screen = pyte.HistoryScreen(columns, lines, history=20_000, ratio=0.5)
        self._stream = pyte.Stream(self._screen)
        command = [*CTXENG, *args]
        if errors is not None:  # standard error goes to a file
            command = ["bash", "-c", 'exec "$@" 2>"$0"', str(errors), *command]
        self.process = pexpect.spawn(
            command[0],
            command[1:],
            cwd=str(cwd),
            env=variables,
            dimensions=(lines, columns),
            encoding="utf-8",
            codec_errors="replace",
            timeout=30,
        )

    def read(self, timeout: float = 0.05) -> bool:
        """Take what has come; False at the end."""
        try:
            piece = self.process.read_nonblocking(65536, timeout)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += piece
        self._stream.feed(piece)
        if "\x1b[6n" in piece:  # the line editor asks where the cursor is; a terminal answers
            self.process.send(f"\x1b[{self._screen.cursor.y + 1};{self._screen.cursor.x + 1}R")
        return True

    def screen(self) -> str:
        """All lines, scrollback first, without trailing spaces."""
        columns = self._screen.columns
        above = ["".join(line[x].data for x in range(columns)).rstrip() for line in self._screen.history.top]
        return "\n".join([*above, *(line.rstrip() for line in self._screen.display)])

    def styled(self) -> list[list[tuple[str, str]]]:
        """All lines, scrollback first, as runs of (text, rich style)."""
        screen = self._screen
        rows = [*screen.history.top, *(screen.buffer[y] for y in range(screen.lines))]
        lines = []
        for row in rows:
            runs = itertools.groupby((row[x] for x in range(screen.columns)), _style)
            lines.append([("".join(cell.data for cell in cells), style) for style, cells in runs])
        while lines and not "".join(text for text, _ in lines[-1]).strip():
            lines.pop()
        return lines

    def wait_for(self, text: str, *, count: int = 1, timeout: float = 30) -> None:
        """Read until the text stands on the screen so often."""
        import time

        end = time.monotonic() + timeout
        while self.screen().count(text) < count:
            alive = self.read()
            if time.monotonic() > end or (not alive and self.screen().count(text) < count):
                raise AssertionError(
                    f"{text!r} did not come {count} times. The screen:\n{self.screen()}\nraw:\n{self.raw[-3000:]!r}"
                )

    def type(self, text: str) -> None:
        self.process.send(text + "\r")

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self.read(1.0):
            if not self.process.isalive():
                while self.read(0.1):
                    pass
                break
        self.process.close()
        return int(self.process.exitstatus if self.process.exitstatus is not None else -(self.process.signalstatus or 0))


def _style(cell: Any) -> str:
    """A cell of the emulator as a rich style: `bold bright_black on red`."""
    names = {"brown": "yellow", "brightbrown": "bright_yellow", "default": ""}
    words = [word for word in ("bold", "italics", "underscore", "reverse") if getattr(cell, word)]
    colours = [names.get(c, c.replace("bright", "bright_") if c.startswith("bright") else c) for c in (cell.fg, cell.bg)]
    colours = [f"#{c}" if len(c) == 6 and set(c) <= set("0123456789abcdef") else c for c in colours]
    style = " ".join([*words, colours[0]]).replace("italics", "italic").replace("underscore", "underline")
    return f"{style} on {colours[1]}".strip() if colours[1] else style.strip()


def in_terminal(
    *args: str, cwd: Path = ROOT, home: Path, size: tuple[int, int] = (80, 30), env: Mapping[str, str] | None = None
) -> Ran:
    """Run in a pseudo-terminal to the end."""
    terminal = Terminal(*args, cwd=cwd, home=home, size=size, env=env)
    code = terminal.end()
    return Ran(code, terminal.raw, screen=terminal.screen())
