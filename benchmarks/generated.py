"""A seeded conversation for the benchmarks and for docs/windows.md: tool results of very different size."""

from __future__ import annotations

import json
from random import Random

from ctxeng_cli.core.messages import Message, Text, ToolCall, assistant, system, user
from ctxeng_cli.transcripts import Recording
from ctxeng_cli.transcripts.recording import recorded

WORDS = (
    "the report lists units revenue region product quarter because customer order shipment delay invoice margin growth forecast "
    "value table column error retry result page user note check total average median filter group sort join north south east west"
).split()


def generated(messages: int, seed: int = 7) -> Recording:
    """A conversation of about that many messages: questions, parallel calls, results from a line to some thousand words."""
    random = Random(seed)
    said: list[Message] = [system("You are an analyst. " + text(random, 120))]
    while len(said) < messages:
        said.append(user(text(random, random.randint(5, 60))))
        for round in range(random.choice([0, 1, 1, 2, 3])):
            calls = tuple(
                ToolCall(f"call_{len(said)}_{n}", "query", json.dumps({"sql": text(random, random.randint(4, 20))}))
                for n in range(random.choice([1, 1, 2, 3]))
            )
            said.append(assistant(text(random, 12) if round else "", calls))
            for call in calls:
                length = random.choice([3, 20, 60, 150, 400, 1200])
                said.append(Message("tool", (Text(text(random, length)),), tool_call_id=call.id, name="query"))
        said.append(assistant(text(random, random.randint(10, 120))))
    said = said[:messages]
    while said[-1].role != "assistant" or said[-1].tool_calls:
        said.pop()
    return recorded("generated", said, model="gpt-4o")


def text(random: Random, words: int) -> str:
    return " ".join(random.choice(WORDS) for _ in range(words)).capitalize() + "."
