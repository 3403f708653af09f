"""Run in a process of its own: take one turn and be killed at a given event. `crash_child.py DATA SPEC EVENT after|inside`."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from ctxeng_cli.core.events import Entry
from ctxeng_cli.session import FileStore, open_session
from ctxeng_cli.session.stores import FileLog
from ctxeng_cli.spec import load


def main(data: str, spec: str, event: int, where: str) -> None:
    def show(entry: Entry) -> None:
        if entry.event.kind != "signal":
            os.write(1, f"{entry.seq} {entry.event.type}\n".encode())

    session = open_session(load(Path(spec)), "a", store=FileStore(Path(data)), id="s", observers=[show])
    log = session.log
    assert isinstance(log, FileLog)
    append, written = log.append, 0

    def dying(line: str) -> None:
        nonlocal written
        written += 1
        if written == event and where == "inside":
            whole = line.encode()
            os.write(log._descriptor, whole[: len(whole) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        append(line)
        if written == event:
            os.kill(os.getpid(), signal.SIGKILL)

    log.append = dying  # type: ignore[method-assign]
    asyncio.run(session.say("Go"))
    os.write(1, b"end\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
