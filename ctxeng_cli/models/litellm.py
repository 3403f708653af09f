"""Any provider through litellm. The library takes seconds to import: `warm` does it while the person types.

Keys are looked up by us before the call and handed over; litellm's own prints, retries and look-ups on the network are
off. One call is one connection, closed when it ends, however it ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from ctxeng_cli.core.errors import CtxengError, ModelError, nearest
from ctxeng_cli.core.events import Event, ModelDelta, ModelRetried
from ctxeng_cli.core.ports import Answer
from ctxeng_cli.core.request import Request
from ctxeng_cli.models.failures import WHERE, Call, bare, failure, passing, retry_after_s
from ctxeng_cli.models.keys import key_for, provider_of, redact, require_key
from ctxeng_cli.models.pieces import Pieces, usage_of

RETRIES = 2
LONGEST_WAIT_S = 30.0
"""A provider that asks for a longer wait is not asked again: the person is told instead."""

_lock = threading.Lock()
_loading: Future[Any] | None = None


def warm() -> Future[Any]:
    """Begin to import litellm in a thread of its own, once, and answer what will hold it. Does not block, nor hold up an exit."""
    global _loading
    with _lock:
        if _loading is None:
            _loading = Future()
            _loading.set_running_or_notify_cancel()
            threading.Thread(target=_load, args=(_loading,), name="import litellm", daemon=True).start()
        return _loading


def _load(loading: Future[Any]) -> None:
    try:
        loading.set_result(_import())
    except BaseException as error:  # whoever waits is told
        loading.set_exception(error)


def _import() -> Any:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # prices from the package, not from the network
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # else it reads the nearest .env into our environment
    os.environ.setdefault("LITELLM_LOG", "CRITICAL")
    import litellm

    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    litellm.suppress_debug_info = True
    litellm.set_verbose = False
    litellm.telemetry = False
    litellm.num_retries = 0
    litellm.disable_token_counter = True  # usage is what a provider reports: no estimate of litellm's passes for it
    litellm.disable_hf_tokenizer_download = True  # it would ask a hub for a tokenizer, for half a minute when offline
    litellm.disable_aiohttp_transport = True  # httpx closes its connection when a task is cancelled
    return litellm


class LiteLLM:
    """A model behind a litellm model string. `timeout_s` is how long it may be silent, `environ` where keys are looked up."""

    def __init__(
        self,
        model: str,
        *,
        api_base: str | None = None,
        timeout_s: float = 120.0,
        environ: Mapping[str, str] | None = None,
        backoff_s: float = 1.0,
    ) -> None:
        self.model = model
        self.environ = os.environ if environ is None else environ
        provider = provider_of(model).upper()
        self.api_base = api_base or self.environ.get(f"{provider}_API_BASE") or self.environ.get(f"{provider}_BASE_URL") or None
        self.timeout_s = timeout_s
        self.backoff_s = backoff_s

    def warm(self) -> None:
        """Begin to import what `answer` will need, in the background."""
        warm()

    async def answer(self, request: Request, signal: Callable[[Event], None]) -> Answer:
        """Ask, and ask again at most twice for what passes, each told by a signal; never after a piece of the answer came."""
        body = sendable(request.payload())
        model = body.pop("model", self.model)
        require_key(model, self.api_base, self.environ)
        litellm = await self._library()
        call = Call(model, self.api_base, self.timeout_s)
        attempt = 0
        while True:
            pieces = Pieces()
            try:
                await self._stream(litellm, model, body, pieces, signal)
            except CtxengError:
                raise  # not the provider's: whoever hears the signals has a reason
            except Exception as error:
                fault = failure(error, call, begun=pieces.started)
                wait_s = retry_after_s(error) or self.backoff_s * 2**attempt
                if attempt == RETRIES or pieces.started or wait_s > LONGEST_WAIT_S or not passing(error):
                    raise await self._told(fault, model) from None
                attempt += 1
                signal(ModelRetried(reason=redact(fault.message, self.environ), wait_s=wait_s, attempt=attempt))
                await asyncio.sleep(wait_s)
            else:
                return self._answer(litellm, model, pieces)

    async def _library(self) -> Any:
        try:
            return await asyncio.wrap_future(warm())
        except Exception as error:
            raise ModelError(f"litellm can't be imported ({type(error).__name__}: {error}): install ctxeng-cli again.") from error

    async def _stream(
        self, litellm: Any, model: str, body: dict[str, Any], pieces: Pieces, signal: Callable[[Event], None]
    ) -> None:
        """One call, from the connection to its end. Silence of `timeout_s` ends it with TimeoutError."""
        async with asyncio.timeout(self.timeout_s) as silence, contextlib.AsyncExitStack() as stack:
            stream = await litellm.acompletion(
                **body,
                model=spelled(model),
                api_base=self.api_base,
                api_key=key_for(model, self.api_base, self.environ),
                stream=True,
                stream_options={"include_usage": True},
                timeout=self.timeout_s,
                max_retries=0,
                num_retries=0,
            )
            stack.push_async_callback(closed, stream)
            async for chunk in stream:
                silence.reschedule(asyncio.get_running_loop().time() + self.timeout_s)
                if text := pieces.add(chunk):
                    signal(ModelDelta(text=text))
            if getattr(stream, "received_finish_reason", "") is None and not usage_of(pieces.usage).output:
                raise ConnectionResetError("the connection ended before the answer did")

    def _answer(self, litellm: Any, model: str, pieces: Pieces) -> Answer:
        if pieces.finish_reason is None and not pieces.started:
            raise ModelError(f"{model} closed the connection without an answer.", kind="broken")
        calls = pieces.tool_calls()
        return Answer(
            text="".join(pieces.text),
            tool_calls=calls,
            usage=usage_of(pieces.usage),
            finish_reason=pieces.finish_reason or ("tool_calls" if calls else "stop"),
            cost=self._cost(litellm, model, pieces.usage),
            served=another(model, pieces.model),
        )

    def _cost(self, litellm: Any, model: str, usage: Any) -> float | None:
        """US dollars by litellm's price list. A server of one's own has no list, whatever it calls its model."""
        if usage is None or (self.api_base and provider_of(model) in ("openai", "hosted_vllm")):
            return None
        if isinstance(billed := getattr(usage, "cost", None), int | float):
            return float(billed)
        with contextlib.suppress(Exception):  # it raises a bare Exception for a model without a price
            prompt, completion = litellm.cost_per_token(model=spelled(model), usage_object=usage)
            return float(prompt + completion)
        return None

    async def _told(self, fault: ModelError, model: str) -> ModelError:
        """The fault without secrets; for an unknown name with the names that the server has."""
        hint = ""
        base = self.api_base or WHERE.get(provider_of(model))
        if " has no model " in fault.message and base:
            names = await asyncio.to_thread(served, base, key_for(model, base, self.environ))
            hint = (nearest(bare(model), names) + f" It serves: {', '.join(names[:8])}.") if names else ""
        return ModelError(redact(fault.message + hint, self.environ), kind=fault.kind)


def served(api_base: str, key: str | None) -> list[str]:
    """The names that an OpenAI-compatible server lists, none where it lists nothing within two seconds."""
    import urllib.request

    base = api_base.rstrip("/")
    url = f"{base}/models" if base.endswith("/v1") else f"{base}/v1/models"
    if not url.startswith(("http://", "https://")):
        return []
    try:
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"} if key else {})
        with urllib.request.urlopen(request, timeout=2) as reply:
            return [str(model["id"]) for model in json.loads(reply.read(1_000_000))["data"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def another(model: str, served: str | None) -> str | None:
    """The server's name for its model, where it is not what was asked for. A dated snapshot of it is; many servers of
    one's own answer to any name."""
    asked = bare(model)
    same = not served or served.startswith(asked) or asked.endswith(served)
    return None if same else served


def sendable(value: Any) -> Any:
    """The same JSON with each lone surrogate replaced by U+FFFD: UTF-8 has no bytes for it, and providers refuse it."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {sendable(key): sendable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [sendable(item) for item in value]
    return value


def spelled(model: str) -> str:
    """The model string as litellm must see it: it takes a bare `gemini-…` for Vertex AI, whose keys are others."""
    return f"gemini/{model}" if "/" not in model and provider_of(model) == "gemini" else model


async def closed(stream: Any) -> None:
    """Let go of a stream's connection; a server that does not let go in turn holds nobody up."""
    with contextlib.suppress(Exception):
        async with asyncio.timeout(2):
            await stream.aclose()
