"""A request: exactly what goes to a model, and its fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxeng_cli.core.messages import Image, Message, Text

CACHE_MARK: Mapping[str, str] = {"type": "ephemeral"}
"""What a provider that wants marks for its prompt cache wants them to be. litellm takes it beside a message's content."""


@dataclass(frozen=True, slots=True)
class ToolDefinition:
    """What a model is told of a tool. `parameters` is a JSON schema of type object."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What a recording holds of it besides, by its own key: a cache mark."""

    def openai(self) -> dict[str, Any]:
        """In OpenAI's shape."""
        body = {"name": self.name, "description": self.description, "parameters": dict(self.parameters)}
        return {"type": "function", "function": body}


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that one call of a model carries. `parameters` holds the model's name and its settings."""

    messages: tuple[Message, ...]
    tools: tuple[ToolDefinition, ...] = ()
    response_format: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    marks: tuple[str, ...] = ()
    """Where the provider's prompt cache is marked: ids of messages, and `tools` behind the last of them."""

    def payload(self) -> dict[str, Any]:
        """The body in OpenAI's chat shape: what is sent, what is fingerprinted, what `--payload` shows."""
        said = [openai_message(m) for m in self.messages]
        for body, message in zip(said, self.messages, strict=True) if self.marks else ():
            if message.id in self.marks:
                blocks = body["content"]
                (blocks[-1] if isinstance(blocks, list) else body)["cache_control"] = dict(CACHE_MARK)
        body = {**self.parameters, "messages": said}
        if self.tools:
            body["tools"] = [tool.openai() for tool in self.tools]
            if "tools" in self.marks:
                body["tools"][-1]["cache_control"] = dict(CACHE_MARK)
        if self.response_format is not None:
            body["response_format"] = dict(self.response_format)
        return body

    @property
    def fingerprint(self) -> str:
        """SHA-256 over the payload's canonical bytes, as `sha256:<64 hex digits>`."""
        return "sha256:" + hashlib.sha256(canonical(self.payload())).hexdigest()


def canonical(value: Any) -> bytes:
    """JSON in one spelling: ASCII, sorted keys, no spaces. Lone surrogates survive it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")


def text_hash(text: str) -> str:
    """The reference of a text that is not a message: `#` and 16 hex digits of SHA-256."""
    return "#" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def openai_message(message: Message) -> dict[str, Any]:
    """One message in OpenAI's chat shape. Thinking has no place in it and stays behind."""
    if any(isinstance(block, Image) for block in message.content):
        content: Any = [
            {"type": "text", "text": block.text}
            if isinstance(block, Text)
            else {"type": "image_url", "image_url": {"url": block.url, **({"detail": block.detail} if block.detail else {})}}
            for block in message.content
            if isinstance(block, Text | Image)
        ]
    else:
        content = message.text
    body: dict[str, Any] = {"role": message.role, "content": content}
    if message.tool_calls:
        body["content"] = content or None
        body["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.tool_calls
        ]
    if message.tool_call_id is not None:
        body["tool_call_id"] = message.tool_call_id
    if message.name and message.role != "tool":
        body["name"] = message.name
    return body
