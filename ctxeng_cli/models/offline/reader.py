"""The window reader: what it does with a request, in order, and the pieces in which it streams."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ctxeng_cli.core.events import Usage
from ctxeng_cli.core.messages import Message, ToolCall
from ctxeng_cli.core.request import Request, ToolDefinition
from ctxeng_cli.core.tokens import PRIMING, Counter
from ctxeng_cli.models.offline import quoting, results
from ctxeng_cli.models.offline.calls import calls
from ctxeng_cli.models.offline.digest import digest, is_task
from ctxeng_cli.models.offline.forms import filled
from ctxeng_cli.models.offline.manner import manner
from ctxeng_cli.models.offline.passages import passages, reference
from ctxeng_cli.models.offline.phrases import phrase
from ctxeng_cli.models.offline.words import CJK, Language, language

_PIECE = re.compile(rf"\s*(?:[{CJK}]{{1,4}}|[^\s{CJK}]{{1,40}})\s*|\s+")
_READ = 8_000
"""Characters of a person's message that are read for tools and manner, from its end."""


def respond(request: Request) -> tuple[str, tuple[ToolCall, ...]]:
    """The text and the calls that answer a request. A function of the request alone."""
    messages = request.messages
    running = max((place for place, message in enumerate(messages) if message.role == "user"), default=-1)
    if running < 0:
        return introduction(messages, request.tools, "en"), ()
    if is_task(messages[running].text):
        return digest(messages[running].text), ()
    question, _ = quoting.question_of(messages[running].text[-_READ:])
    words = language(question)
    done = any(message.role == "tool" for message in messages[running + 1 :])
    if request.tools and not done and (wanted := calls(request.tools, question, len(messages))):
        return "", wanted
    if request.response_format is not None:
        return filled(request.response_format, question, lambda asked: _find(messages, running, done, asked)), ()
    if done:
        return results.answer(messages, running, words), ()
    return _say(messages, running, manner(question), request.tools, words), ()


def _say(messages: Sequence[Message], running: int, wants: str, tools: Sequence[ToolDefinition], words: Language) -> str:
    if wants in ("greeting", "about"):
        return introduction(messages, tools, words)
    if wants == "thanks":
        return phrase("thanks", words)
    if wants == "summary":
        return quoting.summary(messages, running, words)
    if wants == "statement":
        return phrase("noted", words, id=reference(messages[running], running))
    return quoting.answer(messages, running, words)


def introduction(messages: Sequence[Message], tools: Sequence[ToolDefinition], words: Language) -> str:
    """What this is, what the agent's instructions say it is for, and the tools it has."""
    said = [phrase("who", words)]
    if quotes := quoting.instructions(messages, words):
        said.append(phrase("purpose", words) + (" " if words == "en" else "") + str(quotes[0]))
    if tools:
        listed = [f"- {tool.name}: {tool.description.strip().partition(chr(10))[0]}" for tool in tools]
        said.append("\n".join([phrase("tools", words), *listed]))
    else:
        said.append(phrase("try", words))
    return "\n".join(said)


def _find(messages: Sequence[Message], running: int, done: bool, asked: str) -> str:
    """The sentence that fits some words best: of the tool results where there are any, else of the whole window."""
    places = range(running + 1, len(messages)) if done else range(len(messages))
    window = passages((place, messages[place]) for place in places if messages[place].role != "system")
    hits, _ = quoting.search(asked, window, ())
    return hits[0].passage.text if hits else ""


def pieces(text: str) -> Iterator[str]:
    """A text in word-sized pieces that add up to it."""
    return (match[0] for match in _PIECE.finditer(text))


def usage(request: Request, text: str, wanted: Sequence[ToolCall]) -> Usage:
    """Exact counts by o200k_base, which is this model's tokenizer by definition."""
    counter = Counter("o200k_base", True)
    sent = sum(counter.message(message) for message in request.messages) + sum(counter.tool(tool) for tool in request.tools)
    made = counter.text(text) + sum(counter.call(call.name, call.arguments) for call in wanted)
    return Usage(sent + counter.tools_overhead(request.tools) + PRIMING, made)
