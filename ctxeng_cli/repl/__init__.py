"""Driving a session at the terminal: the line, slash commands, completion, keys, the toolbar with the window meter.

Knows sessions, the screen and prompt-toolkit, which is imported nowhere else. Decides nothing about windows.
"""

from ctxeng_cli.repl.commands import COMMANDS, Command
from ctxeng_cli.repl.loop import Repl

__all__ = ["COMMANDS", "Command", "Repl"]
