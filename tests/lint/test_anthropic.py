"""Anthropic's rules: what is refused, with the provider's words, and what is legal beside it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from ctxeng_cli.core.request import Request
from ctxeng_cli.lint import check, rules
from ctxeng_cli.payloads import anthropic
from tests.lint.bodies import codes, findings, request_of, result, text, thinking, use
from tests.notation import message
from tests.window.test_laws import conversations

HOUR, SHORT = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}


def body(*said: Any, model: str = "claude-haiku-4-5", **more: Any) -> dict[str, Any]:
    """A request whose messages are those of user and assistant in turn."""
    roles = ["user", "assistant"]
    messages = [
        content if isinstance(content, dict) and "role" in content else {"role": roles[at % 2], "content": content}
        for at, content in enumerate(said)
    ]
    return {"model": model, "max_tokens": 100, "messages": messages, **more}


def marked(*marks: Any) -> list[Any]:
    return [text(f"part {n}", cache_control=mark) for n, mark in enumerate(marks)]


SEARCH = {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
LOOK = {"name": "look", "description": "Look.", "input_schema": {"type": "object"}, "cache_control": SHORT}


CASES: list[tuple[str, dict[str, Any], list[str]]] = [
    ("plain", body("Hi", "Hello.", "And?"), []),
    ("two calls, two results", body("Hi", [use("a"), use("b")], [result("a"), result("b")]), []),
    ("results, then a text", body("Hi", [use()], [result(), text("Go on")]), []),
    ("results in two messages are one turn",
     body("Hi", [use("a"), use("b")], [result("a")], {"role": "user", "content": [result("b")]}), []),
    ("one of two calls is not answered", body("Hi", [use("a"), use("b")], [result("a")]), ["AN001"]),
    ("a call waits for its result", body("Hi", [use()]), ["AN001"]),
    ("the results of two calls come late", body("Hi", [use("a"), use("b")], "Well?", "Wait.", [result("a"), result("b")]),
     ["AN001", "AN002", "AN002"]),
    ("a result of nothing", body([result("x")]), ["AN002"]),
    ("a result of nothing behind one of something", body("Hi", [use()], [result(), result("x")]), ["AN002"]),
    ("a text between results", body("Hi", [use("a"), use("b")], [result("a"), text("and"), result("b")]), ["AN003"]),
    ("a result of an earlier turn", body("Hi", [use()], [result()], "Seen.", [result()]), ["AN002"]),
    ("a text before the results", body("Hi", [use()], [text("Look:"), result()]), ["AN003"]),
    ("a call answered twice", body("Hi", [use()], [result(), result()]), ["AN003"]),
    ("two calls of one id", body("Hi", [use("a"), use("a")], [result("a"), result("a")]), ["AN003"]),
    ("a call without an id", body("Hi", [use("")], [result("")]), ["AN003"]),
    ("the assistant begins", body({"role": "assistant", "content": "Hello."}, {"role": "user", "content": "Hi"}), ["AN004"]),
    ("an empty text beside another", body([text("Hi"), text("")]), ["AN005"]),
    ("white space alone", body(" \n"), ["AN005"]),
    ("an empty message", body("Hi", "", "And?"), ["AN005"]),
    ("an empty text of the system's", body("Hi", system=[text("S"), text("")]), ["AN005"]),
    ("an empty text beside a call", body("Hi", [text(""), use()], [result()]), ["AN005"]),
    ("an empty result", body("Hi", [use()], [result(text="")]), []),
    ("the last one of the assistant's may be empty", body("Hi", ""), ["AN008"]),
    ("two users in a row are put together", body("Hi", {"role": "user", "content": "And?"}), []),
    ("thinking first", body("Hi", [thinking(), use()], [result()], thinking={"type": "enabled"}), []),
    ("thinking lost", body("Hi", [use()], [result()], thinking={"type": "enabled"}), ["AN006"]),
    ("redacted thinking counts", body("Hi", [{"type": "redacted_thinking", "data": "x"}, use()], [result()],
                                      thinking={"type": "enabled"}), []),
    ("an older tool turn may have lost it",
     body("Hi", [use("a")], [result("a")], [thinking(), use("b")], [result("b")], thinking={"type": "enabled"}), []),
    ("thinking that adapts may be lost", body("Hi", [use()], [result()], thinking={"type": "adaptive"}), []),
    ("thinking between calls", body("Hi", [thinking(), use("a"), thinking(), use("b")], [result("a"), result("b")]), []),
    ("thinking with an empty signature", body("Hi", [thinking("Hm.", ""), use()], [result()]), ["AN007"]),
    ("thinking emptied, signature kept", body("Hi", [thinking(""), use()], [result()]), ["AN007"]),
    ("thinking without its signature", body("Hi", [thinking("Hm.", None), use()], [result()]), ["AN007"]),
    ("older thinking without its signature", body("Hi", [thinking("Hm.", None), text("Yes.")], "And?", "No.", "Well?"), []),
    ("a beginning of the answer, old model", body("Hi", "Well,"), ["AN008"]),
    ("a beginning of the answer, new model", body("Hi", "Well,", model="claude-opus-4-6"), ["AN008"]),
    ("a call without a result is no beginning of an answer", body("Hi", [use()], model="claude-opus-4-6"), ["AN001"]),
    ("a system message inside", body("Hi", {"role": "system", "content": "Be brief."}), ["AN009"]),
    ("a system message inside, where it may", body("Hi", {"role": "system", "content": "Be brief."}, model="claude-opus-5"), []),
    ("a system message behind an answer",
     body("Hi", "Hello.", {"role": "system", "content": "Be brief."}, {"role": "user", "content": "And?"}, model="claude-opus-5"),
     ["AN009"]),
    ("four marks", body(marked(SHORT, SHORT), system=marked(SHORT, SHORT)), []),
    ("five marks", body(marked(SHORT, SHORT, SHORT), system=marked(SHORT, SHORT)), ["AN010"]),
    ("five marks, one on a tool", body(marked(SHORT, SHORT), system=marked(SHORT, SHORT),
        tools=[LOOK]), ["AN010"]),
    ("an hour before five minutes", body(marked(HOUR, SHORT)), []),
    ("five minutes before an hour", body(marked(SHORT, HOUR)), ["AN011"]),
    ("a tool's five minutes before the system's hour", body("Hi", system=marked(HOUR),
        tools=[LOOK]), ["AN011"]),
    ("a server's tool", body("Hi", [SEARCH, FOUND], "Ok"), []),
    ("a server's tool between thinking", body("Hi", [thinking(), SEARCH, FOUND, thinking(), text("Found.")], "Ok"), []),
    ("a server's result in the turn after its call", body("Hi", [SEARCH], "Well?", [FOUND], "Ok"), ["AN013"]),
    ("a server's result before its call", body("Hi", [FOUND, SEARCH], "Ok"), ["AN013"]),
    ("a server's result without its call",
     body("Hi", [FOUND, text("Found.")], "Ok"), ["AN013"]),
    ("a mark on an empty text", body([text("Hi"), text("", cache_control=SHORT)]), ["AN005", "AN014"]),
]  # fmt: skip


@pytest.mark.parametrize(("sent", "expected"), [(b, c) for _, b, c in CASES], ids=[name for name, _, _ in CASES])
def test_rule(sent: dict[str, Any], expected: list[str]) -> None:
    assert sorted(codes(sent, "anthropic")) == expected


def test_every_rule_has_a_case_that_breaks_it() -> None:
    broken = {code for _, _, expected in CASES for code in expected} | {"AN012"}
    assert broken == {code for code in rules() if code.startswith("AN")}


def test_what_is_found_names_the_message_and_predicts_the_words() -> None:
    (found,) = findings(body("Hi", [use("toolu_1")], "And?"), "anthropic")
    assert (found.severity, found.part) == ("error", "m2")
    assert "'toolu_1'" in found.message
    assert found.provider_says.startswith(
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1."
    )


def test_a_late_result_is_not_told_to_be_missing() -> None:
    unanswered, stray = findings(body("Hi", [use()], "Well?", "Wait.", [result()]), "anthropic")
    assert "stand in the wrong place: the result of 't1' is m5" in unanswered.message
    assert "Put it right behind its call" in stray.message


def test_the_words_of_a_finding_say_what_to_do() -> None:
    told = [finding for _, sent, _ in CASES for finding in findings(sent, "anthropic") if finding.severity == "error"]
    assert all(finding.provider_says and re.search(r"\. [A-Z][^.]+\.$", finding.message) for finding in told), told


@pytest.mark.parametrize(("model", "least"), [("claude-sonnet-4-5", 1024), ("claude-haiku-4-5", 4096), ("claude-opus-5", 512)])
def test_how_much_a_mark_must_stand_on(model: str, least: int) -> None:
    sent = body(marked(SHORT), model=model)
    assert codes(sent, "anthropic", tokens=least - 1) == ["AN014"]
    assert codes(sent, "anthropic", tokens=least) == []


def test_marks_of_the_requests_own_are_counted_too() -> None:
    request = replace(request_of(body(marked(SHORT, SHORT, SHORT), tools=[LOOK])), marks=("tools", "m1"))
    assert [finding.code for finding in check(request, provider="anthropic")] == ["AN010"]


def test_size_is_looked_at_where_it_is_known() -> None:
    assert codes(body("Hi"), "anthropic", tokens=900, context_window=800) == ["AN012"]
    assert codes(body("Hi"), "anthropic", tokens=800, context_window=800) == []
    (found,) = findings(body(marked(SHORT)), "anthropic", tokens=100)
    assert (found.code, found.severity) == ("AN014", "warning")


def test_a_rewrite_before_thinking_that_is_kept_is_told() -> None:
    request = request_of(body("Hi", [use()], [result()], [thinking(), text("Seen.")], "And?"))
    (found,) = check(request, provider="anthropic", rewritten=frozenset({"m3"}))
    assert (found.code, found.severity) == ("AN007", "warning")
    assert check(request, provider="anthropic", rewritten=frozenset({"m5"})) == ()


@given(conversations())
def test_what_is_legal_for_openai_and_begins_with_a_question_is_legal_here(line: str) -> None:
    messages = tuple(message(word, number) for number, word in enumerate(line.split(), 1))
    assert not [f for f in check(Request(messages), provider="openai") if f.severity == "error"]
    assert not [f for f in check(Request(messages), provider="anthropic") if f.severity == "error"]


def test_the_body_is_what_was_recorded() -> None:
    sent = body("Hi", [thinking("step one  \n\n"), text("Let me look."), use(city="Bern")], [result(), text("Well?")],
                system=[text("Help.", cache_control=SHORT)], thinking={"type": "enabled"},
                tools=[LOOK])  # fmt: skip
    made = anthropic.body(request_of(sent))
    assert made["system"] == sent["system"]
    assert made["tools"] == sent["tools"]
    assert made["messages"][1:] == sent["messages"][1:]
    assert made["messages"][0] == {"role": "user", "content": [text("Hi")]}
    assert (made["model"], made["thinking"]) == (sent["model"], sent["thinking"])
