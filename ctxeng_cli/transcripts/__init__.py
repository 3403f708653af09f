"""Recordings of conversations, whatever tool wrote them, as messages of ours. Pure functions of bytes.

`read` recognises a recording by its structure and says what it took it for; one module for each family of formats. What
a format does not hold is said, and what is not understood is kept beside its message. Knows the spec and the core.
"""

from ctxeng_cli.transcripts.detect import FORMATS, read
from ctxeng_cli.transcripts.recording import Asked, Recording
from ctxeng_cli.transcripts.repair import repaired

__all__ = ["FORMATS", "Asked", "Recording", "read", "repaired"]
