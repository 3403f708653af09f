"""Mend what a provider would refuse in a recording, losing nothing and saying each change (`replay --fix`).

Pure. Messages keep their ids, so that what is said of one before and after is said of the same one; requests and events
stand where they stood. A result belongs to the nearest earlier unanswered call with its id (SPEC 3), equal ids in order.

- A call without an id, with one of more than 40 characters, or with that of another call of its message: it and its result
  get a fresh one. A result without an id, or of a call without one, answers the nearest open call.
- A result that does not stand right behind its call is moved there. A call without one, where a request follows, gets a
  result that says so. A result of no call, or a second one, becomes a message of the user's: what a tool said is kept.
- An empty text is left out, and a message that holds nothing; so is thinking that has lost its text or its signature.
- Arguments that are no text, and content that is null, are written as text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ctxeng_cli.core.messages import Block, Message, Text, Thinking, ToolCall, number, tool_result
from ctxeng_cli.transcripts.recording import Asked, Item, Recording

_LONGEST_ID = 40
_RESPONSES = "content_number"


def repaired(recording: Recording) -> tuple[Recording, tuple[str, ...]]:
    """The recording mended, and what was done to it, in order; the recording itself, where nothing was. It is read whole."""
    read = replace(recording, notes=[])
    items = list(read.source(read))
    before = [item for item in items if isinstance(item, Message)]
    last = max((at for at, item in enumerate(items) if isinstance(item, Asked)), default=-1)
    asked = {item.id for item in items[: last + 1] if isinstance(item, Message)}
    repairs = _Repairs(asked, 1 + max((number(message.id) for message in before), default=0))
    after = repairs.mended(before)
    if not repairs.said:
        return recording, ()
    mended = tuple(_placed(items, after))

    def source(again: Recording) -> Iterable[Item]:
        again.notes += read.notes
        return mended

    return replace(recording, source=source), tuple(repairs.said)


def _placed(items: Sequence[Item], messages: Sequence[Message]) -> Iterator[Item]:
    """The mended messages, and the other items before the same ones as they stood, or before what followed those; results
    come with their call. A request whose answer or question was left out is left out too."""
    places = {message.id: at for at, message in enumerate(messages)}
    told = 0
    waiting: list[Item] = []
    for item in items:
        if not isinstance(item, Message):
            waiting.append(item)
            continue
        if item.role == "assistant" and item.id not in places:
            waiting = [other for other in waiting if not isinstance(other, Asked)]
        end = places.get(item.id, -1) + 1
        if end > told:
            yield from waiting
            waiting = []
        while told < end or (told and told < len(messages) and messages[told].role == "tool"):
            yield messages[told]
            told += 1
    yield from messages[told:]
    whole = [item for item in items if isinstance(item, Message)]
    unasked = messages[-1:] and messages[-1].role == "assistant" and whole[-1].id not in places
    yield from (item for item in waiting if not (unasked and isinstance(item, Asked)))


@dataclass(slots=True)
class _Repairs:
    asked: set[str]
    """The messages behind which a model was asked."""
    next: int
    """The number of the next message that is put in."""
    said: list[str] = field(default_factory=list)

    def mended(self, messages: Sequence[Message]) -> list[Message]:
        whole = [filled for message in messages if (filled := self._filled(self._typed(message))) is not None]
        return self._paired(whole)

    # -- one message --

    def _typed(self, message: Message) -> Message:
        extra = dict(message.extra)
        for id in extra.pop("arguments_not_text", ()):
            self.said.append(f"{message.id}: the arguments of {id!r} were no text; they are written as JSON")
        if extra.pop("content_null", False) and message.role in ("system", "tool"):
            self.said.append(f"{message.id}: its content was null; it is an empty text")
        if extra.pop("before_results", 0):
            self.said.append(f"{message.id}: it stood before results of the same message; it was put behind them")
        return message if len(extra) == len(message.extra) else replace(message, extra=extra)

    def _filled(self, message: Message) -> Message | None:
        """The message without empty texts and broken thinking; None where it holds nothing else."""
        message = self._without(message, _is_empty, "its empty text was left out")
        message = self._without(message, _is_broken, "thinking that had lost its text or its signature was left out")
        items = [item for item in message.extra.get("items", ()) if item.get("type", "message") != "message"]
        holds = message.content or message.tool_calls or message.extra.get("content") or items
        if holds or message.role not in ("user", "assistant"):
            return message
        self.said.append(f"{message.id}: the empty {message.role} message was left out")
        return None

    def _without(self, message: Message, wrong: Callable[[Block], bool], says: str) -> Message:
        kept = tuple(block for block in message.content if not wrong(block))
        if len(kept) == len(message.content) or message.role == "tool":
            return message
        self.said.append(f"{message.id}: {says}")
        return replace(message, content=kept)

    # -- calls and results --

    def _paired(self, messages: Sequence[Message]) -> list[Message]:
        """Each call followed by its results, both with one id."""
        answers = _answers(messages)
        taken = {result.id for results in answers.values() for result in results.values()}
        placed: list[Message] = []
        for at, message in enumerate(messages):
            if message.role == "tool":
                placed += [] if message.id in taken else [self._stray(message, messages)]
            elif message.tool_calls:
                placed += self._round(message, answers.get(message.id, {}), messages[at + 1 :])
            else:
                placed.append(message)
        return placed

    def _round(self, message: Message, results: dict[int, Message], behind: Sequence[Message]) -> list[Message]:
        """A message with calls and their results, by the place of the call. They stay in the order in which they came unless
        one of them has to be moved or put in."""
        for place, result in results.items():
            id = result.tool_call_id
            if id != message.tool_calls[place].id:
                self.said.append(f"{result.id}: the result with the id {id!r} answers {message.id}, by its place")
        message = self._identified(message)
        found = [self._answering(message, place, results.get(place)) for place in range(len(message.tool_calls))]
        there = [result for result in found if result is not None]
        near = [later.id for later in behind[: _count_results(behind)]]
        moved = [result for place, result in results.items() if result.id not in near]
        for result in moved:
            self.said.append(f"{result.id}: the result of {result.tool_call_id!r} was moved right behind {message.id}")
        if not moved and len(there) == len(results):
            there.sort(key=lambda result: near.index(result.id))
        return [message, *self._together(message, there)]

    def _identified(self, message: Message) -> Message:
        calls: list[ToolCall] = []
        for place, call in enumerate(message.tool_calls, 1):
            if not 0 < len(call.id) <= _LONGEST_ID or call.id in (earlier.id for earlier in calls):
                id = f"call_{message.id}_{place}"
                self.said.append(f"{message.id}: the call of {call.name} with the id {call.id[:40]!r} got the id {id!r}")
                call = replace(call, id=id)
            calls.append(call)
        return replace(message, tool_calls=tuple(calls))

    def _answering(self, message: Message, place: int, result: Message | None) -> Message | None:
        """A result with the id of its call; one that says that there is none, where a model was asked without it."""
        call = message.tool_calls[place]
        if result is not None:
            return replace(result, tool_call_id=call.id)
        if message.id not in self.asked:
            return None
        self.said.append(f"{message.id}: the call {call.id!r} of {call.name} had no result; one that says so was put in")
        self.next += 1
        return tool_result(call, f"{call.name} has no recorded result.", is_error=True).with_id(f"m{self.next - 1}")

    def _together(self, message: Message, results: Sequence[Message]) -> Sequence[Message]:
        """Responses that a recording of Gemini's holds in several contents, in one."""
        if len({result.extra[_RESPONSES] for result in results if _RESPONSES in result.extra}) < 2:
            return results
        self.said.append(f"{message.id}: its responses stood in several turns; they were put into one")
        return [replace(r, extra={key: value for key, value in r.extra.items() if key != _RESPONSES}) for r in results]

    def _stray(self, message: Message, messages: Sequence[Message]) -> Message:
        id = message.tool_call_id
        called = any(call.id == id for other in messages for call in other.tool_calls)
        what = f"a second result of {id!r}" if called else f"a result of {id!r}, which nothing calls"
        self.said.append(f"{message.id}: {what}; it became a user message")
        text = f"[Result of a tool call that is not recorded]\n{message.text}"
        return Message("user", (Text(text),), id=message.id)


