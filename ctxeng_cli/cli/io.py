"""The outside of a command in one replaceable object: streams, terminal, environment, folders."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from ctxeng_cli.session.stores import FileStore, Store, Stores
    from ctxeng_cli.spec import AgentSpec


class ExitCode(IntEnum):
    """What a command answers to its caller."""

    OK = 0
    FAILED = 1
    """The work failed: a turn, a session that can't be opened."""
    USAGE = 2
    """A name, an option or the spec is wrong."""
    INPUT = 3
    """An input file was not understood."""
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True)
class Io:
    """Where a command reads and writes. stdout is data; everything else goes to stderr."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    environ: Mapping[str, str]
    folder: Path

    @property
    def asks(self) -> bool:
        """A person sits at both ends: questions may be asked."""
        return self.stdin.isatty() and self.stdout.isatty()

    @property
    def draws(self) -> bool:
        """stdout is a terminal that can draw."""
        return self.stdout.isatty() and self.environ.get("TERM", "") != "dumb"

    def out(self, text: str) -> None:
        """A line of data."""
        self.stdout.write(text + "\n")
        self.stdout.flush()

    def json(self, value: Any) -> None:
        """A JSON document of data on one line."""
        from ctxeng_cli.core.codec import json_line

        self.out(json_line(value))

    def say(self, text: str) -> None:
        """A line for the person, harmless whatever it holds."""
        from ctxeng_cli.screen.safe import safe

        self.stderr.write(safe(text) + "\n")
        self.stderr.flush()

    def data(self) -> Path:
        """The data directory."""
        from ctxeng_cli.session.stores import data_folder

        return data_folder(self.environ)

    def state(self) -> Path:
        """Where the history of typed lines lies."""
        named = self.environ.get("CTXENG_DATA_DIR")
        if named:
            return Path(named).expanduser()
        import platformdirs

        return Path(platformdirs.user_state_dir("ctxeng", appauthor=False))

    def store(self) -> FileStore:
        """The store of the data directory."""
        from ctxeng_cli.session.stores import FileStore

        return FileStore(self.data())

    def store_of(self, agent: AgentSpec, folder: str) -> Store:
        """The store that an agent's sessions are kept in. Raises SessionError."""
        from ctxeng_cli.session.stores import store_for

        return store_for(agent.store, Path(folder), self.data())

    def stores(self, file: str | None = None, agent: str | None = None) -> Stores:
        """Where sessions may lie: in the store of `agent` first, then in the data directory, then in the stores of the other
        agents of the spec file, where there is one. Raises UsageError for a `file` that is not there."""
        from functools import partial

        from ctxeng_cli.core.errors import SpecError, UsageError
        from ctxeng_cli.session.stores import Stores
        from ctxeng_cli.spec import find, load

        found: dict[str, Callable[[], Store]] = {"file": self.store}
        try:
            project = load(find(file, self.environ, self.folder))
        except UsageError:
            if file is not None:
                raise
        except SpecError as error:
            self.say(f"left out: the stores of a spec that can't be read\n{error}")
        else:
            for spec in sorted(project.agents.values(), key=lambda spec: spec.name != agent):
                make = found.setdefault(spec.store, partial(self.store_of, spec, project.folder))
                if spec.name == agent:
                    found = {spec.store: make, **found}
        return Stores(tuple(found.values()), self.say)

    def console(self, stream: TextIO | None = None) -> Any:
        """A rich console on stdout, or on another stream of ours."""
        from ctxeng_cli.screen.console import console_for

        return console_for(stream or self.stdout)


def standard() -> Io:
    """The process's own streams. stdout is data alone: what tools print is turned to stderr.

    Data is UTF-8; a terminal gets what it says it can show, and panels of ASCII where that is all.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding=stream.encoding if stream.isatty() else "utf-8", errors="backslashreplace")
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape")
    return Io(sys.stdin, _data_stream(), sys.stderr, os.environ, Path())


def _data_stream() -> TextIO:
    """stdout; where it is no terminal, out of reach of everybody else: modules that print, and programs that tools start."""
    if sys.stdout.isatty():
        return sys.stdout
    try:
        sys.stdout.flush()
        own = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", errors="backslashreplace")
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    except (OSError, ValueError):  # closed, or no file at all
        return sys.stdout
    return own


@contextlib.contextmanager
def quiet_stdout(io: Io) -> Iterator[None]:
    """While tools run, `print` goes to stderr."""
    before, sys.stdout = sys.stdout, io.stderr
    try:
        yield
    finally:
        sys.stdout = before


@contextlib.contextmanager
def reported(io: Io) -> Iterator[None]:
    """Turn our errors into text on stderr and an exit code; anything else is a fault of ours and says so."""
    import typer

    from ctxeng_cli.core.errors import CtxengError, InputError, SpecError, UsageError

    try:
        yield
    except (SpecError, UsageError) as error:
        io.say(f"{error}" if isinstance(error, SpecError) else f"ctxeng: {error}")
        raise typer.Exit(ExitCode.USAGE) from None
    except InputError as error:
        io.say(f"ctxeng: {error}")
        raise typer.Exit(ExitCode.INPUT) from None
    except CtxengError as error:
        io.say(f"ctxeng: {error}")
        raise typer.Exit(ExitCode.FAILED) from None
    except KeyboardInterrupt:
        io.say("interrupted")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except BrokenPipeError:
        _hush(io)
        raise typer.Exit(ExitCode.OK) from None
    except (typer.Exit, typer.Abort):
        raise
    except Exception as error:
        if io.environ.get("CTXENG_TRACEBACK"):
            raise
        io.say(
            f"ctxeng: a fault of ctxeng's own: {type(error).__name__}: {error}. "
            "Set CTXENG_TRACEBACK=1 to see where; nothing recorded is lost."
        )
        raise typer.Exit(ExitCode.FAILED) from None


def _hush(io: Io) -> None:
    """Whoever read our output has gone: end without a word, now and at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    for stream in (io.stdout, sys.stdout):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(null, stream.fileno())
