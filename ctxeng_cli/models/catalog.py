"""Which model a model string means, and how much its window holds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ctxeng_cli.core.errors import Problem
from ctxeng_cli.core.ports import Model
from ctxeng_cli.spec import AgentSpec, ModelSpec


@dataclass(frozen=True, slots=True)
class Limits:
    """What a model takes and gives, in tokens; None where it is not known."""

    window: int | None = None
    output: int | None = None


def limits_of(spec: ModelSpec) -> Limits:
    """What the spec says, else what litellm's map knows. A server of one's own may call its model anything."""
    known: Mapping[str, Any] = {}
    local = spec.model == "offline" or spec.model.startswith("scripted:") or spec.api_base is not None
    if not local and (spec.context_window is None or spec.max_output is None):
        models = _map()
        known = models.get(spec.model) or models.get(spec.model.partition("/")[2]) or {}
    window, output = known.get("max_input_tokens"), known.get("max_output_tokens")
    return Limits(
        spec.context_window or (window if isinstance(window, int) and window > 0 else None),
        spec.max_output or (output if isinstance(output, int) and output > 0 else None),
    )


_FAMILIES = (
    ("anthropic", ("anthropic/", "claude-", "bedrock/anthropic.", "vertex_ai/claude")),
    ("gemini", ("gemini/", "gemini-", "vertex_ai/gemini")),
)


def provider_of(spec: ModelSpec) -> str:
    """Whose protocol rules a model's requests follow: what the spec says, else the model string's family, else OpenAI's;
    offline, scripted and local models are linted as `openai` (SPEC 8)."""
    if spec.provider is not None:
        return spec.provider
    return next((provider for provider, heads in _FAMILIES if spec.model.startswith(heads)), "openai")


def window_problem(spec: AgentSpec) -> Problem | None:
    """What is wrong with a window that is a share of the model's, where that is not known."""
    if spec.policy.share is None or limits_of(spec.model).window is not None:
        return None
    return Problem(
        f"{spec.policy} is a share of the window of {spec.model.model}, which is not known. "
        "Set `context_window` under `models:`, or give the window in tokens.",
        spec.place,
    )


@cache
def _map() -> Mapping[str, Any]:
    """litellm's map of models, from its file: a fiftieth of a second, where importing litellm takes seconds."""
    import importlib.util

    found = importlib.util.find_spec("litellm")
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder) / "model_prices_and_context_window_backup.json"
        if path.is_file():
            models: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
            return models
    return {}


def model_for(spec: ModelSpec, folder: str, environ: Mapping[str, str]) -> Model:
    """The model behind a spec, its dependency not loaded yet. Raises SpecError or ModelError for a script or a key."""
    if spec.model == "offline":
        from ctxeng_cli.models.offline import Offline

        return Offline()
    if spec.model.startswith("scripted:"):
        from ctxeng_cli.models.scripted import Scripted

        return Scripted.read(Path(folder) / spec.model.removeprefix("scripted:"))
    from ctxeng_cli.models.litellm import LiteLLM

    return LiteLLM(spec.model, api_base=spec.api_base, timeout_s=spec.timeout_s, environ=environ)
