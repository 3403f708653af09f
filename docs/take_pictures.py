"""Take the pictures in docs/pictures/: real sessions in a pseudo-terminal, as SVG. Run: python docs/take_pictures.py"""

from __future__ import annotations

import io
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.commands import Terminal

PICTURES = Path(__file__).parent / "pictures"
COLUMNS = 80


def chat(home: Path, agent: str, says: list[str], *options: str) -> Terminal:
    """A session at the terminal; each text is typed when the prompt is there."""
    terminal = Terminal("chat", agent, *options, home=home, size=(COLUMNS, 30))
    terminal.wait_for(f"{agent}>")
    for number, text in enumerate(says, 2):
        terminal.type(text)
        terminal.wait_for(f"{agent}>", count=number)
    terminal.process.send("\x04")
    terminal.end()
    return terminal


def command(home: Path, *arguments: str) -> Terminal:
    terminal = Terminal(*arguments, home=home, size=(COLUMNS, 30))
    terminal.end()
    return terminal


def svg(terminal: Terminal, title: str, first: str, last: str | None = None) -> str:
    """The lines from the one that holds `first` on, with their colours, up to the one before `last`."""
    lines = terminal.styled()
    texts = ["".join(text for text, _ in line) for line in lines]
    start = next(number for number, text in enumerate(texts) if first in text)
    end = next((n for n, text in enumerate(texts) if n > start and last is not None and last in text), len(lines))
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="standard")
    for line in lines[start:end]:
        console.print(Text.assemble(*((text, style) for text, style in line)), soft_wrap=True)
    drawn = console.export_svg(title=title)
    # without the fonts that rich would fetch from elsewhere: the viewer's own monospace is stretched to the same cells
    return re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL).replace("Fira Code, monospace", "monospace")


def pictures(home: Path) -> dict[str, Callable[[], str]]:
    def guide() -> str:
        said = ["My dog is called Waldi.", "What is a context window?", "What is a ghost?", "What is my dog called?"]
        terminal = chat(home, "guide", said, "--window", "messages:6", "--session", "demo")
        return svg(terminal, "ctxeng chat guide", "guide> What is my dog called?", "session demo")

    def weather() -> str:
        terminal = chat(home, "weather", ["What is the climate in Bern and in Cairo in July?"], "--session", "weather")
        return svg(terminal, "ctxeng chat weather", "weather> What is", "session weather")

    def inspect() -> str:
        return svg(command(home, "inspect-context", "--session", "demo"), "ctxeng inspect-context --session demo", "window")

    def replay() -> str:
        return svg(
            command(home, "replay", "demo", "--turn", "4", "--view", "bar"), "ctxeng replay demo --turn 4 --view bar", "m8 user>"
        )

    return {"guide": guide, "weather": weather, "inspect-context": inspect, "replay": replay}


def main() -> None:
    PICTURES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as home:
        for name, take in pictures(Path(home)).items():
            (PICTURES / f"{name}.svg").write_text(take(), encoding="utf-8")
            print(f"docs/pictures/{name}.svg")


if __name__ == "__main__":
    main()
