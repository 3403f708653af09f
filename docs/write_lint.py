"""Write docs/lint.md out of the rules in the code: `python docs/write_lint.py`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from ctxeng_cli.lint import anthropic, gemini, openai, responses

PAGE = Path(__file__).parent / "lint.md"
HEAD = """# Lint: what a provider would refuse

Before each request of a chat, of `inspect-context` and of a replay, it is held against the rules of the model's provider.
A finding has a code for ever, our explanation, the provider's own words as a prediction, and the message it points at. An
*error* would be refused; a *warning* is accepted and does harm. What a replay calls illegal is a request with an error, and
`ctxeng replay` then exits with 1. Offline, scripted and local models are held against OpenAI's rules; `--provider` and the
key `provider` of a model choose others. `ctxeng replay FILE --fix` mends what can be mended without losing anything.

The rules come from the providers' documents and from public reports of their answers; this page is made by
`docs/write_lint.py`.
"""
TABLES = {
    "OpenAI chat": openai.RULES,
    "OpenAI Responses": responses.RULES,
    "Anthropic Messages": anthropic.RULES,
    "Gemini generateContent": gemini.RULES,
}


def written() -> str:
    """The page: a table for each provider."""
    parts = [HEAD]
    for provider, rules in TABLES.items():
        rows = [f"| {code} | {rule} |" for code, rule in rules.items()]
        parts.append("\n".join([f"## {provider}", "", "| code | what must hold |", "|---|---|", *rows, ""]))
    return "\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(written(), encoding="utf-8")
