"""The offline model as a port. What reads, a tenth of the time to the first prompt, is loaded with the first answer."""

from __future__ import annotations

from collections.abc import Callable

from ctxeng_cli.core.events import Event, ModelDelta
from ctxeng_cli.core.ports import Answer
from ctxeng_cli.core.request import Request


class Offline:
    """A deterministic window reader (SPEC 6): what it can answer is exactly what is in its window."""

    def warm(self) -> None:
        """Load what `answer` will need: while a person types."""
        from ctxeng_cli.models.offline import reader

        reader.respond(Request(()))

    async def answer(self, request: Request, signal: Callable[[Event], None]) -> Answer:
        """Call the tools that the person's message asks for, tell their results, or quote the window. Never fails."""
        import asyncio

        from ctxeng_cli.models.offline.reader import pieces, respond, usage

        text, wanted = respond(request)
        for piece in pieces(text):
            signal(ModelDelta(text=piece))
            await asyncio.sleep(0)
        return Answer(text, wanted, usage(request, text, wanted), "tool_calls" if wanted else "stop")
