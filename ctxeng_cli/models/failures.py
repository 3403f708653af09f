"""What went wrong between us and a provider, as a ModelError that says what to do next.

Works on the error's own words, status and chain of causes: providers and litellm agree on little else (a refused
connection comes as an `InternalServerError` from one path and as an `APIConnectionError` from another).
"""

from __future__ import annotations

import contextlib
import errno
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from ctxeng_cli.core.errors import ModelError, nearest
from ctxeng_cli.models.keys import KEYS, provider_of

# provider → how a server of one's own is started
START = {
    "ollama": "start it with `ollama serve`",
    "ollama_chat": "start it with `ollama serve`",
    "hosted_vllm": "start it with `vllm serve MODEL`",
    "lm_studio": "start its server in LM Studio",
    "openai": "start the server there (llama-server, vLLM, LM Studio, …) or correct api_base",
}
WHERE = {"ollama": "http://localhost:11434", "ollama_chat": "http://localhost:11434"}

_UNKNOWN_MODEL = re.compile(
    r"(?i)model_not_found|model[^.\n]{0,80}(?:does not exist|not found|not exist|is not supported|unknown)"
    r"|(?:unknown|invalid|no such) model|not_found_error.{0,40}model"
)
_NO_PROVIDER = "LLM Provider NOT provided"
_PREFIX = re.compile(r"^(?:(?:litellm\.)?\w+(?:Error|Exception)\s*[:\-]\s*)+")
_TAIL = re.compile(r"\.? Original exception: .*")
_BODY = re.compile(r"\"message\": ?(\"(?:[^\"\\]|\\.)*\")")


@dataclass(frozen=True)
class Call:
    """What was tried: enough to say in a message what to change."""

    model: str
    api_base: str | None
    timeout_s: float

    @property
    def where(self) -> str:
        return self.api_base or WHERE.get(provider_of(self.model)) or f"the provider {provider_of(self.model) or self.model}"


def failure(error: BaseException, call: Call, *, begun: bool) -> ModelError:
    """The ModelError for an error of a call; `begun` when a piece of the answer had come."""
    chain = list(causes(error))
    status = next((code for one in chain if isinstance(code := getattr(one, "status_code", None), int)), 0)
    words = said(error)
    provider = provider_of(call.model)
    if begun and timed_out(chain):
        return ModelError(
            f"{call.model} fell silent in mid-answer for {call.timeout_s:g} s (timeout_s of the model).", kind="broken"
        )
    if begun:
        return ModelError(f"The answer of {call.model} broke off: {words}", kind="broken")
    if refused(chain):
        advice = START.get(provider, "check the network and api_base")
        return ModelError(f"Nothing listens at {call.where} for {call.model}: {advice}.", kind="refused")
    if timed_out(chain):
        return ModelError(f"{call.model} did not answer within {call.timeout_s:g} s (timeout_s of the model).", kind="timeout")
    if unknown_host(chain):
        return ModelError(f"The host of {call.where} is not known: check the network and api_base.", kind="refused")
    if status == 429:
        return ModelError(f"{call.model} refuses more calls for now (rate limit): {words}", kind="rate_limit")
    if status in (401, 403):
        names = KEYS.get(provider)
        fix = f"check the key in {names[0]}" if names else "check the key"
        return ModelError(f"{call.where} does not accept the key for {call.model}; {fix}: {words}", kind="rejected")
    if _NO_PROVIDER in words:
        known = f'"{provider}" is no provider that is known' if provider else "it begins with none"
        advice = (
            f"A model string begins with its provider, as in openai/NAME; {known}.{nearest(provider, KEYS) if provider else ''}"
        )
        return ModelError(f'"{call.model}" names no model. {advice}', kind="wrong_model")
    if _UNKNOWN_MODEL.search(words) or status == 404:
        return ModelError(f'{call.where} has no model "{bare(call.model)}". It says: {words}', kind="wrong_model")
    if 400 <= status < 500 and status != 408:
        return ModelError(f"{call.where} refused the request: {words}", kind="rejected")
    if any(type(one).__name__ in ("RemoteProtocolError", "ReadError", "ServerDisconnectedError") for one in chain):
        return ModelError(f"{call.where} closed the connection before it answered: {words}", kind="broken")
    return ModelError(f"{call.model} failed: {words}", kind="other")


def passing(error: BaseException) -> bool:
    """Whether the same call may well succeed in a moment: rate limits, a server's own faults, time-outs."""
    chain = list(causes(error))
    if refused(chain) or unknown_host(chain):
        return False
    status = next((code for one in chain if isinstance(code := getattr(one, "status_code", None), int)), 0)
    return timed_out(chain) or status in (408, 409, 429) or status >= 500


def retry_after_s(error: BaseException) -> float | None:
    """The wait that the provider asks for, where it does."""
    for one in causes(error):
        headers = getattr(getattr(one, "response", None), "headers", None)
        value = headers.get("retry-after") if headers else None
        if value and re.fullmatch(r"\d+(\.\d+)?", value):
            return float(value)
    return None


def causes(error: BaseException) -> Iterator[BaseException]:
    """An error and what stands behind it, each once."""
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop(0)
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        waiting += [one.__cause__, one.__context__]


def said(error: BaseException) -> str:
    """The error's own words in one line, without the class names that litellm puts before them, and out of a JSON body."""
    words = _TAIL.sub(".", _PREFIX.sub("", " ".join(str(error).split())))
    if body := _BODY.search(words):
        with contextlib.suppress(ValueError):
            words = str(json.loads(body[1]))
    return words[:500] or type(error).__name__


def bare(model: str) -> str:
    """The name as the server knows it."""
    return model.partition("/")[2] or model


def refused(chain: list[BaseException]) -> bool:
    return any(
        isinstance(one, ConnectionRefusedError)
        or getattr(one, "errno", None) in (errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.ENETUNREACH)
        or "All connection attempts failed" in str(one)
        for one in chain
    )


def unknown_host(chain: list[BaseException]) -> bool:
    return any(type(one).__name__ in ("gaierror", "ConnectError") for one in chain)


def timed_out(chain: list[BaseException]) -> bool:
    return any(isinstance(one, TimeoutError) or "Timeout" in type(one).__name__ for one in chain)
