"""The vocabulary of the house: messages, events, the log's fold, requests, budgets, token counts, errors.

Knows only the standard library (tiktoken is imported by `tokens` when a text is first counted). Knows no agent spec,
no provider, no screen and no file. Everything else may import it.
"""
