"""For all tests: laws are tried on the same cases in every run, and on many others with HYPOTHESIS=search."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS", "steady"))
