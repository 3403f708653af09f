"""Every key of `agents.yaml` as one table of shapes, and the words of other tools that lead to ours.

Keys of the contract that are not built yet are marked `later`: they are refused with their place, never ignored.
Source: CONTRACT.md "Spec file"; foreign words from shared/reference/yaml_specs.md 3.
"""

from __future__ import annotations

import re
from urllib.parse import urlsplit

from ctxeng_cli.core.errors import nearest
from ctxeng_cli.spec.shapes import Default, Either, Key, ListOf, MapOf, Number, Record, Str, Word

LATER = Key(later=True)
TYPES = ("string", "integer", "number", "boolean", "date", "list", "object", "enum")
BUILT_INS = ("it", "current_date", "current_time", "current_date_time")


def name_problem(name: str) -> str | None:
    """What is wrong with a name of an agent, a model or an input, or None."""
    if re.fullmatch(r"[^\W\d][\w-]{0,63}", name):
        return None
    return f'"{name}" can\'t be a name: use letters, digits, _ and -, and begin with a letter'


def variable_problem(name: str) -> str | None:
    if not re.fullmatch(r"[^\W\d]\w{0,63}", name):
        return f'"{name}" can\'t be a variable: use letters, digits and _, and begin with a letter'
    return f'"{name}" is a built-in variable; choose another name' if name in BUILT_INS else None


def python_problem(text: str) -> str | None:
    """What is wrong with a `module:function`, or None."""
    module, colon, function = text.removeprefix("python:").partition(":")
    if colon and all(part.isidentifier() for part in module.split(".")) and all(p.isidentifier() for p in function.split(".")):
        return None
    return f'expected module:function, found "{text}"; for example app.tools:get_weather'


SYSTEM_IS = "The system message is called `system` here."
MEMORY_IS = "What stays in the window is called `memory` here, for example `memory: {window: messages:20}`."
TOOLS_ARE = "Tools are called `tools` here, for example `tools: [{python: app.tools:get_weather}]`."
ROUNDS_ARE = "Write `tool_loop: {max_rounds: 20}`."
OUTPUT_IS = "Structured output is called `output` here."
AGENT_TOOLS = "An agent that another may call is a tool here: `tools: [{agent: NAME}]`."

FOREIGN_AGENT = {
    **dict.fromkeys(("instruction", "instructions", "prompt", "system_prompt", "template", "system_message"), SYSTEM_IS),
    **dict.fromkeys(("role", "goal", "backstory"), SYSTEM_IS + " Put role, goal and backstory into one prompt."),
    **dict.fromkeys(("llm", "llm_config", "provider", "goose_model", "settings", "model_name"), "The model is called `model` here."),
    **dict.fromkeys(("parameters", "input_variables", "variables", "vars"), "What a caller gives is called `inputs` here."),
    **dict.fromkeys(("history", "compaction", "max_history", "use_history"), MEMORY_IS),
    "num_history_items": "Write `memory: {window: messages:N}`.",
    "context_window_limit": "Write `memory: {window: tokens:N}`.",
    "window": "Write `memory: {window: …}`.",
    **dict.fromkeys(("rag", "knowledge", "knowledge_sources", "docs"), "Retrieved text is called `retrieval` here; it is not built yet."),
    **dict.fromkeys(("toolsets", "extensions", "servers", "mcpServers", "mcp_servers", "function_tools", "plugins", "allowed_tools"), TOOLS_ARE),
    **dict.fromkeys(("sub_agents", "subagents", "handoffs", "sub_recipes"), AGENT_TOOLS),
    **dict.fromkeys(("max_iterations", "max_turns", "max_iter", "recursion_limit", "max_rounds"), ROUNDS_ARE),
    **dict.fromkeys(("response", "response_format", "structured_output", "output_schema", "expected_output"), OUTPUT_IS),
    **dict.fromkeys(("hooks", "callbacks", "middleware"), "Hooks are called `transform` and `guardrails` here; they are not built yet."),
    "prompt_template": "The template around the person's text is called `user` here.",
    "temperature": "Settings of a model belong under `models: {NAME: {model: …, temperature: …}}`.",
    "name": "An agent's name is its key under `agents`.",
}  # fmt: skip

INPUT = Record("an input", {
    "type": Key(Word(TYPES), "What kind of value it is."),
    "default": Key(Default(), "The value where the caller gives none. Without it the input must be given."),
    "description": Key(Str(), "What it is for."),
    "values": Key(ListOf(Str()), "The allowed values of an enum."),
}, {"requirement": "Leave `default` out to make an input required.", "is_required": "Leave `default` out to make an input required.",
    "required": "Leave `default` out to make an input required.", "enum": "Write `type: enum` and `values: [a, b]`.",
    "input_type": "The kind of an input is called `type` here.", "options": "The allowed values of an enum are called `values` here."})  # fmt: skip