def _is_empty(block: Block) -> bool:
    return isinstance(block, Text) and not block.text.strip()


def _is_broken(block: Block) -> bool:
    """Thinking of a provider that signs it, without its text or its signature."""
    return isinstance(block, Thinking) and block.signature is not None and not (block.text and block.signature)


def _count_results(messages: Sequence[Message]) -> int:
    return next((at for at, message in enumerate(messages) if message.role != "tool"), len(messages))


def _answers(messages: Sequence[Message]) -> dict[str, dict[int, Message]]:
    """The results of each message with calls, by the place of their call: first those that have its id, then those of which
    one half has none."""
    answers: dict[str, dict[int, Message]] = {message.id: {} for message in messages if message.tool_calls}
    paired: set[str] = set()
    for fits in (_same, _nameless):
        open: list[Message] = []
        for message in messages:
            found = _nearest(message, open, answers, fits) if message.role == "tool" and message.id not in paired else None
            if found is not None:
                answers[found[0].id][found[1]] = message
                paired.add(message.id)
            if message.tool_calls:
                open.append(message)
            open = [caller for caller in open if len(answers[caller.id]) < len(caller.tool_calls)]
    return answers


def _nearest(
    result: Message, open: Sequence[Message], answers: dict[str, dict[int, Message]], fits: Callable[[str, str], bool]
) -> tuple[Message, int] | None:
    """The last open message with a call that a result fits, and the place of its first such call."""
    for caller in reversed(open):
        for place, call in enumerate(caller.tool_calls):
            if place not in answers[caller.id] and fits(call.id, result.tool_call_id or ""):
                return caller, place
    return None


def _same(call: str, result: str) -> bool:
    return call == result


def _nameless(call: str, result: str) -> bool:
    return not call or not result
