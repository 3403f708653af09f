"""The line at the bottom: history, completion, keys, and the toolbar with the window meter."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any, TextIO, cast

from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput

from ctxeng_cli.repl.commands import COMMANDS
from ctxeng_cli.screen.safe import masked


class SlashCompleter(Completer):
    """Completes `/commands` and the words that they take."""

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        text = document.text_before_cursor
        if not text.startswith("/") or "\n" in text:
            return
        word, space, argument = text[1:].partition(" ")
        if not space:
            for name, command in COMMANDS.items():
                if name.startswith(word):
                    yield Completion(name, start_position=-len(word), display=f"/{name}", display_meta=command.help)
        elif word in COMMANDS:
            for option in COMMANDS[word].words:
                if option.startswith(argument):
                    yield Completion(option, start_position=-len(argument))


class Masked(Processor):
    """Shows what was pasted without letting it act: a line may hold anything, text that turns its direction included."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        return Transformation([(part[0], masked(part[1])) for part in transformation_input.fragments])


def line_history(folder: Path) -> History:
    """What was typed, kept over sessions in a file that only its owner reads; in memory where that can't be written."""
    path = folder / "history"
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        return FileHistory(str(path))
    return InMemoryHistory()


def keys() -> KeyBindings:
    """Alt+Enter, and Ctrl-J where the terminal tells it from Enter, begin a new line; Enter sends."""
    bindings = KeyBindings()

    @bindings.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    return bindings


def prompt_session(folder: Path, toolbar: Callable[[], str], plain: bool, stream: IO[str]) -> PromptSession[str]:
    """The line, drawn on `stream`. `plain`: without colours and reverse video."""
    from prompt_toolkit.output import create_output
    from prompt_toolkit.output.color_depth import ColorDepth
    from prompt_toolkit.styles import Style

    return PromptSession(
        output=create_output(cast(TextIO, stream)),
        history=line_history(folder),
        completer=SlashCompleter(),
        complete_while_typing=True,
        key_bindings=keys(),
        input_processors=[Masked()],
        bottom_toolbar=toolbar,
        style=Style.from_dict({"bottom-toolbar": "noreverse" if plain else "noreverse fg:ansibrightblack"}),
        color_depth=ColorDepth.DEPTH_1_BIT if plain else None,
        enable_history_search=False,
        reserve_space_for_menu=4,
    )


def in_background(*work: Callable[[], Any]) -> Callable[[], None]:
    """Start work while the person types; what fails there fails again, and is told, when it is needed."""

    def run() -> None:
        for task in work:
            with contextlib.suppress(BaseException):
                task()

    def start() -> None:
        threading.Thread(target=run, name="warm", daemon=True).start()

    return start
