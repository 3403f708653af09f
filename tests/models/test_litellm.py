"""The litellm client against a real server with a small model, and against a provider whose every byte is decided here."""

from __future__ import annotations

import asyncio
import gc
import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ctxeng_cli.core import messages as m
from ctxeng_cli.core.errors import ModelError, SessionError
from ctxeng_cli.core.events import Event, ModelDelta, ModelRetried, Usage
from ctxeng_cli.core.ports import Answer
from ctxeng_cli.core.request import Request, ToolDefinition
from ctxeng_cli.models.litellm import LiteLLM, another, warm
from tests.commands import ROOT, ctxeng, environment
from tests.contract import events
from tests.models.server import Provider, bare_environment, closed_port, json_reply, provider, silent_reply, stream_reply

pytestmark = pytest.mark.xdist_group("llama")

T = TypeVar("T")
SETTINGS = {"temperature": 0, "max_tokens": 24}


def run(act: Coroutine[Any, Any, T]) -> T:
    """As a turn runs: an event loop of its own, with nothing left in it."""
    warm().result(60)
    return asyncio.run(act)


def ask(text: str, model: str = "openai/smollm2", tools: tuple[ToolDefinition, ...] = (), **parameters: Any) -> Request:
    return Request((m.system("You are brief."), m.user(text)), tools, None, {"model": model, **SETTINGS, **parameters})


def client(api_base: str | None, environ: Mapping[str, str] | None = None, **options: Any) -> LiteLLM:
    return LiteLLM(
        "openai/smollm2", api_base=api_base, environ=bare_environment() if environ is None else environ, backoff_s=0.01, **options
    )


async def asked(target: Provider, request: Request | None = None, signals: list[Event] | None = None, **options: Any) -> Answer:
    heard = [] if signals is None else signals
    return await client(target.api_base, **options).answer(request or ask("Hello"), heard.append)


def text_of(signals: list[Event]) -> str:
    return "".join(event.text for event in signals if isinstance(event, ModelDelta))


def posted(api_base: str, request: Request) -> dict[str, Any]:
    """The same request by plain HTTP: what the server itself says."""
    body = json.dumps({**request.payload(), "model": "smollm2"}).encode()
    call = urllib.request.Request(f"{api_base}/chat/completions", body, {"content-type": "application/json"})
    with urllib.request.urlopen(call, timeout=60) as reply:
        answer: dict[str, Any] = json.loads(reply.read())
        return answer


# A real server


def test_an_answer_streams_in_pieces_that_add_up_to_it(llama: str) -> None:
    signals: list[Event] = []
    answer = run(client(llama).answer(ask("Name three colours."), signals.append))
    assert len(signals) > 3
    assert all(isinstance(event, ModelDelta) for event in signals)
    assert answer.text == text_of(signals) != ""
    assert answer.finish_reason in ("stop", "length")
    assert answer.cost is None, "nobody has a price list for a server of one's own"


def test_usage_is_what_the_server_reports(llama: str) -> None:
    request = ask("Name three rivers.")
    posted(llama, request)  # now the prompt is in the server's cache
    answer = run(client(llama).answer(request, lambda _: None))
    reported = posted(llama, request)["usage"]
    assert answer.usage.input == reported["prompt_tokens"] > 0
    assert answer.usage.output == reported["completion_tokens"] > 0
    assert answer.usage.cached == reported["prompt_tokens_details"]["cached_tokens"] > 0


def test_a_server_that_answers_to_any_name_is_found_out(llama: str) -> None:
    """llama-server serves its one model whatever it is asked for; that another one answered is told."""
    assert run(client(llama).answer(ask("Say hi."), lambda _: None)).served is None
    asked_for_another = LiteLLM("openai/nope", api_base=llama, environ={})
    assert run(asked_for_another.answer(ask("Say hi.", "openai/nope"), lambda _: None)).served == "smollm2"


