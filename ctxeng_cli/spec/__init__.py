"""From `agents.yaml` to frozen, typed specs in which every value knows its place.

`load(path)` answers a `Project` or raises a `SpecError` with every problem found. Loading reads the spec and its prompt
files; it imports nothing and starts nothing. Knows the core; knows no template syntax, no model and no tool.
"""

from ctxeng_cli.spec.load import find, json_schema, load
from ctxeng_cli.spec.model import AgentSpec, InputSpec, ModelSpec, Project, SummarizerSpec, TextSource, ToolSpec
from ctxeng_cli.spec.policy import Policy, parse_policy

__all__ = [
    "AgentSpec", "InputSpec", "ModelSpec", "Policy", "Project", "SummarizerSpec", "TextSource", "ToolSpec",
    "find", "json_schema", "load", "parse_policy",
]  # fmt: skip
