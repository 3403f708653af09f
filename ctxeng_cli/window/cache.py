"""Where a request is marked for the provider's prompt cache (SPEC 3: `cache: auto`).

At most four marks: behind the tools, behind the system message, where the request before this one ended, and at the end.
A provider keeps what stands before a mark, and finds it again only where a later request has a mark: since each marks
where the one before it ended, all that was kept is found, however many blocks a round of tools has put behind it. A mark
on fewer tokens than a provider keeps has no effect and is not set.

Source: shared/reference/prompt_cache.md 5.3 (Anthropic: opt-in, four marks, 1,024 tokens for most models).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

LEAST_TOKENS = 1024
MOST = 4
TOOLS = "tools"
"""The mark behind the last tool; every other one is a message's id."""


def marks(
    before: Sequence[str], refs: Sequence[str], tools: int, system: str | None, weigh: Callable[[str], int]
) -> tuple[str, ...]:
    """The marks of a request, in its order. `before` and `refs` are the references of the last request and of this one, as
    `request.sent` names them, the first `tools` of them definitions of tools; `weigh` answers the tokens of one."""
    went_on = bool(before) and list(refs[: len(before)]) == list(before)
    places = {tools - 1, len(before) - 1 if went_on else -1, len(refs) - 1}
    found: list[str] = []
    total = 0
    for at, ref in enumerate(refs):
        total += weigh(ref)
        name = TOOLS if at < tools else ref.partition("=")[0]
        if (at in places or name == system) and total >= LEAST_TOKENS and not name.startswith("#"):
            found.append(name)
    return tuple(found)
