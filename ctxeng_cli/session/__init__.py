"""One conversation in time: where its log lies, who may write it, and how everything is wired for a turn.

`open_session` is the one place that knows every implementation behind the ports. Knows agent, assembly, window, models,
tools, spec and core; knows no screen.
"""

from ctxeng_cli.session.journal import Journal
from ctxeng_cli.session.open import Session, open_session
from ctxeng_cli.session.stores import FileStore, SessionInfo, Store, store_for

__all__ = ["FileStore", "Journal", "Session", "SessionInfo", "Store", "open_session", "store_for"]