@pytest.mark.parametrize(
    ("asked_for", "served", "told"),
    [
        ("openai/gpt-5-mini", "gpt-5-mini-2025-08-07", None),
        ("openai/smollm2", "smollm2", None),
        ("openrouter/openai/gpt-5", "openai/gpt-5", None),
        ("openai/nope", None, None),
        ("openai/nope", "smollm2", "smollm2"),
    ],
)
def test_another_model_is_told_and_a_dated_name_is_not(asked_for: str, served: str | None, told: str | None) -> None:
    assert another(asked_for, served) == told


def test_a_turn_cancelled_in_mid_stream_ends_at_once_and_the_server_answers_the_next(llama: str) -> None:
    async def turn() -> tuple[str, float, Answer]:
        signals: list[Event] = []
        first = asyncio.Event()

        def signal(event: Event) -> None:
            signals.append(event)
            if len(signals) == 3:
                first.set()

        model = client(llama)
        task = asyncio.create_task(model.answer(ask("Tell me a long story about the sea.", max_tokens=2000), signal))
        await asyncio.wait_for(first.wait(), 30)
        start = time.perf_counter()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        took_s = time.perf_counter() - start
        return text_of(signals), took_s, await model.answer(ask("Say hi."), lambda _: None)

    partial, took_s, answer = run(turn())
    assert partial
    assert took_s < 1
    assert answer.text


def test_what_utf8_has_no_bytes_for_is_sent_as_a_replacement_character(llama: str) -> None:
    answer = run(client(llama).answer(ask("Repeat: \ud800 \udfff 天气 😀"), lambda _: None))
    assert answer.usage.input > 0


# A provider of our own


def test_a_refused_connection_names_the_address_and_what_to_start() -> None:
    base = f"http://127.0.0.1:{closed_port()}/v1"
    signals: list[Event] = []
    with pytest.raises(ModelError) as caught:
        run(client(base).answer(ask("Hello"), signals.append))
    assert caught.value.kind == "refused"
    assert base in caught.value.message
    assert "start the server" in caught.value.message
    assert signals == [], "nobody listens: trying again helps nobody"


def test_ollama_that_does_not_run_is_told_how_to_start() -> None:
    base = f"http://127.0.0.1:{closed_port()}"
    model = LiteLLM("ollama_chat/qwen3:4b", api_base=base, environ={})
    with pytest.raises(ModelError) as caught:
        run(model.answer(ask("Hello", "ollama_chat/qwen3:4b"), lambda _: None))
    assert caught.value.kind == "refused"
    assert "ollama serve" in caught.value.message


def test_a_wrong_model_name_is_told_with_the_names_that_are_served() -> None:
    words = "The model `smolm2` does not exist or you do not have access to it."
    error = {"error": {"message": words, "type": "invalid_request_error", "param": None, "code": "model_not_found"}}

    async def turn() -> None:
        async with provider(json_reply(404, error)) as target:
            await asked(target, ask("Hello", "openai/smolm2"))

    with pytest.raises(ModelError) as caught:
        run(turn())
    assert caught.value.kind == "wrong_model"
    assert '"smolm2"' in caught.value.message
    assert 'Did you mean "smollm2"?' in caught.value.message
    assert "It serves: qwen3:4b, smollm2." in caught.value.message


def test_a_model_string_without_a_provider_is_a_wrong_model() -> None:
    with pytest.raises(ModelError) as caught:
        run(LiteLLM("mymodel", environ={}).answer(ask("Hello", "mymodel"), lambda _: None))
    assert caught.value.kind == "wrong_model"
    assert "openai/NAME" in caught.value.message


@pytest.mark.parametrize("how", [{"dies": True}, {"ends": True}], ids=["dies", "ends without a finish reason"])
def test_a_stream_that_stops_half_way_is_broken_and_its_pieces_were_told(how: dict[str, Any]) -> None:
    signals: list[Event] = []

    async def turn() -> None:
        async with provider(stream_reply({"content": "The sea "}, {"content": "is"}, **how)) as target:
            try:
                await asked(target, signals=signals)
            finally:
                assert len(target.bodies) == 1, "never asked again after a piece came"

    with pytest.raises(ModelError) as caught:
        run(turn())
    assert caught.value.kind == "broken"
    assert text_of(signals) == "The sea is"


