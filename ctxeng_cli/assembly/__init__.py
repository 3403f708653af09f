"""From a typed message to a request: templates, inputs, stages. Pure functions; text is substituted once and is never a template.

Knows the spec and the core. Today: `system`, `user_template` and what checks them; retrieval, context, guardrails and
formats are still to come.
"""

from ctxeng_cli.assembly.hooks import HOOKS, V, call_hook, hook_problem
from ctxeng_cli.assembly.inputs import Clock, check_agent, given_inputs, variables
from ctxeng_cli.assembly.template import Template, parse, render

__all__ = [
    "HOOKS", "Clock", "Template", "V", "call_hook", "check_agent", "given_inputs", "hook_problem", "parse", "render",
    "variables",
]  # fmt: skip
