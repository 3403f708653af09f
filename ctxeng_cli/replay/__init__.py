"""Recordings through window policies: what a model would have been shown, request by request. Pure.

Runs the code that holds the window of a live session (`window.Hold`) over the messages of a recording.
"""

from ctxeng_cli.replay.expect import Expectation, expectation
from ctxeng_cli.replay.simulate import Row, Run, Summary, is_illegal, look, simulate, summary
from ctxeng_cli.replay.window import Window

__all__ = ["Expectation", "Row", "Run", "Summary", "Window", "expectation", "is_illegal", "look", "simulate", "summary"]
