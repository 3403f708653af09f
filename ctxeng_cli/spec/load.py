"""Read a spec file and its prompt files into a `Project`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from ctxeng_cli.core.errors import Place, Problem, SpecError, UsageError, nearest
from ctxeng_cli.spec.keys import ROOT
from ctxeng_cli.spec.model import AgentSpec, InputSpec, ModelSpec, Project, SummarizerSpec, TextSource, ToolSpec
from ctxeng_cli.spec.nodes import Document, compose
from ctxeng_cli.spec.policy import (
    CapResult,
    ClearResults,
    Offload,
    Pin,
    Policy,
    PolicyError,
    Step,
    Summarize,
    compat_problem,
    parse_policy,
    with_option,
)
from ctxeng_cli.spec.values import coerce

FILE = "agents.yaml"
Read = dict[str, Any]
"""What `Record.read` answers: key → (value, node)."""


def find(file: str | None, environ: Mapping[str, str], folder: Path) -> Path:
    """The spec file: the option, else CTXENG_FILE, else agents.yaml in the folder. Raises UsageError when there is none."""
    named = file or environ.get("CTXENG_FILE")
    path = folder / (named or FILE)
    if path.is_dir():
        path = path / FILE
    if not path.exists():
        if named:
            raise UsageError(f"there is no spec file {named}")
        hint = " There is an agents.yml: rename it." if (folder / "agents.yml").exists() else ""
        raise UsageError(f"there is no {FILE} here.{hint} Write one with `ctxeng init`, or name yours with --file.")
    return path


def json_schema() -> dict[str, Any]:
    """The JSON schema of agents.yaml, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "ctxeng agents.yaml", **ROOT.schema()}


def load(path: Path) -> Project:
    """Read a spec. Raises SpecError with all problems found, each with file, line and column."""
    text = read_text(path, Place(str(path)))
    files = {str(path): _hash(text)}
    document, root = compose(str(path), text)
    if root is None:
        raise SpecError(
            [Problem("the file is empty; write `version: 1` and `agents:`, or start with `ctxeng init`", Place(str(path), 1, 1))]
        )
    _foreign_file(document, root)
    read = ROOT.read(document, root)
    if not isinstance(read, dict):
        document.raise_problems()
    builder = _Builder(document, path.parent, files)
    project = builder.project(read)
    document.raise_problems()
    return project


def read_text(path: Path, place: Place) -> str:
    """A text file as UTF-8, with or without a byte order mark, any line ends. Raises SpecError at `place`."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise SpecError([Problem(f"there is no file {path.name}", place)]) from None
    except OSError as error:
        raise SpecError([Problem(f"can't read {path}: {(error.strerror or str(error)).lower()}", place)]) from None
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SpecError(
            [Problem(f"{path.name} is not UTF-8: byte {data[error.start]:#04x} in line {line}. Save it as UTF-8.", place)]
        ) from None


def model_problem(text: str, folder: Path, models: Iterable[str]) -> str | None:
    """What is wrong with a model string, or None: a script that is not there, a word that is nearly one of ours."""
    if text.startswith("scripted:"):
        file = text.removeprefix("scripted:")
        return None if (folder / file).is_file() else f"there is no script {file}"
    known = ["offline", *models]
    hint = "" if text in known or "/" in text or ":" in text else nearest(text, known)
    return f'unknown model "{text}".{hint} A litellm model string is written provider/model.' if hint else None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _foreign_file(document: Document, root: yaml.Node) -> None:
    """Another tool's file of the same name is told apart at once, instead of by forty unknown keys."""
    if not isinstance(root, yaml.MappingNode):
        return
    keys = {key.value for key, _ in root.value if isinstance(key, yaml.ScalarNode)}
    entries = [
        {k.value for k, _ in v.value if isinstance(k, yaml.ScalarNode)} for _, v in root.value if isinstance(v, yaml.MappingNode)
    ]
    if "version" not in keys and entries and all({"role", "goal"} <= entry for entry in entries):
        document.problem(
            root,
            "this looks like a CrewAI agents.yaml. Here: `version: 1`, the agents under `agents:`, and for each one "
            "`system: |` with role, goal and backstory as text; "
            "`llm` is `model`, `{name}` is `{{name}}` with `name` under `inputs`.",
        )
        document.raise_problems()


