"""Run in a process of its own, against a store: `store_child.py STORE FOLDER hold|write|endless|refused NAME`.

`hold` opens session s and waits for its end of input; `write` waits until it has it, then writes 1,000 lines of its name;
`endless` writes until it is killed.
"""

from __future__ import annotations

import sys
from pathlib import Path

from ctxeng_cli.core.codec import dumps
from ctxeng_cli.core.errors import SessionError
from ctxeng_cli.core.events import Entry, MessageAdded
from ctxeng_cli.core.messages import user
from ctxeng_cli.session.stores import store_for


def main(text: str, folder: str, act: str, name: str) -> None:
    store = store_for(text, Path(folder), Path(folder))
    try:
        log = store.open("s", wait=act == "write", waiting=lambda told: print("waits", flush=True))
    except SessionError as error:
        print(f"refused: {error}", flush=True)
        return
    print("held", flush=True)
    if act == "hold":
        sys.stdin.read()
    else:
        for number in range(1, 10**9 if act == "endless" else 1001):
            message = user(f"{name} {number}").with_id(f"m{number}")
            log.append(dumps(Entry(number, "", 1, name, MessageAdded(message=message, tokens=5))))
    log.close()
    print("closed", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:5])
