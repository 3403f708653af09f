"""A store of one's own, as a person would write it: a folder of text files."""

from __future__ import annotations

import os
from pathlib import Path


class Folder:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def lines(self, id: str) -> list[str] | None:
        path = self.folder / id
        return path.read_text("utf-8", "surrogatepass").splitlines() if path.exists() else None

    def append(self, id: str, line: str) -> None:
        if "OWN_STORE_FULL" in os.environ:
            raise OSError("the folder is full")
        with (self.folder / id).open("a", encoding="utf-8", errors="surrogatepass") as file:
            file.write(line + "\n")

    def ids(self) -> list[str]:
        return [p.name for p in sorted(self.folder.iterdir(), key=lambda p: p.stat().st_mtime_ns, reverse=True)]

    def delete(self, id: str) -> None:
        (self.folder / id).unlink(missing_ok=True)


def store() -> Folder:
    return Folder(Path(os.environ["OWN_STORE"]))


def asking(folder: Path, data: Path, extra: int = 0) -> Folder:
    assert folder.is_dir()
    return Folder(data / "mine")


def wanting(database: str) -> object:
    return database


def broken() -> object:
    return object()


def failing() -> object:
    raise RuntimeError("no network")
