"""OpenAI Chat Completions: what is refused, and what is accepted and does harm.

Each rule has a code for ever. What the provider would say is a prediction, from public reports of its answers
(protocol_rules.md 4.1). Offline, scripted and local models are held against these rules too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from ctxeng_cli.core.events import Finding
from ctxeng_cli.core.messages import Message
from ctxeng_cli.core.request import Request
from ctxeng_cli.lint.finding import error, warning

RULES: dict[str, str] = {
    "OC001": "every call is answered by tool messages right behind it",
    "OC002": "a tool message answers a call of the assistant message before it",
    "OC003": "ids are there and have at most 40 characters; names are of letters, digits, _ and -, 64 at most",
    "OC004": "arguments are text, and content is null only beside calls",
    "OC005": "arguments are JSON, a call has one answer, no message is empty, tools are used (accepted, and does harm)",
    "OC006": "the request fits into the model's window",
    "OC007": "instructions stand first, in one role (accepted, and does harm)",
    "OC008": "at most 128 tools",
}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_LONGEST_ID = 40
_MOST_TOOLS = 128
_UNUSED_AFTER = 10
"""Answers without a call, after which tools count as unused."""


def check(
    request: Request, *, tokens: int | None = None, context_window: int | None = None, rewritten: frozenset[str] = frozenset()
) -> list[Finding]:
    """All findings. Without both `tokens` and `context_window` OC006 is not looked at."""
    return [
        *limits(request, tokens, context_window), *_pairs(request.messages), *_each(request.messages), *_unused(request),
        *_order(request.messages),
    ]  # fmt: skip


def limits(request: Request, tokens: int | None, context_window: int | None) -> Iterator[Finding]:
    """What the request is too large for, and its tools' names: OC003, OC006, OC008."""
    for tool in request.tools:
        if not _NAME.fullmatch(tool.name):
            says = f"Invalid 'tools[].function.name': string does not match pattern {_NAME.pattern!r}."
            yield error("OC003", f"The tool name {tool.name!r} holds what the provider refuses. {_instead(tool.name)}", says)
    if len(request.tools) > _MOST_TOOLS:
        what = f"The request has {len(request.tools)} tools, and {_MOST_TOOLS} are the most. Show the model fewer."
        yield error("OC008", what, "array_above_max_length: tools")
    if tokens is not None and context_window is not None and tokens > context_window:
        what = f"The request has {tokens:,} tokens, the model's window {context_window:,}. Give it a smaller window policy."
        says = (
            f"This model's maximum context length is {context_window} tokens. However, your messages resulted in {tokens} tokens."
        )
        yield error("OC006", what, says)


def _instead(name: str) -> str:
    """A name that is taken, in place of one that is not."""
    return f"Call it {(re.sub(r'[^a-zA-Z0-9_-]+', '_', name).strip('_') or 'tool')[:64]!r}."


# -- OC001 and OC002: pairs ------------------------------------------------------------------------------------------


def _pairs(messages: Sequence[Message]) -> Iterator[Finding]:
    """A call's results follow it at once, and no result stands without its call. Equal ids are answered in order."""
    caller: Message | None = None
    open: list[str] = []
    asked: tuple[str, ...] = ()
    for at, message in enumerate(messages):
        if message.role == "tool":
            id = message.tool_call_id or ""
            if id in open:
                open.remove(id)
            elif id in asked:
                yield warning("OC005", f"{message.id} answers {id!r} a second time.", message.id)
            else:
                yield _stray(messages, at)
            continue
        if open and caller is not None:
            yield _unanswered(messages, at, caller, open)
        if message.tool_calls:
            caller, asked = message, tuple([call.id for call in message.tool_calls])
            open = list(asked)
        elif asked:
            asked, open = (), []
    if open and caller is not None:
        yield _unanswered(messages, len(messages), caller, open)


def _stray(messages: Sequence[Message], at: int) -> Finding:
    message = messages[at]
    id = message.tool_call_id or ""
    calls = [m for m in messages[:at] if any(call.id == id for call in m.tool_calls)]
    if calls:
        what = f"{message.id} is the result of {id!r} and stands in the wrong place: it belongs right behind {calls[-1].id}."
    else:
        what = f"{message.id} is a result of {id!r}, and no call of that id stands before it. Leave it out."
    says = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
    return error("OC002", what, f"{says} (param: messages.[{at}].role)", message.id)


