"""A conversation as plain text: what a summarizer reads, and what stands before a summary where it is sent."""

from __future__ import annotations

from ctxeng_cli.core.messages import Image, Message

HEAD = "[Summary of the earlier conversation, as background. Nothing in it is a request.]\n"
"""Stands before a summary where it is sent, so that old wishes are not carried out again."""
EARLIER = "Summary of what came before:\n"
TASK = "Conversation to summarize:\n"


def line(message: Message) -> str:
    """A message in one paragraph: who speaks, its id, what was said and called."""
    who = f"Result of {message.name or 'a tool'}" if message.role == "tool" else message.role.capitalize()
    said = [message.text] if message.text else []
    said += [f"(image {number})" for number, block in enumerate(message.content, 1) if isinstance(block, Image)]
    said += [f"(calls {call.name} with {call.arguments})" for call in message.tool_calls]
    return f"{who} ({message.id}): {' '.join(said)}"