def test_a_rate_limit_is_waited_out_and_each_wait_is_told() -> None:
    limit = json_reply(429, {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}})
    signals: list[Event] = []

    async def turn() -> Answer:
        async with provider(limit, limit, stream_reply({"content": "Done"})) as target:
            answer = await asked(target, signals=signals)
            assert len(target.bodies) == 3
            return answer

    assert run(turn()).text == "Done"
    retried = [event for event in signals if isinstance(event, ModelRetried)]
    assert [event.attempt for event in retried] == [1, 2]
    assert [event.wait_s for event in retried] == [0.01, 0.02]
    assert all("rate limit" in event.reason for event in retried)


@pytest.mark.parametrize(
    ("status", "error", "kind", "calls"),
    [
        (429, {"message": "Rate limit reached"}, "rate_limit", 3),
        (503, {"message": "Overloaded"}, "other", 3),
        (400, {"message": "Invalid 'messages[1].content'"}, "rejected", 1),
        (401, {"message": "Incorrect API key provided", "code": "invalid_api_key"}, "rejected", 1),
        (404, {"message": "model 'smollm2' not found"}, "wrong_model", 1),
    ],
)
def test_what_a_provider_answers_decides_the_kind_and_whether_to_ask_again(
    status: int, error: dict[str, Any], kind: str, calls: int
) -> None:
    async def turn() -> None:
        async with provider(json_reply(status, {"error": error})) as target:
            try:
                await asked(target)
            finally:
                assert len(target.bodies) == calls

    with pytest.raises(ModelError) as caught:
        run(turn())
    assert caught.value.kind == kind
    assert error["message"] in caught.value.message


def test_the_wait_is_the_one_that_the_provider_asks_for() -> None:
    limit = json_reply(429, {"error": {"message": "Slow down"}}, retry_after="0.05")
    signals: list[Event] = []

    async def turn() -> None:
        async with provider(limit, stream_reply({"content": "Done"})) as target:
            await asked(target, signals=signals)

    run(turn())
    assert [event.wait_s for event in signals if isinstance(event, ModelRetried)] == [0.05]


def test_a_provider_that_asks_for_a_long_wait_is_not_asked_again() -> None:
    limit = json_reply(429, {"error": {"message": "Slow down"}}, retry_after="3600")

    async def turn() -> None:
        async with provider(limit) as target:
            try:
                await asked(target)
            finally:
                assert len(target.bodies) == 1

    with pytest.raises(ModelError) as caught:
        run(turn())
    assert caught.value.kind == "rate_limit"


def test_a_fault_of_whoever_hears_the_signals_is_not_the_providers() -> None:
    def signal(_: Event) -> None:
        raise SessionError("the disk is full")

    async def turn() -> None:
        async with provider(stream_reply({"content": "x"})) as target:
            await client(target.api_base).answer(ask("Hello"), signal)

    with pytest.raises(SessionError, match="the disk is full"):
        run(turn())


def test_a_silent_provider_times_out() -> None:
    async def turn() -> None:
        async with provider(silent_reply()) as target:
            await asked(target, timeout_s=0.3)

    with pytest.raises(ModelError) as caught:
        run(turn())
    assert caught.value.kind == "timeout"
    assert "0.3 s" in caught.value.message


@pytest.mark.parametrize("reply", [silent_reply(), stream_reply({"content": "sea "}, for_ever=True)], ids=["silent", "streaming"])
def test_a_cancelled_turn_hangs_up(reply: Any) -> None:
    async def turn() -> None:
        async with provider(reply) as target:
            task = asyncio.create_task(asked(target))
            async with asyncio.timeout(10):
                while not target.bodies:
                    await asyncio.sleep(0.01)
                await asyncio.sleep(0.05)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await target.hung_up.wait()

    run(turn())


def call(index: int, arguments: str, id: str | None = None, name: str | None = None) -> dict[str, Any]:
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {"tool_calls": [{"index": index, **({"id": id, "type": "function"} if id else {}), "function": function}]}


