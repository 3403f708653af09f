"""Token counts: text by tiktoken, framing by a named formula. A message is counted once in its life.

Text is exact for OpenAI's encodings, offline from the first run: the vocabularies that tiktoken would download lie in
litellm's package in tiktoken's own cache format. For other models the nearest encoding is used and labelled `≈`.

The frame `openai-chat/1` follows OpenAI's cookbook ("How to count tokens with tiktoken"): 3 for each message and 1 for
its role, 1 for a name besides its text, 3 to prime the answer; for tools 7 for each function, 3 for its list of
properties, 3 for each property, -3 for an enum and 3 for each of its values, 12 to close the list. For a tool call: 3,
its name and its arguments.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from ctxeng_cli.core.messages import Image, Message, Thinking
from ctxeng_cli.core.request import ToolDefinition, canonical

FRAME = "openai-chat/1"
PRIMING = 3
RESULT_FRAME = 4
"""What a tool result weighs besides its text: 3 for the message, 1 for its role."""
IMAGE_TOKENS = 1100

# A run of white space of about a million characters overflows the stack of tiktoken's regular expression engine, which
# ends in a PanicException (a BaseException). 100,000 is far from it; a cut costs at most one token.
_LONG = 100_000
_LONG_RUN = re.compile(rf"\s{{{_LONG},}}")


class Encoding(Protocol):
    """The part of tiktoken that is used."""

    def encode_ordinary(self, text: str) -> list[int]: ...


@cache
def _encoding(name: str) -> Encoding:
    """tiktoken's encoding, from files on this disk. Costs 0.2 s the first time."""
    import importlib.util

    spec = importlib.util.find_spec("litellm")
    before = os.environ.get("TIKTOKEN_CACHE_DIR")
    if spec is not None and spec.submodule_search_locations:
        folder = Path(spec.submodule_search_locations[0]) / "litellm_core_utils" / "tokenizers"
        os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        import tiktoken

        return tiktoken.get_encoding(name)
    finally:
        if before is None:
            os.environ.pop("TIKTOKEN_CACHE_DIR", None)
        else:
            os.environ["TIKTOKEN_CACHE_DIR"] = before


def count_text(text: str, encoding: str = "o200k_base") -> int:
    """Tokens of a text, special tokens such as `<|endoftext|>` taken as text. Linear in practice."""
    encoder = _encoding(encoding)
    if len(text) < _LONG:
        return len(encoder.encode_ordinary(text))
    return sum(len(encoder.encode_ordinary(piece)) for piece in _pieces(text))


def _pieces(text: str) -> Iterable[str]:
    start = 0
    for run in _LONG_RUN.finditer(text):
        for cut in range(run.start() + _LONG, run.end(), _LONG):
            yield text[start:cut]
            start = cut
    yield text[start:]


class Counter:
    """Counts for one model. `name` is the encoding, `exact` says whether it is the model's own for text."""

    def __init__(self, name: str, exact: bool, image_tokens: int = IMAGE_TOKENS) -> None:
        self.name, self.exact, self.image_tokens = name, exact, image_tokens
        self.frame = FRAME

    @property
    def label(self) -> str:
        """The name as it is shown: `o200k_base`, or `≈ o200k_base`."""
        return self.name if self.exact else f"≈ {self.name}"

    def text(self, text: str) -> int:
        return count_text(text, self.name)

    def message(self, message: Message) -> int:
        """A message with its frame; its parts (`call` and the rest) add up to this."""
        return self.body(message) + sum(self.call(c.name, c.arguments) for c in message.tool_calls)

    def body(self, message: Message) -> int:
        """A message without its tool calls."""
        tokens = RESULT_FRAME + self.text(message.text)
        if message.name and message.role != "tool":
            tokens += 1 + self.text(message.name)
        for block in message.content:
            if isinstance(block, Image):
                tokens += self.image_tokens
            elif isinstance(block, Thinking):
                tokens += self.text(block.text)
        return tokens

    def call(self, name: str, arguments: str) -> int:
        return 3 + self.text(name) + self.text(arguments)

    def tool(self, tool: ToolDefinition) -> int:
        """One tool's definition, without the 12 that close the list."""
        return 7 + self.text(f"{tool.name}:{tool.description}") + self._properties(tool.parameters)

    def _properties(self, schema: Mapping[str, Any]) -> int:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping) or not properties:
            return 0
        tokens = 3
        for key, value in properties.items():
            field = value if isinstance(value, Mapping) else {}
            text = f"{key}:{field.get('type', '')}:{str(field.get('description', '')).rstrip('.')}"
            tokens += 3 + self.text(text)
            if isinstance(field.get("enum"), list):
                tokens += -3 + sum(3 + self.text(str(item)) for item in field["enum"])
            tokens += self._properties(field)
            rest = {k: v for k, v in field.items() if k not in ("type", "description", "enum", "properties", "title")}
            if rest:
                tokens += self.text(canonical(rest).decode())
        return tokens

    def tools_overhead(self, tools: Iterable[ToolDefinition]) -> int:
        return 12 if any(True for _ in tools) else 0


_ENCODINGS = ("o200k_base", "cl100k_base", "p50k_base")
"""Those whose vocabularies lie on this disk."""


def counter_named(name: str, exact: bool) -> Counter:
    """The counter that a log names. One that is not known here stands for an estimate."""
    return Counter(name, exact) if name in _ENCODINGS else Counter("o200k_base", False)


_CL100K = ("gpt-4-", "gpt-3.5", "text-embedding-")


def counter_for(model: str, image_tokens: int = IMAGE_TOKENS) -> Counter:
    """The counter for a model string.

    Exact: OpenAI's own models (`openai/…` or a bare name that tiktoken knows), and `offline` and `scripted:`, whose
    tokenizer is o200k_base by definition. Everything else is counted with o200k_base and labelled as an estimate.
    """
    if model == "offline" or model.startswith("scripted:"):
        return Counter("o200k_base", True, image_tokens)
    provider, slash, rest = model.partition("/")
    name = rest if slash and provider == "openai" else model
    if name == "gpt-4" or name.startswith(_CL100K):
        return Counter("cl100k_base", True, image_tokens)
    if re.match(r"(gpt-4o|gpt-4\.|gpt-5|chatgpt-4o|o[1-9])", name):
        return Counter("o200k_base", True, image_tokens)
    return Counter("o200k_base", False, image_tokens)