MODEL = Record("a model", {
    "model": Key(Str(empty=False), "`offline`, `scripted:FILE`, or any litellm model string.", required=True),
    "api_base": Key(Str(empty=False), "The address of a server of one's own, for example http://127.0.0.1:8080/v1."),
    "temperature": Key(Number(least=0, most=2), "Sampling temperature."),
    "context_window": Key(Number(whole=True, least=1), "Tokens that the model's window holds; bounds every window policy."),
    "max_output": Key(Number(whole=True, least=1), "Tokens that the model may answer with."),
    "provider": Key(Word(("openai", "openai-responses", "anthropic", "gemini")), "Whose protocol rules apply."),
    "timeout_s": Key(Number(least=0.01), "Seconds until a silent model is given up."),
    "cache": Key(Word(("auto", "off")), "Whether the provider's prompt cache is marked where it wants that; auto unless said."),
}, {"base_url": "The address is called `api_base` here.", "max_tokens": "Write `max_output`.",
    "api_key": "Keys never stand in a spec: set the provider's environment variable, or write it into .env."})  # fmt: skip

TEXT = Either(
    Str(empty=False),
    Record(
        "a prompt", {"file": Key(Str(empty=False), "A prompt file, from the spec's folder.", required=True), "provider": LATER}
    ),
)


def percent_problem(text: str) -> str | None:
    digits = text.removesuffix("%")
    return (
        None
        if digits.isascii() and digits.isdigit() and 0 < int(digits) <= 100
        else f'expected a share such as "80%", found "{text}"'
    )


STEP = Record("a step of the pipeline", {
    "clear_tool_results": Key(Record("clear_tool_results", {
        "keep": Key(Number(whole=True, least=0), "The newest results, which stay; 3 unless said."),
        "placeholder": Key(Str(empty=False), "What stands in the place of a cleared result."),
        "exclude": Key(ListOf(Str(empty=False)), "Tools whose results stay."),
    }), "Old tool results give way to a placeholder."),
    "cap_result": Key(Record("cap_result", {
        "tokens": Key(Number(whole=True, least=1), "What one result may have; 2000 unless said."),
        "round_tokens": Key(Number(whole=True, least=1), "What the results of one round may have together."),
    }), "Long tool results are shortened to head and tail."),
    "offload": Key(Record("offload", {
        "over_tokens": Key(Number(whole=True, least=1), "A longer result leaves the window; 2000 unless said."),
        "preview_tokens": Key(Number(whole=True, least=1), "What of it stays; 200 unless said."),
    }), "Long tool results leave for a file; a preview and a handle stay, and the tool read_offloaded reads the rest."),
    "summarize": Key(Record("summarize", {
        "keep_exchanges": Key(Number(whole=True, least=1), "The newest exchanges, which stay verbatim; 4 unless said."),
        "model": Key(Str(empty=False), "Who writes the summary: a name under `models`, or a model string. The agent's own unless said."),
        "prompt": Key(Str(empty=False), "A prompt file with the summarizer's instructions."),
        "over": Key(Str(empty=False, check=percent_problem), 'The share of the window at which it begins, such as "80%"; when it is full unless said.'),
    }), "Older exchanges give way to one summary."),
})  # fmt: skip


def message_id_problem(text: str) -> str | None:
    return (
        None if re.fullmatch("m[1-9][0-9]*", text) else f'"{text}" is no message id such as m2; pin a text with {{contains: "…"}}'
    )


STORES = ("file", "memory", "sqlite:PATH", "redis://host:port/db", "python:module:function")


def store_problem(text: str) -> str | None:
    """What is wrong with the name of a store, or None."""
    kind, colon, rest = text.partition(":")
    if kind in ("file", "memory") and not colon:
        return None
    if kind == "python" and colon:
        return python_problem(text)
    if kind in ("redis", "rediss") and colon:
        return redis_problem(text)
    if kind == "sqlite" and rest.strip():
        return None
    known = {name.partition(":")[0]: name for name in STORES}
    hint = f" Write {known[kind]}." if kind in known else nearest(kind, known)
    return f'unknown store "{text}".{hint or " Use one of " + ", ".join(STORES) + "."}'


def redis_problem(text: str) -> str | None:
    """What is wrong with the address of a Redis store, or None. It is never repeated: a password may stand in it."""
    try:
        parts = urlsplit(text)
        named = parts.hostname is not None and parts.port != 0
    except ValueError:  # the port is no number, or a bracket is open
        named = False
    database = parts.path.strip("/") if named else ""
    if named and (not database or (database.isascii() and database.isdecimal())):
        return None
    what = "the database of a Redis store is a number" if named else "this is no address of a Redis store"
    return f"{what}. Write redis://host:port/db; in a password / is %2F, ? is %3F, # is %23 and @ is %40."