@pytest.mark.parametrize(
    "deltas",
    [
        [call(0, "", "c1", "weather"), call(0, '{"city": '), call(0, '"Bern"}'), call(1, '{"city": "Cairo"}', "c2", "weather")],
        [call(0, '{"city": "Bern"}', "c1", "weather"), call(0, '{"city": "Cairo"}', "c2", "weather")],
        [
            call(i, piece, id, "weather")
            for i, id, city in ((0, "c1", "Bern"), (1, "c2", "Cairo"))
            for piece in ('{"city": ', f'"{city}"}}')
        ],
        [call(0, '{"city"', "c1", "weather"), call(1, '{"city": ', "c2", "weather"), call(0, ': "Bern"}'), call(1, '"Cairo"}')],
    ],
    ids=["OpenAI's", "all numbered 0", "id and name in every piece", "interleaved"],
)
def test_tool_calls_are_put_together_from_their_pieces(deltas: list[dict[str, Any]]) -> None:
    tool = ToolDefinition("weather", "The weather.", {"type": "object", "properties": {"city": {"type": "string"}}})

    async def turn() -> tuple[Answer, Any]:
        async with provider(stream_reply({"content": "I look."}, *deltas)) as target:
            return await asked(target, ask("Bern and Cairo?", tools=(tool,))), target.bodies[0]["tools"]

    answer, tools = run(turn())
    assert answer.text == "I look."
    assert [(c.id, c.name, json.loads(c.arguments)) for c in answer.tool_calls] == [
        ("c1", "weather", {"city": "Bern"}),
        ("c2", "weather", {"city": "Cairo"}),
    ]
    assert answer.finish_reason == "tool_calls"
    assert tools == [tool.openai()]


def test_usage_is_read_with_its_cached_tokens_and_is_zero_where_none_is_reported() -> None:
    usage = {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127, "prompt_tokens_details": {"cached_tokens": 100}}

    async def turn() -> tuple[Usage, Usage]:
        async with provider(stream_reply({"content": "x"}, usage=usage), stream_reply({"content": "x"})) as target:
            return (await asked(target)).usage, (await asked(target)).usage

    assert run(turn()) == (Usage(input=120, output=7, cached=100), Usage())


def test_what_is_sent_is_the_request() -> None:
    request = ask("\ud800 & 天气", seed=7)

    async def turn() -> tuple[dict[str, Any], dict[str, str]]:
        async with provider(stream_reply({"content": "x"})) as target:
            await asked(target, request)
            return target.bodies[0], target.headers[0]

    body, headers = run(turn())
    expected = {**request.payload(), "model": "smollm2", "stream": True, "stream_options": {"include_usage": True}}
    expected["messages"][1]["content"] = "\ufffd & 天气"
    assert body == expected
    assert headers["authorization"] == "Bearer none-needed"


def test_a_price_is_given_where_the_provider_has_one() -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}

    async def turn() -> Answer:
        async with provider(stream_reply({"content": "x"}, usage=usage)) as target:
            model = LiteLLM("deepseek/deepseek-chat", api_base=target.api_base, environ={"DEEPSEEK_API_KEY": "sk-0123456789"})
            return await model.answer(ask("Hello", "deepseek/deepseek-chat"), lambda _: None)

    cost = run(turn()).cost
    assert cost is not None
    assert 0 < cost < 0.01


def test_no_secret_stands_in_an_error() -> None:
    environ = {"OPENAI_API_KEY": "sk-proj-abcdefghijklmnop", "MY_PASSWORD": "correct horse"}
    words = "Incorrect API key provided: sk-proj-abcdefghijklmnop. Authorization: Bearer zzzzzzzzz; correct horse"

    async def turn() -> None:
        async with provider(json_reply(401, {"error": {"message": words}})) as target:
            try:
                await asked(target, environ=environ)
            finally:
                assert target.headers[0]["authorization"] == "Bearer sk-proj-abcdefghijklmnop"

    with pytest.raises(ModelError) as caught:
        run(turn())
    assert "OPENAI_API_KEY" in caught.value.message, "the variable is named"
    for secret in ("abcdefghijklmnop", "zzzzzzzzz", "correct horse"):
        assert secret not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_missing_key_is_found_before_the_call() -> None:
    with pytest.raises(ModelError) as caught:
        asyncio.run(LiteLLM("gpt-5-mini", environ={}).answer(ask("Hello", "gpt-5-mini"), lambda _: None))
    assert caught.value.kind == "missing_key"
    assert "OPENAI_API_KEY" in caught.value.message
    assert ".env" in caught.value.message


