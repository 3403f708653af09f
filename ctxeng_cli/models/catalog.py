"""Which model a model string means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ctxeng_cli.core.ports import Model
from ctxeng_cli.spec import ModelSpec


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
