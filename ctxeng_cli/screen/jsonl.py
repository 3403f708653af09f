"""Entries as JSON lines, for scripts. Control characters are escaped by JSON itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TextIO

from ctxeng_cli.core.codec import dumps
from ctxeng_cli.core.events import Entry, RequestSent


class JsonLines:
    """An observer that writes every entry as one `ctxeng.event/1` line and flushes it. Raises what the stream raises."""

    def __init__(self, stream: TextIO, *, payload: bool = False) -> None:
        self._stream, self._payload = stream, payload

    def __call__(self, entry: Entry) -> None:
        event = entry.event
        if isinstance(event, RequestSent) and event.payload is not None and not self._payload:
            entry = replace(entry, event=replace(event, payload=None))
        self._stream.write(dumps(entry, expanded=True) + "\n")
        self._stream.flush()
