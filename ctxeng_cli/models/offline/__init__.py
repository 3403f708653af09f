"""The offline model: a deterministic window reader, so that the workbench runs with no key and no network (SPEC 6).

No language model. What it can answer is exactly what is in `request.messages`, and it says from which of them. Knows the
core alone; the standard library is enough for it. No clock, no randomness, no input or output.
"""

from ctxeng_cli.models.offline.model import Offline

__all__ = ["Offline"]
