"""The providers' rules as pure functions over a request. What this calls legal is what *legal* means everywhere else."""

from ctxeng_cli.lint.openai import check

__all__ = ["check"]
