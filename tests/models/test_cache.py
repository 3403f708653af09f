"""Marks for a provider's prompt cache, through litellm's real client to a server that takes Anthropic's Messages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ctxeng_cli.agent import take_turn
from ctxeng_cli.core import messages as m
from ctxeng_cli.core.events import ModelAnswered, RequestSent
from ctxeng_cli.core.request import Request, ToolDefinition
from ctxeng_cli.core.view import rebuild
from ctxeng_cli.lint import check
from ctxeng_cli.models.litellm import LiteLLM, warm
from ctxeng_cli.payloads import anthropic
from ctxeng_cli.spec import ModelSpec
from tests.models.server import Provider, Reply, bare_environment, provider
from tests.play import Play, play

KEY = {"ANTHROPIC_API_KEY": "sk-test-0123456789abcdef"}
LONG = "word " * 1500
USAGE = {"input_tokens": 40, "cache_read_input_tokens": 1500, "cache_creation_input_tokens": 200, "output_tokens": 3}


def anthropic_reply(*blocks: dict[str, Any]) -> Reply:
    """Anthropic's stream of one message: texts, or calls of tools."""

    async def reply(body: dict[str, Any], _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "content": [], "usage": USAGE}
        said: list[dict[str, Any]] = [{"type": "message_start", "message": {**head, "stop_reason": None}}]
        for index, block in enumerate(blocks):
            tool = block["type"] == "tool_use"
            start = {**block, "input": {}} if tool else {"type": "text", "text": ""}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])} if tool else None
            said.append({"type": "content_block_start", "index": index, "content_block": start})
            said.append(
                {"type": "content_block_delta", "index": index, "delta": delta or {"type": "text_delta", "text": block["text"]}}
            )
            said.append({"type": "content_block_stop", "index": index})
        reason = "tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn"
        said.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 3}})
        said.append({"type": "message_stop"})
        for event in said:
            writer.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
        await writer.drain()

    return reply


TEXT = {"type": "text", "text": "Well."}


def use(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "look", "input": {}}


def look() -> str:
    """Look."""
    return "seen"


def staged(target: Provider, cache: str = "auto", **more: Any) -> Play:
    model = LiteLLM(
        "anthropic/claude-sonnet-4-5", api_base=target.api_base.removesuffix("/v1"), environ={**bare_environment(), **KEY}
    )
    made = play(model=model, tools=[look], system="Help. " + LONG, **more)
    made.agent.provider = "anthropic"
    made.agent.spec = replace(made.agent.spec, model=ModelSpec("anthropic/claude-sonnet-4-5", cache=cache))
    return made


def marked(body: dict[str, Any]) -> list[str]:
    """Where a body that reached the provider is marked, in the order in which it is read."""

    def places() -> Iterator[str]:
        yield from ("tools" for tool in body.get("tools", ()) if "cache_control" in tool)
        yield from ("system" for block in body.get("system", ()) if "cache_control" in block)
        for at, message in enumerate(body["messages"]):
            yield from (f"{at}:{block['type']}" for block in message["content"] if "cache_control" in block)

    return list(places())


async def talk(target: Provider, *texts: str, **more: Any) -> Play:
    made = staged(target, **more)
    for text in texts:
        outcome = await take_turn(made.agent, text, {}, made.wires)
        assert outcome.error is None, outcome.text
    return made


def run(*replies: Reply, texts: tuple[str, ...], **more: Any) -> tuple[Play, list[dict[str, Any]]]:
    async def act() -> tuple[Play, list[dict[str, Any]]]:
        async with provider(*replies) as target:
            return await talk(target, *texts, **more), target.bodies

    warm().result(60)
    return asyncio.run(act())


def test_each_request_marks_where_the_one_before_it_ended() -> None:
    replies = (anthropic_reply(use("a"), use("b")), anthropic_reply(TEXT), anthropic_reply(TEXT))
    made, bodies = run(*replies, texts=("Look twice.", "And now?"))
    assert [marked(body) for body in bodies] == [
        ["system", "0:text"],
        ["system", "0:text", "2:tool_result"],
        ["system", "2:tool_result", "4:text"],
    ]
    assert all(len(marked(body)) <= 4 for body in bodies)
    sent = [e.event for e in made.entries if isinstance(e.event, RequestSent)]
    assert [event.marks for event in sent] == [("m1", "m2"), ("m1", "m2", "m5"), ("m1", "m5", "m7")]


def test_what_was_read_from_the_cache_and_written_to_it_is_part_of_the_usage() -> None:
    made, _ = run(anthropic_reply(TEXT), texts=("Hi.",))
    (answered,) = [e.event for e in made.entries if isinstance(e.event, ModelAnswered)]
    assert (answered.usage.cached, answered.usage.cache_write) == (1500, 200)
    assert answered.usage.input == 1740
    assert (answered.cost or 0) > 0


def test_marks_are_in_the_log_and_the_request_is_built_from_it_byte_for_byte() -> None:
    made, bodies = run(anthropic_reply(TEXT), texts=("Hi.",))
    (sent,) = [e.event for e in made.entries if isinstance(e.event, RequestSent)]
    request = rebuild(made.journal.state, "a", sent)
    assert request.fingerprint == sent.fingerprint
    assert marked(anthropic.body(request)) == marked(bodies[0])
    assert not [f for f in check(request, provider="anthropic") if f.severity == "error"]


def test_nothing_is_marked_where_the_provider_wants_none_or_the_spec_says_off() -> None:
    assert marked(run(anthropic_reply(TEXT), texts=("Hi.",))[1][0])
    assert marked(run(anthropic_reply(TEXT), texts=("Hi.",), cache="off")[1][0]) == []


def test_tools_and_images_are_marked_on_their_last_block() -> None:
    tools = (ToolDefinition("a"), ToolDefinition("b"))
    picture = m.Message("user", (m.Text("See"), m.Image("data:image/png;base64,AA")), id="m2")
    body = Request((m.system("S").with_id("m1"), picture), tools, marks=("tools", "m1", "m2")).payload()
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    assert body["messages"][0]["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" in body["messages"][1]["content"][1]