class _Builder:
    """Turns what was read into specs; keeps collecting problems in the document."""

    def __init__(self, document: Document, folder: Path, files: dict[str, str]) -> None:
        self.document, self.folder, self.files = document, folder, files
        self.models: dict[str, ModelSpec] = {}

    def project(self, read: Read) -> Project:
        for name, (model, key) in _value(read, "models", {}).items():
            if "model" in model:
                self.models[name] = self._model(name, model, key)
        defaults: Read = _value(read, "defaults", {})
        agents = {}
        for name, (own, key) in _value(read, "agents", {}).items():
            agents[name] = self._agent(name, {**defaults, **own}, key)
        if "agents" in read and not agents and not self.document.problems:
            self.document.problem(read["agents"][1], "there is no agent here; write one, for example `guide: {model: offline}`")
        return Project(str(self.document.file), str(self.folder), agents, self.models, dict(self.files))

    def _model(self, name: str, read: Read, key: yaml.Node) -> ModelSpec:
        fields: dict[str, Any] = {
            k: _value(read, k)
            for k in ("api_base", "temperature", "context_window", "max_output", "provider", "cache")
            if k in read
        }
        if "timeout_s" in read:
            fields["timeout_s"] = float(_value(read, "timeout_s"))
        text, node = read["model"]
        return ModelSpec(self._model_string(text, node), name=name, place=self.document.place(key), **fields)

    def _model_string(self, text: str, node: yaml.Node) -> str:
        wrong = model_problem(text, self.folder, self.models)
        if wrong:
            self.document.problem(node, wrong)
        return text

    def _agent(self, name: str, read: Read, key: yaml.Node) -> AgentSpec:
        text, node = read.get("model", ("offline", key))
        model = self.models.get(text) or ModelSpec(self._model_string(text, node), place=self.document.place(node))
        inputs = tuple(self._input(n, i, k) for n, (i, k) in _value(read, "inputs", {}).items())
        loop: Read = _value(read, "tool_loop", {})
        memory = _value(read, "memory", {})
        return AgentSpec(
            name=name,
            model=model,
            description=_value(read, "description", ""),
            inputs=inputs,
            env=_value(read, "env", ()),
            system=self._text(read, "system"),
            user=self._text(read, "user"),
            policy=self._policy(read),
            tools=tuple(self._tools(read)),
            max_rounds=_value(loop, "max_rounds", 20),
            summarizer=self._summarizer(read),
            store=_value(memory, "store", "file") if isinstance(memory, dict) else "file",
            image_tokens=_value(memory, "image_tokens", 1100) if isinstance(memory, dict) else 1100,
            place=self.document.place(key),
        )

    def _input(self, name: str, read: Read, key: yaml.Node) -> InputSpec:
        kind = _value(read, "type", "string")
        values = _value(read, "values", ())
        if kind == "enum" and not values:
            self.document.problem(key, f'input "{name}" is an enum: name its values, for example `values: [a, b]`')
        spec = InputSpec(name, kind, description=_value(read, "description", ""), values=values, place=self.document.place(key))
        if "default" not in read:
            return spec
        (data, written, node), _ = read["default"]
        try:
            default = coerce(spec, written if kind in ("string", "enum") and written is not None else data)
        except ValueError as error:
            self.document.problem(node, f'the default of input "{name}" {error}')
            default = None
        return InputSpec(name, kind, default, False, spec.description, values, spec.place)

    def _text(self, read: Read, key: str) -> TextSource | None:
        if key not in read:
            return None
        value, node = read[key]
        if isinstance(value, dict):
            return self._file(*value["file"]) if "file" in value else None
        if value.startswith("file://"):
            self.document.problem(node, f"write `{key}: {{file: {value.removeprefix('file://').lstrip('/')}}}`")
        at = self.document.place(node)
        if node.style in ("|", ">"):
            lines = self.document.text.splitlines()[node.start_mark.line + 1 :]
            first = next((i for i, line in enumerate(lines) if line.strip()), 0)
            indent = len(lines[first]) - len(lines[first].lstrip(" ")) if lines else 0
            return TextSource(value, at.file, at.line + 1, indent + 1, indent, node.style == "|", key)
        quoted = 1 if node.style else 0
        single = node.start_mark.line == node.end_mark.line and "\\" not in value
        return TextSource(value, at.file, at.line, at.column + quoted, 0, single, key)

    def _file(self, name: str, node: yaml.Node) -> TextSource | None:
        path = self.folder / name
        try:
            text = read_text(path, self.document.place(node))
        except SpecError as error:
            near = [str(p.relative_to(self.folder)) for p in path.parent.glob("*")] if path.parent.is_dir() else []
            hint = nearest(name, near) if not path.exists() else ""
            self.document.problems += [Problem(f"{p.message}.{hint}" if hint else p.message, p.place) for p in error.problems]
            return None
        self.files[str(path)] = _hash(text)
        if not text.strip():
            self.document.problem(node, f"the prompt file {name} is empty")
        return TextSource(text.rstrip("\n"), str(path) if Path(name).is_absolute() else _shown(self.document.file, name))

    def _policy(self, read: Read) -> Policy:
        memory = _value(read, "memory", {})
        if memory == "none":
            return Policy("none")
        policy = Policy()
        if "window" in memory:
            text, at = memory["window"]
            try:
                policy = parse_policy(text)
            except PolicyError as error:
                self.document.problem(at, error.message, error.offset + (1 if at.style else 0))
            if policy.kind == "as-recorded":
                self.document.problem(at, "as-recorded is a policy to replay with; a live window has no recording")
        for name in ("low_water", "unit", "reserve", "overflow"):
            if name in memory:
                policy = self._option(policy, name, *memory[name])
        if "pipeline" in memory:
            policy = self._pipeline(policy, *memory["pipeline"])
        if "pin" in memory:
            pins, at = memory["pin"]
            if policy.kind not in ("tokens", "messages", "python"):
                self.document.problem(at, "pins belong to a window with a limit, for example `window: tokens:6000`")
            found = (Pin(item) if isinstance(item, str) else Pin(contains=_value(item, "contains")) for item in pins)
            policy = replace(policy, pin=tuple(found))
        if "compat" in read:
            policy = replace(policy, compat=read["compat"][0])
            wrong = compat_problem(policy)
            if wrong:
                self.document.problem(read["compat"][1], wrong)
        return policy

    def _summarizer(self, read: Read) -> SummarizerSpec:
        """The model and the prompt that the step `summarize` names."""
        memory = _value(read, "memory", {})
        steps: Sequence[Read] = _value(memory, "pipeline", ()) if isinstance(memory, dict) else ()
        options: Read = next((_value(step, "summarize") for step in steps if "summarize" in step), {})
        model = None
        if "model" in options:
            text, node = options["model"]
            model = self.models.get(text) or ModelSpec(self._model_string(text, node), place=self.document.place(node))
        return SummarizerSpec(model, self._file(*options["prompt"]) if "prompt" in options else None)

    def _pipeline(self, policy: Policy, read: Sequence[Read], node: yaml.Node) -> Policy:
        others = any(name != "summarize" for item in read for name in item)
        if policy.kind not in ("tokens", "python") and (others or policy.kind != "messages"):
            self.document.problem(node, "a pipeline belongs to a window of tokens: a shorter message is still a message")
        if policy.pipeline:
            self.document.problem(node, "steps stand in `window` too; keep one of them")
        steps: list[Step] = []
        for item in read:
            for name, (options, _) in item.items():
                values = {key: value for key, (value, _) in options.items()}
                if name == "summarize" and "over" in values:
                    values["over"] = int(values["over"].removesuffix("%"))
                steps.append(_STEPS[name](**values))
        if len({type(step) for step in steps}) < len(steps) or any(len(item) > 1 for item in read):
            self.document.problem(node, "each step stands once, on a line of its own: `- cap_result: {tokens: 2000}`")
        return replace(policy, pipeline=tuple(steps))

    def _option(self, policy: Policy, name: str, value: Any, node: yaml.Node) -> Policy:
        """An option of the window that stands beside it as a key of its own."""
        if getattr(policy, name) != getattr(Policy(), name):
            self.document.problem(node, f"{name} stands in `window` too; keep one of them")
            return policy
        try:
            return with_option(policy, name, f"{value:g}" if isinstance(value, float) else str(value))
        except PolicyError as error:
            self.document.problem(node, error.message)
            return policy

    def _tools(self, read: Read) -> list[ToolSpec]:
        tools = []
        for tool in _value(read, "tools", ()):
            if "python" in tool:
                text, node = tool["python"]
                seconds = float(_value(tool, "timeout_s", 30.0))
                tools.append(ToolSpec(text.removeprefix("python:"), seconds, self.document.place(node)))
            elif not self.document.problems:
                self.document.problem(read["tools"][1], "a tool needs its source, for example `python: app.tools:get_weather`")
        return tools


_STEPS: dict[str, Callable[..., Step]] = {
    "clear_tool_results": ClearResults, "cap_result": CapResult, "offload": Offload, "summarize": Summarize,
}  # fmt: skip


def _shown(spec_file: str, name: str) -> str:
    """A prompt file as it is shown: beside the spec file, in the spelling that the person used for it."""
    parent = Path(spec_file).parent
    return name if str(parent) == "." else str(parent / name)


def _value(read: Read, key: str, default: Any = None) -> Any:
    return read[key][0] if key in read else default
