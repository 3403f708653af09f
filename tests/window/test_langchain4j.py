"""LangChain4j's window memories under `compat: langchain4j`, quirks included; in a session and in a replay as well."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxeng_cli.core.events import RequestSent, WindowEdited
from ctxeng_cli.core.messages import Image, Message, Text, Thinking, ToolCall, assistant, system, user
from ctxeng_cli.core.view import rebuild
from ctxeng_cli.window.langchain4j import (
    ChatMemory,
    Limit,
    OpenAiEstimator,
    Refused,
    SingleSlot,
    added,
    as_java,
    evicted,
    token_limit,
)
from tests.notation import message
from tests.play import call, play, says
from tests.replay.test_simulate import rows, talk
from tests.window.test_laws import WEIGHTS, conversations

CALL = ToolCall("1", "look", "")


def words(line: str) -> tuple[Message, ...]:
    return tuple(message(word, number) for number, word in enumerate(line.split(), 1))


def after(line: str, most: int, *, keep_first: bool = False) -> str:
    """What a window of that many messages holds once a conversation was added to it, message by message."""
    held: tuple[Message, ...] = ()
    for new in words(line):
        held = added(held, new, Limit(most), keep_system_first=keep_first)
    return " ".join(m.text for m in held)


@pytest.mark.parametrize(
    ("line", "most", "window"),
    [
        ("u1 a1 u2", 2, "a1 u2"),
        ("s u1 a1 u2", 3, "s a1 u2"),
        ("u a[x] x b", 2, ""),  # the results behind a call leave with it, whatever their ids
        ("u1 a1[x] u2 x u3", 3, "u2 x u3"),  # a result apart from its call stays when that leaves
        ("u a[x,y,z] x y z", 3, ""),  # the call leaves with all its results, the new one too
        ("u a[x,y,z] x y z", 2, "z"),  # the call left before its last result came: an orphan
        ("u a1[x] x a2[y] y", 4, "a1 x a2 y"),  # the running question leaves in mid-turn
        ("x u1 a1 u2", 3, "u1 a1 u2"),
        ("u1 s u2 a2 u3", 3, "s a2 u3"),  # a system message in the middle drifts to the front
        ("u1 s u2 a2 u3", 2, "s u3"),
        ("s u1", 1, "s"),
    ],
)
def test_messages_leave_by_their_place(line: str, most: int, window: str) -> None:
    assert after(line, most) == window


def test_a_changed_system_message_goes_to_the_end_unless_it_is_kept_first() -> None:
    assert after("s1 u1 a1 s2", 5) == "u1 a1 s2"
    assert after("s1 u1 a1 s2", 5, keep_first=True) == "s2 u1 a1"
    assert after("s u a s", 5) == "s u a"


class Weights:
    """An estimator that weighs a message by its role, and a list `overhead` more than its messages."""

    def __init__(self, by_role: dict[str, int], overhead: int = 3) -> None:
        self._by_role, self._overhead = by_role, overhead

    def message(self, message: Message) -> int:
        return self._by_role[message.role[0]]

    def request(self, messages: Sequence[Message]) -> int:
        return self._overhead + sum(map(self.message, messages))


@given(conversations(), WEIGHTS, st.integers(1, 400), st.booleans())
def test_a_trimmed_window_of_tokens_fits_or_nothing_can_leave(
    line: str, by_role: dict[str, int], most: int, middle: bool
) -> None:
    said = words(f"u0 {line}" if middle else line)
    weights = Weights(by_role)
    limit = token_limit(most, weights)
    kept = evicted(said, limit)
    assert weights.request(kept) <= most or [m.role for m in kept] in ([], ["system"])
    assert evicted(kept, limit) == kept
    assert evicted(said, token_limit(weights.request(said), weights)) == said, "what is equal to the limit fits"
    if kept:
        assert said[-1] in kept or [m.role for m in kept] == ["system"], "the oldest leave first"


def test_a_list_is_weighed_once_and_then_what_leaves_is_taken_off() -> None:
    """With an estimator whose messages weigh more alone than together, fewer leave than should: it is never weighed again."""

    class Alone(Weights):
        def message(self, message: Message) -> int:
            return 2 * super().message(message)

        def request(self, messages: Sequence[Message]) -> int:
            return 10 * len(messages)

    kept = evicted(words("u1 u2 u3 u4"), token_limit(20, Alone({"u": 10})))
    assert [m.text for m in kept] == ["u2", "u3", "u4"]


@given(conversations(), st.integers(1, 12), st.booleans())
def test_what_was_trimmed_fits_or_is_a_system_message_and_trims_to_itself(line: str, most: int, system_first: bool) -> None:
    said = words(line if system_first else f"u0 {line}")
    kept = evicted(said, Limit(most))
    assert len(kept) <= most or [m.role for m in kept] == ["system"]
    assert evicted(kept, Limit(most)) == kept
    assert evicted(said, Limit(len(said))) == said, "what is equal to the limit fits"


def test_a_window_of_tokens_keeps_an_oversized_system_message_and_no_oversized_question() -> None:
    estimator = OpenAiEstimator("gpt-4o-mini")
    memory = ChatMemory(20, estimator=estimator)
    memory.add(system("word " * 40))
    assert [m.role for m in memory.messages()] == ["system"]
    memory.add(user("Hi"))
    assert [m.role for m in memory.messages()] == ["system"]
    other = ChatMemory(20, estimator=estimator)
    other.add(user("Hi"), user("word " * 40))
    assert other.messages() == ()


def test_a_read_trims_a_copy_and_an_add_writes() -> None:
    most = [5]
    store = SingleSlot("default")
    memory = ChatMemory(lambda id: most[0], store=store)
    memory.add(*words("u1 u2 u3 u4 u5"))
    most[0] = 2
    assert [m.text for m in memory.messages()] == ["u4", "u5"]
    assert len(store.get_messages("default")) == 5
    most[0] = 4
    assert len(memory.messages()) == 4
    most[0] = 2
    memory.add(user("u6"))
    assert [m.text for m in store.get_messages("default")] == ["u5", "u6"]


class Counted(SingleSlot):
    """A store that writes down what it is asked."""

    def __init__(self) -> None:
        super().__init__("default")
        self.asked: list[str] = []

    def get_messages(self, id: str) -> tuple[Message, ...]:
        self.asked.append("get")
        return super().get_messages(id)

    def update_messages(self, id: str, messages: Sequence[Message]) -> None:
        self.asked.append("update")
        super().update_messages(id, messages)


def test_each_message_costs_the_store_a_read_and_a_write_a_look_a_read_and_a_list_a_write() -> None:
    store = Counted()
    memory = ChatMemory(3, store=store)
    memory.add(*words("s u1 a1"))
    assert store.asked == ["get", "update"] * 3
    store.asked.clear()
    memory.add(message("s", 4))
    assert store.asked == ["get"], "a system message that is there is not written again"
    store.asked.clear()
    memory.messages()
    assert store.asked == ["get"]
    store.asked.clear()
    memory.set(words("u2 u3"))
    assert store.asked == ["update"]


def test_a_list_put_in_place_may_hold_two_system_messages_of_which_a_changed_one_replaces_the_first() -> None:
    memory = ChatMemory(5)
    memory.set(words("s1 u1 s2"))
    assert [m.text for m in memory.messages()] == ["s1", "u1", "s2"]
    memory.add(message("s2", 4))
    assert [m.text for m in memory.messages()] == ["u1", "s2", "s2"]


def test_limits_that_cannot_be_are_told_in_the_frameworks_words() -> None:
    for most, told in ((0, "maxMessages must be greater than zero, but is: 0"), (None, "maxMessages cannot be null")):
        with pytest.raises(Refused, match=f"^{re.escape(told)}$"):
            ChatMemory(most)
    with pytest.raises(Refused, match=r"^maxTokens must be greater than zero, but is: -1$"):
        ChatMemory(-1, estimator=OpenAiEstimator("gpt-4o"))
    answers = [3, 3, 0]
    memory = ChatMemory(lambda id: answers.pop(0))
    memory.add(user("Hi"))
    with pytest.raises(Refused, match="but is: 0"):
        memory.messages()
    other = ChatMemory(3, id="b", store=SingleSlot("a"))
    told = "This chat memory has id: a but an operation has been requested on a memory with id: b"
    for asked in (other.messages, other.clear, lambda: other.add(user("Hi")), lambda: other.set([])):
        with pytest.raises(Refused, match=f"^{told}$"):
            asked()


def test_a_limit_is_asked_for_at_every_add_look_and_list() -> None:
    most: list[int | None] = [1]
    memory = ChatMemory(lambda id: most[0])
    for wrong, told in ((0, "but is: 0"), (-2, "but is: -2"), (None, "maxMessages cannot be null")):
        most[0] = wrong
        for asked in (memory.messages, lambda: memory.add(user("Hi")), lambda: memory.set([])):
            with pytest.raises(Refused, match=told):
                asked()
    most[0] = 1
    assert memory.messages() == ()


def test_a_list_is_put_in_place_trimmed_and_cleared() -> None:
    memory = ChatMemory(2)
    given_list = list(words("u1 u2 u3"))
    memory.set(given_list)
    assert [m.text for m in memory.messages()] == ["u2", "u3"]
    given_list.append(user("u4"))
    assert len(memory.messages()) == 2
    memory.clear()
    memory.clear()
    assert memory.messages() == ()


@pytest.mark.parametrize(
    ("model", "said", "tokens"),
    [
        ("gpt-4o-mini", user("Hi"), 1 + 3 + 1),
        ("gpt-4o-mini", Message("user", (Text("Hi"),), name="Ana"), 1 + 3 + 1 + 1 + 1),
        ("gpt-4o-mini", assistant("", (ToolCall("1", "look", "{}"),)), 4 + 5 + 2 * 1 + 1),
        ("gpt-4o-mini", assistant("", (CALL, ToolCall("2", "look", '{"a": 1}'))), 4 + 6 + 15 + 8 + 8 + 2 + 1 + 1),
        ("gpt-4o-mini", assistant("", (CALL, ToolCall("2", "look", '{"a": true}'))), 4 + 6 + 15 + 8 + 8 + 2 + 1 + 1),
        ("o4-mini", assistant("Hi"), 1 + 3 + 1 + 2),
        ("o4-mini", user("Hi"), 1 + 3 + 1),
        ("gpt-4o-mini", Message("tool", (Text("Hi"), Image("a.png")), tool_call_id="1", name="look"), 1 + 3 + 1),
        ("gpt-4o-mini", Message("assistant", (Thinking("Hm."), Text("Hi"))), 1 + 3 + 1),
    ],
)  # fmt: skip
def test_the_estimators_formula(model: str, said: Message, tokens: int) -> None:
    assert OpenAiEstimator(model).message(said) == tokens


@pytest.mark.parametrize(
    ("value", "java"),
    [
        ("2", "2"),
        ("2.0", "2.0"),
        ("0.001", "0.001"),
        ("0.00015", "1.5E-4"),
        ("1e7", "1.0E7"),
        ("-12345678.9", "-1.23456789E7"),
        ("1e999", "Infinity"),
        ("12345678901234567890", "12345678901234567890"),
        ("null", "null"),
        ("false", "false"),
        ('"a b"', "a b"),
        ('{"a": 1, "b": [1, 2.0, null, "x"]}', "{a=1, b=[1, 2.0, null, x]}"),
        ("[]", "[]"),
        ("{}", "{}"),
    ],
)
def test_the_values_of_several_calls_are_counted_as_java_writes_them(value: str, java: str) -> None:
    estimator = OpenAiEstimator("gpt-4o-mini")
    alone = estimator.message(assistant("", (CALL, CALL)))
    said = assistant("", (CALL, ToolCall("2", "look", f'{{"k": {value}}}')))
    assert as_java(json.loads(value)) == java
    assert estimator.message(said) == alone + 2 + estimator.text("k") + estimator.text(java)


def test_what_the_estimator_refuses() -> None:
    estimator = OpenAiEstimator("gpt-4o")
    with pytest.raises(Refused, match="Unknown content type"):
        estimator.message(Message("user", (Text("See"), Image("a.png"))))
    for arguments in ("no", "[1]", "null", '{"a": NaN}', '{"a": ' + "[" * 100_000):
        with pytest.raises(Refused, match="no JSON object"):
            estimator.message(assistant("", (ToolCall("1", "a", arguments), ToolCall("2", "b", "{}"))))
    estimator.message(assistant("", (ToolCall("1", "a", "no"),)))  # of one call the text is counted, whatever it is
    with pytest.raises(Refused, match="unknown"):
        OpenAiEstimator("claude-9")


def test_a_list_weighs_three_more_than_its_messages_and_two_for_the_o_series() -> None:
    said = (user("Hi"), assistant("Hi"))
    assert OpenAiEstimator("gpt-4o").request(said) == 3 + 5 + 5
    assert OpenAiEstimator("openai/o3").request(said) == 2 + 5 + 5
    assert OpenAiEstimator("o4-mini").request(said) == 2 + 5 + 7
    assert OpenAiEstimator("offline").request(said) == 3 + 5 + 5, "its name begins with an o all the same"


def sent(staged: object, number: int) -> list[str]:
    events = staged.events(RequestSent)  # type: ignore[attr-defined]
    request = rebuild(staged.journal.state, "a", events[number])  # type: ignore[attr-defined]
    return [m.text or m.tool_calls[0].name for m in request.messages]


def test_a_turns_first_request_shows_one_message_more_than_the_memory() -> None:
    def look() -> str:
        """Look."""
        return "seen"

    staged = play(
        says("a1"), says("a2"), says("", call("look")), says("a3"), window="messages:3,compat=langchain4j", tools=[look]
    )  # fmt: skip
    for text in ("u1", "u2", "u3"):
        assert staged.say(text).error is None
    assert sent(staged, 1) == ["u1", "a1", "u2"]
    assert sent(staged, 2) == ["a1", "u2", "a2", "u3"], "three in the memory, and the question behind it"
    assert sent(staged, 3) == ["u3", "look", "seen"]
    rules = {edit.reason.rule for event in staged.events(WindowEdited) for edit in event.edits}
    assert rules == {"langchain4j.messages"}


def test_a_replay_shows_the_same_and_says_what_a_provider_refuses() -> None:
    shown = rows(talk("s u1 a1[x,y] x y a2 u2"), "messages:3,compat=langchain4j")
    assert [row.window for row in shown] == [("m1", "m2"), ("m1",), ("m1", "m6", "m7")]
    kept = rows(talk("s1 u1 a1 s2 u2"), "messages:9,compat=langchain4j,keep_system_first=true")
    moved = rows(talk("s1 u1 a1 s2 u2"), "messages:9,compat=langchain4j")
    assert kept[-1].window == ("m4", "m2", "m3", "m5")
    assert moved[-1].window == ("m2", "m3", "m4", "m5")
    orphan = rows(talk("u a[x,y,z] x y z"), "messages:2,compat=langchain4j")
    assert [f.code for f in orphan[-1].lint] == ["OC002"]


def test_a_turn_that_failed_leaves_no_trace_in_the_memory() -> None:
    staged = play(says("a1"), says(error="down"), says("a3"), window="messages:3,compat=langchain4j")
    staged.say("u1")
    staged.say("u2")
    staged.say("u3")
    assert sent(staged, 2) == ["u1", "a1", "u3"]


def test_arguments_that_cannot_be_counted_end_the_turn_with_the_reason() -> None:
    def look() -> str:
        """Look."""
        return "seen"

    two = (call("look", "{no", "c1"), call("look", "{}", "c2"))
    staged = play(says("", *two), says("a1"), window="tokens:200,compat=langchain4j", tools=[look])
    ended = staged.say("u1")
    assert ended.error == "error"
    assert "no JSON object: {no" in ended.text


def test_tokens_are_counted_by_the_frameworks_formula() -> None:
    shown = rows(talk("u1 a1 u2 a2 u3"), "tokens:25,compat=langchain4j")
    assert [row.window for row in shown] == [("m1",), ("m1", "m2", "m3"), ("m2", "m3", "m4", "m5")]


def test_an_empty_window_is_refused_in_the_frameworks_words() -> None:
    line = "u a[x,y,z] x y z"
    row = rows(talk(line), "messages:3,compat=langchain4j")[-1]
    assert row.window == ()
    assert (row.overflow or "").startswith("messages cannot be null or empty")
    calls = tuple(call("look", id=id) for id in "xyz")

    def look() -> str:
        """Look."""
        return "seen"

    staged = play(says("", *calls), says("done"), window="messages:3,compat=langchain4j", tools=[look])
    outcome = staged.say("u")
    assert outcome.error == "error"
    assert outcome.text.startswith("messages cannot be null or empty")
