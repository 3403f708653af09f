"""ctxeng: decide, see and test what a language model is shown on every call.

The public door; everything is loaded when it is first used:

    Window(policy, model=…)                  a window for a loop of your own, in OpenAI's shape
    fit(history, budget, fixed=…, turn=…)    the edits that bring a window under its budget
    lint(request)                            what a provider would say of it
    V(name)                                  an alias for a parameter of a hook: Annotated[str, V("it")]
    render(template, values)                 a template with its variables
    Session, open_session, load              a conversation with an agent of a spec
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ctxeng_cli.assembly import V, render
    from ctxeng_cli.lint import check as lint
    from ctxeng_cli.replay import Window
    from ctxeng_cli.session import Session, open_session
    from ctxeng_cli.spec import load
    from ctxeng_cli.window import fit

__all__ = ["Session", "V", "Window", "fit", "lint", "load", "open_session", "render"]

_DOORS = {
    "Session": ("session", "Session"),
    "fit": ("window", "fit"),
    "lint": ("lint", "check"),
    "load": ("spec", "load"),
    "open_session": ("session", "open_session"),
    "V": ("assembly", "V"),
    "render": ("assembly", "render"),
    "Window": ("replay", "Window"),
}


def __getattr__(name: str) -> Any:
    if name not in _DOORS:
        raise AttributeError(f"module 'ctxeng_cli' has no attribute {name!r}")
    from importlib import import_module

    room, item = _DOORS[name]
    return getattr(import_module(f"ctxeng_cli.{room}"), item)
