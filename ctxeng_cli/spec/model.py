"""The specs: what `agents.yaml` says, as frozen values."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxeng_cli.core.errors import Place
from ctxeng_cli.core.request import canonical
from ctxeng_cli.spec.policy import Policy


@dataclass(frozen=True, slots=True)
class TextSource:
    """A template's text and where it stands: `line` and `column` are those of its first character, counted from 1.

    `indent` is what each further line of a YAML block is indented by; `exact` is false where a place inside the text
    can only be told by its start (a quoted or folded scalar over several lines).
    """

    text: str
    file: str
    line: int = 1
    column: int = 1
    indent: int = 0
    exact: bool = True
    key: str | None = None

    def place(self, offset: int) -> Place:
        """The place of the character at `offset`."""
        if not self.exact:
            return Place(self.file, self.line, self.column)
        before = self.text[:offset]
        down = before.count("\n")
        across = offset - (before.rfind("\n") + 1)
        return Place(self.file, self.line + down, across + (self.indent + 1 if down else self.column))


@dataclass(frozen=True, slots=True)
class InputSpec:
    """What a caller must or may give. `required` where no default stands."""

    name: str
    type: str = "string"
    default: Any = None
    required: bool = True
    description: str = ""
    values: tuple[str, ...] = ()
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A model: `model` is `offline`, `scripted:FILE` or a litellm model string."""

    model: str
    name: str = ""
    api_base: str | None = None
    temperature: float | None = None
    context_window: int | None = None
    max_output: int | None = None
    provider: str | None = None
    cache: str = "auto"
    timeout_s: float = 120.0
    place: Place | None = None

    @property
    def parameters(self) -> dict[str, Any]:
        """What a request carries besides messages and tools."""
        given = {"temperature": self.temperature, "max_tokens": self.max_output}
        return {"model": self.model, **{key: value for key, value in given.items() if value is not None}}


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """One entry under `tools`: today `python: module:function`."""

    python: str
    timeout_s: float = 30.0
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class SummarizerSpec:
    """Who writes an agent's summaries, and by which instructions; None for what is not said."""

    model: ModelSpec | None = None
    prompt: TextSource | None = None


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """One agent, defaults merged in."""

    name: str
    model: ModelSpec
    description: str = ""
    inputs: tuple[InputSpec, ...] = ()
    env: tuple[str, ...] = ()
    system: TextSource | None = None
    user: TextSource | None = None
    policy: Policy = Policy()
    tools: tuple[ToolSpec, ...] = ()
    max_rounds: int = 20
    summarizer: SummarizerSpec = SummarizerSpec()
    image_tokens: int = 1100
    store: str = "file"
    place: Place | None = None

    def digest(self) -> dict[str, str]:
        """What can change between two turns, key by key, short: prompts as hashes. Two specs compare by it."""
        hashed = {"system": self.system, "user": self.user, "memory.summarize.prompt": self.summarizer.prompt}
        keys = {
            "model": self.model.model,
            "model.parameters": canonical(self.model.parameters).decode(),
            "model.api_base": self.model.api_base or "",
            "memory": str(self.policy),
            "memory.pipeline": ", ".join(map(repr, self.policy.pipeline)),
            "memory.image_tokens": str(self.image_tokens),
            "memory.pin": ", ".join(map(repr, self.policy.pin)),
            "inputs": canonical([[i.name, i.type, str(i.default), i.required] for i in self.inputs]).decode(),
            "env": ", ".join(self.env),
            "tools": ", ".join(tool.python for tool in self.tools),
            "tool_loop.max_rounds": str(self.max_rounds),
        }
        for key, source in hashed.items():
            text = "" if source is None else source.text
            keys[key] = "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16] if text else ""
        return keys

    def fingerprint(self) -> str:
        return "sha256:" + hashlib.sha256(canonical(self.digest())).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Project:
    """A spec file as read. `files` are all files that were read, with their content's hash: what a reload compares."""

    file: str
    folder: str
    agents: Mapping[str, AgentSpec]
    models: Mapping[str, ModelSpec] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