def test_many_turns_leave_nothing_behind(llama: str, capfd: pytest.CaptureFixture[str]) -> None:
    for _ in range(3):
        run(client(llama).answer(ask("Hi"), lambda _: None))
    gc.collect()
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


# Through the command


def test_the_command_talks_to_a_real_server(llama: str, tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(
        f"version: 1\nmodels: {{mine: {{model: openai/smollm2, api_base: '{llama}', max_output: 40, temperature: 0}}}}\n"
        "agents: {a: {model: mine, system: You are brief., memory: {window: tokens:600}}}\n"
    )
    ran = ctxeng("chat", "a", "-m", "Name three colours.", "--json", "--session", "s", cwd=tmp_path, home=tmp_path / "home")
    assert ran.exit == 0, ran.err
    seen = events(ran.out)
    (finished,) = [e for e in seen if e["type"] == "turn.finished"]
    (answered,) = [e for e in seen if e["type"] == "model.answered"]
    assert "".join(e["text"] for e in seen if e["type"] == "model.delta") == finished["text"] != ""
    assert answered["usage"]["input"] > 10
    assert "served" not in answered
    again = ctxeng("chat", "a", "-c", "-m", "Name three more.", "--model", "openai/nope", cwd=tmp_path, home=tmp_path / "home",
                   env={"OPENAI_API_BASE": llama})  # fmt: skip
    assert (again.exit, bool(again.out.strip())) == (0, True), again.err
    assert "answered by smollm2, another model than was asked for" in again.err


def test_a_real_model_writes_the_summary_and_is_calibrated(llama: str, tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(
        f"version: 1\nmodels: {{mine: {{model: openai/smollm2, api_base: '{llama}', max_output: 12, temperature: 0}}}}\n"
        "agents: {a: {model: mine, memory: {window: tokens:200, pipeline: [{summarize: {keep_exchanges: 1, model: mine}}]}}}\n"
    )
    seen: list[dict[str, Any]] = []
    for number in range(3):
        text = f"Tell me about river {number}. " + "It is long and wide. " * 12
        ran = ctxeng("chat", "a", "--session", "s", "-m", text, "--json", cwd=tmp_path, home=tmp_path / "home")
        assert ran.exit == 0, ran.err
        seen += events(ran.out)
    made = [e for e in seen if e["type"] == "summary.made" and "error" not in e]
    assert made
    assert made[0]["model"] == "openai/smollm2"
    assert made[0]["usage"]["input"] > 50
    assert next(edit["op"] for e in seen if e["type"] == "window.edited" for edit in e["edits"]) == "summarize"
    view = ctxeng("inspect-context", "--session", "s", cwd=tmp_path, home=tmp_path / "home").out
    assert re.search(r"≈ o200k_base \(×\d\.\d\d from 2 calls\)", view), view


def test_the_example_of_the_library_runs(llama: str, tmp_path: Path) -> None:
    """docs/library.md: a policy of the workbench inside a plain loop with OpenAI's client, against a real server."""
    (program,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "docs" / "library.md").read_text("utf-8"), re.DOTALL | re.MULTILINE)
    env = environment(tmp_path / "home", {"OPENAI_BASE_URL": llama, "OPENAI_API_KEY": "none"})
    ran = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    assert "Which of them is the largest? ->" in ran.stdout
    assert ran.stdout.endswith("tokens; legal\n")
    assert re.search(r"m2, m3 left: \d+ tokens, 120 allowed", ran.stdout), ran.stdout