def _unanswered(messages: Sequence[Message], at: int, caller: Message, open: Sequence[str]) -> Finding:
    late: dict[str, str] = {}
    sought = set(open)
    for message in messages[at:]:
        if message.role == "tool" and message.tool_call_id in sought:
            late[message.tool_call_id] = message.id
        sought -= {message.tool_call_id, *(call.id for call in message.tool_calls)}  # another call has results of its own
    if late:
        where = ", ".join(f"the result of {id!r} is {found}" for id, found in late.items())
        what = f"Results of {caller.id} stand in the wrong place: {where}, and belong right behind it."
    else:
        what = f"The calls {', '.join(map(repr, open))} of {caller.id} have no result right behind them. Put them there."
    says = (
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
        f"The following tool_call_ids did not have response messages: {', '.join(open)}"
    )
    return error("OC001", what, f"{says} (param: messages.[{at}].role)", caller.id)


# -- OC003, OC004, OC005: one message --------------------------------------------------------------------------------


def _each(messages: Sequence[Message]) -> Iterator[Finding]:
    """What is wrong with a message, whatever stands beside it. Most hold a text and nothing else, and are passed by."""
    for at, message in enumerate(messages):
        if message.extra:
            yield from _types(message, at)
        if message.tool_calls:
            yield from _calls(message, at)
        elif message.role == "tool":
            if not 0 < len(message.tool_call_id or "") <= _LONGEST_ID:
                yield _id(message, at, message.tool_call_id or "", "tool result", "tool_call_id")
        elif not message.content:
            yield warning("OC005", f"{message.id} is an empty {message.role} message.", message.id)


def _calls(message: Message, at: int) -> Iterator[Finding]:
    for call in message.tool_calls:
        if not 0 < len(call.id) <= _LONGEST_ID:
            yield _id(message, at, call.id, "tool call", "tool_calls[].id")
        if not _is_name(call.name):
            what = f"{message.id} calls {call.name!r}, a name that the provider refuses. {_instead(call.name)}"
            says = f"Invalid 'messages[{at}].tool_calls[].function.name': string does not match pattern."
            yield error("OC003", what, says, message.id)
        if not _is_object(call.arguments):
            yield warning("OC005", f"The arguments of {call.name} in {message.id} are no JSON object.", message.id)


def _id(message: Message, at: int, id: str, what: str, field: str) -> Finding:
    """What is wrong with an id that is missing or too long."""
    if not id:
        says = f"Missing required parameter: 'messages[{at}].{field}'."
        return error("OC003", f"{message.id} is a {what} without an id. Give both halves one.", says, message.id)
    says = f"Invalid 'messages[{at}].{field}': string too long. Expected a string with maximum length {_LONGEST_ID}."
    found = f"{message.id} is a {what} whose id has {len(id)} characters, {id[:20]}…. Give both halves a shorter one."
    return error("OC003", found, says, message.id)


def _types(message: Message, at: int) -> Iterator[Finding]:
    """OC004: what a recording held as another type. Messages of our own can't."""
    for id in message.extra.get("arguments_not_text") or ():
        what = f"The arguments of the call {id!r} in {message.id} are no text. Write them as JSON text."
        says = f"Invalid type for 'messages[{at}].tool_calls[].function.arguments': expected a string, got an object."
        yield error("OC004", what, says, message.id)
    if message.extra.get("content_null"):
        what = f"{message.id} has null as its content and calls nothing. Write an empty text."
        says = f"Invalid value for 'content': expected a string, got null. (param: messages.[{at}].content)"
        yield error("OC004", what, says, message.id)


# -- OC005 and OC007: accepted, and does harm ------------------------------------------------------------------------


def _unused(request: Request) -> Iterator[Finding]:
    messages = request.messages
    if request.tools and len(messages) > 2 * _UNUSED_AFTER and not any(message.tool_calls for message in messages):
        answers = sum(message.role == "assistant" for message in messages)
        if answers >= _UNUSED_AFTER:
            what = f"None of {len(request.tools)} tools was called in {answers} answers; each request pays for them."
            yield warning("OC005", what)


@lru_cache(maxsize=2048)
def _is_name(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


@lru_cache(maxsize=2048)
def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _order(messages: Sequence[Message]) -> Iterator[Finding]:
    instructions = [at for at, message in enumerate(messages) if message.role == "system"]
    if instructions in ([], [0]):
        return
    roles = {str(messages[at].extra.get("role", "system")) for at in instructions}
    if len(roles) > 1:
        yield warning("OC007", "Instructions stand in two roles, system and developer.", messages[instructions[0]].id)
    for at in instructions:
        if any(message.role != "system" for message in messages[:at]):
            yield warning("OC007", f"{messages[at].id} is a system message that does not stand first.", messages[at].id)
