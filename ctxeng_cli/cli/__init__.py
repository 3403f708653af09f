"""The commands: options, one call, one exit code. Errors become text and an exit code here and nowhere else.

Knows every room. Nothing heavy is imported before a command runs: `--help` loads typer and this room alone.
"""
