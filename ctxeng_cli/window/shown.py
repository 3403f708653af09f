"""What a window is sent as: its messages in order, with the texts that stand in, and a reference for each."""

from __future__ import annotations

from collections.abc import Mapping

from ctxeng_cli.core.events import PartDefined
from ctxeng_cli.core.history import History
from ctxeng_cli.core.messages import Message, summary


def shown(
    history: History,
    texts: Mapping[str, PartDefined],
    made: dict[str, Message] | None = None,
    window: tuple[str, ...] | None = None,
) -> tuple[list[Message], list[str]]:
    """The messages, and their references as `request.sent` names them: `m5`, `m5=#hash`, `#hash` for the summary.

    `window` are the ids where the order is another than the history's. `made` keeps messages with texts that stand in from
    one request to the next, by their reference.
    """
    refs = list(history.window() if window is None else window)
    messages = list(map(history.messages.__getitem__, refs))
    for at, id in enumerate(refs) if history.overrides else ():
        stand_in = history.overrides.get(id)
        if stand_in is not None:
            refs[at] = ref = f"{id}={stand_in}"
            kept = None if made is None else made.get(ref)
            messages[at] = kept or messages[at].with_text(texts[stand_in].text)
            if made is not None:
                made[ref] = messages[at]
    if history.summary is not None:
        at = 1 if history.system else 0
        messages.insert(at, summary(texts[history.summary].text))
        refs.insert(at, history.summary)
    return messages, refs
