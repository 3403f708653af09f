"""What a model may call: Python functions, with schemas by reflection. Wired in by `session.open`.

Knows the spec and the core. Commands, MCP servers and agents as tools are still to come.
"""

from ctxeng_cli.tools.python import PythonTool, load_function, load_tools

__all__ = ["PythonTool", "load_function", "load_tools"]