PIN = Record("a pin", {"contains": Key(Str(empty=False), "Every message that holds this text stays.", required=True)})
MEMORY = Record("memory", {
    "window": Key(Str(empty=False), "A policy: unlimited, none, messages:20, tokens:6000, tokens:60%, python:module:function."),
    "unit": Key(Word(("exchange", "message")), "What leaves together: a question with all that answers it, or message by message."),
    "low_water": Key(Number(least=0.01, most=1), "Once the window is full, as much leaves as brings it down to this part: in batches."),
    "reserve": Key(Number(whole=True, least=0), "Tokens kept free for the answer."),
    "overflow": Key(Word(("error", "truncate", "keep")), "What happens when the floor does not fit."),
    "store": Key(Str(empty=False, check=store_problem), "Where the log is kept: file, memory, sqlite:PATH, redis://host:port/db (with ?prefix=NAME its keys begin with NAME), python:module:function."),
    "pipeline": Key(ListOf(STEP), "What is tried before anything is evicted, cheapest first, until the window fits."),
    "pin": Key(ListOf(Either(Str(empty=False, check=message_id_problem), PIN)), "Messages that stay whatever their age."),
    "image_tokens": Key(Number(whole=True, least=0), "What an image counts; 1100 unless said."),
}, {"type": "Write `window: messages:20` or `window: tokens:6000`.", "max_messages": "Write `window: messages:N`.",
    "max_tokens": "Write `window: tokens:N`.", "limit": "Write `window: messages:N` or `window: tokens:N`."})  # fmt: skip

TOOL = Record("a tool", {
    "python": Key(Str(empty=False, check=python_problem), "module:function; the schema comes from its signature."),
    "timeout_s": Key(Number(least=0.01, most=86_400), "Seconds until a call is given up."),
    **dict.fromkeys(("command", "mcp", "agent", "provider", "returns", "approve", "max_calls", "on_error", "undo"), LATER),
}, {"name": "Write `python: module:function`; the tool's name is the function's.", "type": "The kind of a tool is its key: `python: module:function`.",
    "function": "Write `python: module:function`."})  # fmt: skip

TOOL_LOOP = Record("tool_loop", {
    "max_rounds": Key(Number(whole=True, least=0), "Rounds of tool calls in a turn; then the model is asked once more without tools."),
    "on_limit": Key(Word(("answer",), ("error", "partial")), "What happens at the limit."),
    "parallel": Key(Word(("true",), ("false",)), "Calls of one response run at the same time."),
    "unknown_tool": Key(Word(("report",), ("error",)), "What happens when the model names a tool that is not there."),
    "max_calls_per_round": LATER, "search": LATER,
}, dict.fromkeys(("max_iterations", "max_turns"), "Write `max_rounds`."))  # fmt: skip

AGENT = Record("an agent", {
    "description": Key(Str(), "What the agent is for."),
    "model": Key(Str(empty=False), "A name under `models`, `offline`, `scripted:FILE`, or any litellm model string."),
    "inputs": Key(MapOf(INPUT, variable_problem), "What a caller must or may give; the agent's parameters."),
    "env": Key(ListOf(Str(empty=False)), "The only environment variables that templates may read."),
    "system": Key(TEXT, "The system message: a template, inline or in a file."),
    "user": Key(TEXT, "A template around the person's text, which is {{it}}."),
    "memory": Key(Either(Word(("none",)), MEMORY), "What stays in the window."),
    "tools": Key(ListOf(TOOL), "What the model may call."),
    "tool_loop": Key(TOOL_LOOP, "Limits of the tool loop."),
    **dict.fromkeys(("retrieval", "limits", "guardrails", "output", "transform", "context", "output_key"), LATER),
    "compat": Key(Word(("langchain4j",)), "Another framework's own window rules, quirks included."),
}, FOREIGN_AGENT)  # fmt: skip

ROOT = Record("the spec", {
    "version": Key(Word(("1",)), "The version of this format: 1.", required=True),
    "defaults": Key(AGENT, "Keys that every agent has unless it says otherwise."),
    "models": Key(MapOf(MODEL, name_problem), "Named models."),
    "agents": Key(MapOf(AGENT, name_problem), "The agents by name.", required=True),
    "workflows": LATER, "scope": LATER,
}, {"tasks": "Workflows are called `workflows` here; they are not built yet.", "process": "Workflows are called `workflows` here; they are not built yet.",
    "roles": "Agents are called `agents` here.", "agent": "Agents stand under `agents`, by name.", "framework": "This key is PraisonAI's; take it out."})  # fmt: skip

__all__ = ["AGENT", "BUILT_INS", "MEMORY", "ROOT", "name_problem"]
