"""Which key a model needs, looked up before any call; and how keys are kept out of what people read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ctxeng_cli.core.errors import ModelError
from ctxeng_cli.core.redact import Redactor

# provider, as it begins a litellm model string → the variables that may hold its key, the one to tell first
KEYS: dict[str, tuple[str, ...]] = {
    "openai": ("OPENAI_API_KEY",),
    "anthropic": ("ANTHROPIC_API_KEY",),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    "azure": ("AZURE_API_KEY",),
    "cerebras": ("CEREBRAS_API_KEY",),
    "cohere": ("COHERE_API_KEY", "CO_API_KEY"),
    "cohere_chat": ("COHERE_API_KEY", "CO_API_KEY"),
    "dashscope": ("DASHSCOPE_API_KEY",),
    "deepinfra": ("DEEPINFRA_API_KEY",),
    "deepseek": ("DEEPSEEK_API_KEY",),
    "fireworks_ai": ("FIREWORKS_API_KEY", "FIREWORKS_AI_API_KEY"),
    "groq": ("GROQ_API_KEY",),
    "huggingface": ("HF_TOKEN", "HUGGINGFACE_API_KEY"),
    "minimax": ("MINIMAX_API_KEY",),
    "mistral": ("MISTRAL_API_KEY",),
    "moonshot": ("MOONSHOT_API_KEY",),
    "nvidia_nim": ("NVIDIA_NIM_API_KEY",),
    "openrouter": ("OPENROUTER_API_KEY",),
    "perplexity": ("PERPLEXITY_API_KEY", "PERPLEXITYAI_API_KEY"),
    "replicate": ("REPLICATE_API_TOKEN", "REPLICATE_API_KEY"),
    "together_ai": ("TOGETHER_API_KEY", "TOGETHERAI_API_KEY"),
    "volcengine": ("VOLCENGINE_API_KEY", "ARK_API_KEY"),
    "xai": ("XAI_API_KEY",),
    "zai": ("ZAI_API_KEY",),
}

# how a model string without a provider begins → its provider
BARE: dict[str, str] = {
    "gpt-": "openai",
    "chatgpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "o4": "openai",
    "claude-": "anthropic",
    "gemini-": "gemini",
}

PLACEHOLDER = "none-needed"
"""What is sent as the key to a server of one's own: clients insist on one, such servers do not look at it."""

_KEY = re.compile(r"\b(?:sk|pk|gsk|xai|hf|nvapi|AIza)[-_]?[A-Za-z0-9][A-Za-z0-9_\-*]{14,}")


def provider_of(model: str) -> str:
    """The provider that a model string names or means, or an empty string where it can't be told."""
    head, slash, _ = model.partition("/")
    if slash:
        return head
    return next((provider for start, provider in BARE.items() if model.startswith(start)), "")


def key_for(model: str, api_base: str | None, environ: Mapping[str, str]) -> str | None:
    """The key to send: from the environment, a placeholder for a server of one's own, None where we know of none."""
    provider = provider_of(model)
    found = next((environ[name] for name in KEYS.get(provider, ()) if environ.get(name)), None)
    return found or (PLACEHOLDER if api_base and provider == "openai" else None)


def missing_key(model: str, api_base: str | None, environ: Mapping[str, str]) -> str | None:
    """The variable that must be set before this model can be asked, or None. Looks, and calls nothing."""
    names = KEYS.get(provider_of(model))
    return None if names is None or key_for(model, api_base, environ) else names[0]


def require_key(model: str, api_base: str | None, environ: Mapping[str, str]) -> None:
    """Raise the ModelError that names the variable to set, when one is missing."""
    if name := missing_key(model, api_base, environ):
        raise ModelError(
            f'The model "{model}" needs a key: set {name} in the environment or in a .env file beside the spec, '
            "or take a model that needs none (--model offline).",
            kind="missing_key",
        )


def read_dotenv(path: str | Path) -> dict[str, str]:
    """The variables of a `.env` file, none where there is no file. Changes no environment. Raises ModelError."""
    if not Path(path).is_file():
        return {}
    from dotenv import dotenv_values

    try:
        found = dotenv_values(path, interpolate=False, encoding="utf-8-sig")
    except OSError as error:
        raise ModelError(f"{path} can't be read ({error.strerror}): keys are looked up there.", kind="missing_key") from None
    except UnicodeDecodeError:
        raise ModelError(f"{path} is not UTF-8 text: save it as UTF-8, one NAME=VALUE a line.", kind="missing_key") from None
    return {name: value for name, value in found.items() if value is not None}


def redact(text: str, environ: Mapping[str, str]) -> str:
    """A provider's words without secrets, and without the half-shown keys that providers quote."""
    return _KEY.sub("[redacted]", Redactor(environ)(text))
