"""The laws of the issue, for every policy and every chain of edits, over conversations with everything that real ones have.

Parallel calls, calls that wait, ids that come again, images, thinking, huge and empty messages, changed system messages:
put through the code that holds the window of a live session, request by request.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ctxeng_cli.core.budget import Edit
from ctxeng_cli.core.codec import dumps, loads
from ctxeng_cli.core.errors import Overflow
from ctxeng_cli.core.events import Entry, Event, MessageAdded, WindowEdited
from ctxeng_cli.core.history import State
from ctxeng_cli.core.messages import Image, Message, Text, Thinking, ToolCall
from ctxeng_cli.core.request import Request
from ctxeng_cli.lint import check
from ctxeng_cli.replay import Run, simulate
from ctxeng_cli.spec import Policy, parse_policy
from ctxeng_cli.transcripts.recording import recorded
from ctxeng_cli.window import Hold, Pins, Wanted, budget_of, held, shown, squeeze, start
from ctxeng_cli.window.summarize import summary_of

HUGE = "word " * 3000
TEXTS = st.sampled_from(["", "short", "some words that say little", "天气 " * 20, HUGE])


class Words:
    """A counter that a reader can follow: a word is a token, an image ten, a message one more."""

    name, exact, label, frame = "words", False, "words", "words/1"

    def text(self, text: str) -> int:
        return len(text.split())

    def message(self, message: Message) -> int:
        images = sum(isinstance(block, Image) for block in message.content)
        thought = sum(self.text(block.text) for block in message.content if isinstance(block, Thinking))
        return 4 + self.text(message.text) + 10 * images + thought + 5 * len(message.tool_calls)

    def tool(self, tool: object) -> int:
        return 20

    def tools_overhead(self, tools: object) -> int:
        return 2


COUNTER = Words()


@st.composite
def blocks(draw: st.DrawFn, thinks: bool = False) -> tuple[Text | Image | Thinking, ...]:
    text = draw(TEXTS)
    found: list[Text | Image | Thinking] = [Text(text)] if text else []
    if thinks and draw(st.integers(0, 4)) == 0:
        found.insert(0, Thinking("let me see", "c2ln"))
    if draw(st.integers(0, 6)) == 0:
        found.append(Image("data:image/png;base64,AA"))
    return tuple(found)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """A legal conversation that ends where a model is asked, now and then with a call that still waits behind it."""
    said: list[Message] = []
    for turn in range(draw(st.integers(1, 5))):
        if draw(st.integers(0, 2)) == 0:
            said.append(Message("system", (Text(f"Rules, version {turn}."),)))
        said.append(Message("user", (Text(f"q{turn}"), *draw(blocks()))))
        for round in range(draw(st.integers(0, 3))):
            ids = [f"c{n}" if draw(st.booleans()) else f"t{turn}r{round}n{n}" for n in range(draw(st.integers(1, 3)))]
            said.append(
                Message("assistant", draw(blocks(thinks=True)), tool_calls=tuple(ToolCall(id, "look", "{}") for id in ids))
            )
            said += [Message("tool", (Text(draw(TEXTS)),), tool_call_id=id, name="look") for id in draw(st.permutations(ids))]
        said.append(Message("assistant", (Text(f"a{turn}"), *draw(blocks(thinks=True)))))
    if draw(st.booleans()):
        said.append(Message("user", (Text("and now"),)))
    return said


EDITS = ("clear_tool_results=1", "cap_result=6", "offload=8", "summarize=1")


@st.composite
def policies(draw: st.DrawFn, kinds: tuple[str, ...] = ("unlimited", "none", "messages", "tokens")) -> Policy:
    """Any policy string that can be."""
    kind = draw(st.sampled_from(kinds))
    if kind in ("unlimited", "none"):
        return parse_policy(kind)
    options = [
        draw(st.sampled_from(["", "low_water=0.6"])),
        draw(st.sampled_from(["", "unit=message"])),
        draw(st.sampled_from(["overflow=keep", "overflow=truncate", ""])),
    ]
    if kind == "messages":
        options += [draw(st.sampled_from(["", "summarize=2"]))]
        return parse_policy(",".join([f"messages:{draw(st.integers(1, 9))}", *filter(None, options)]))
    options += [draw(st.sampled_from(["", "reserve=7"])), *draw(st.permutations(EDITS))[: draw(st.integers(0, 4))]]
    return parse_policy(",".join([f"tokens:{draw(st.sampled_from([30, 60, 120, 400, 4000]))}", *filter(None, options)]))


@dataclass
class Asked:
    """What one request of a driven session was: its state behind it, the events so far, and what did not fit."""

    state: State
    log: list[Entry]
    overflow: str | None
    new: tuple[Edit, ...]


def driven(said: list[Message], policy: Policy, pins: tuple[str, ...] = ()) -> Iterator[Asked]:
    """A session over a conversation: the window is held before each answer and at the end, as the engine does it."""
    state = State()
    log: list[Entry] = []
    edits: list[Edit] = []
    budget, pinned = budget_of(policy, None, None), Pins(policy.pin)
    pinned._ids |= set(pins)
    turn = 0

    def record(event: Event) -> None:
        log.append(Entry(len(log) + 1, "", turn, "a", event))
        state.apply(log[-1])
        if isinstance(event, WindowEdited):
            edits.extend(event.edits)

    def fetch(wanted: Wanted) -> str | None:
        if wanted.key in state.summaries:
            return state.summaries[wanted.key]
        made = summary_of(state.history("a"), wanted, "told in short", "test", COUNTER)  # type: ignore[arg-type]
        record(made)
        return made.hash

    for number, message in enumerate([*said, None], 1):
        history = state.history("a")
        if message is None or (message.role == "assistant" and number > 1):
            edits.clear()
            overflow = None
            first = not history.exchanges or not history.exchanges[-1].rounds
            hold = Hold(history, policy, record, COUNTER.text, state.texts, turn, pinned)
            try:
                over = held(hold.under(budget, fixed=3, first=first), fetch).over
                overflow = f"{over} over" if over else None
            except Overflow as error:
                overflow = error.message
            yield Asked(state, log, overflow, tuple(edits))
        if message is not None:
            if message.role == "user":
                turn += 1
                dropped = start(history, policy, turn)
                if dropped:
                    record(WindowEdited(edits=dropped))
            record(MessageAdded(message=message.with_id(f"m{number}"), tokens=COUNTER.message(message)))


LAW = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)


@LAW
@given(conversations(), policies())
def test_every_call_has_its_results_and_every_result_its_call(said: list[Message], policy: Policy) -> None:
    for asked in driven(said, policy):
        messages, _ = shown(asked.state.history("a"), asked.state.texts)
        wrong = [f for f in check(Request(tuple(messages))) if f.severity == "error"]
        waits = {f"m{n}" for n, m in enumerate(said, 1) if m.tool_calls} & {f.part for f in wrong}
        assert all(finding.code == "OC001" and finding.part in waits for finding in wrong) or not wrong


@LAW
@given(conversations(), policies())
def test_a_window_begins_with_a_question_or_with_a_summary_of_what_came_before(said: list[Message], policy: Policy) -> None:
    if policy.unit == "message":
        return
    for asked in driven(said, policy):
        history = asked.state.history("a")
        body = [id for id in history.window() if id != history.system]
        assert not body or history.messages[body[0]].role == "user" or said[0].role not in ("user", "system")
        messages, _ = shown(history, asked.state.texts)
        if history.summary is not None:
            assert messages[1 if history.system else 0].id == "summary"


@LAW
@given(conversations(), policies())
def test_the_running_question_and_the_newest_round_are_there(said: list[Message], policy: Policy) -> None:
    for asked in driven(said, policy):
        history = asked.state.history("a")
        users = [id for id, m in history.messages.items() if m.role == "user"]
        assert not users or users[-1] in history.window()
        systems = [id for id, m in history.messages.items() if m.role == "system"]
        assert not systems or history.window()[0] == systems[-1]


@LAW
@given(conversations(), policies())
def test_what_is_kept_is_what_was_said_unless_an_edit_says_otherwise(said: list[Message], policy: Policy) -> None:
    for asked in driven(said, policy):
        history = asked.state.history("a")
        messages, _ = shown(history, asked.state.texts)
        for message in messages:
            if message.id == "summary":
                continue
            original = said[int(message.id[1:]) - 1].with_id(message.id)
            assert message == original or message.id in history.capped
            if message.id in history.capped:
                others = [block for block in message.content if not isinstance(block, Text)]
                assert others == [block for block in original.content if not isinstance(block, Text)]


@LAW
@given(conversations(), policies())
def test_what_was_held_once_is_left_alone(said: list[Message], policy: Policy) -> None:
    for asked in driven(said, policy):
        if asked.overflow is not None:
            continue
        history = asked.state.history("a")
        events: list[Event] = []
        first = not history.exchanges or not history.exchanges[-1].rounds
        hold = Hold(history, policy, events.append, COUNTER.text, asked.state.texts, 9, Pins(()))
        held(hold.under(budget_of(policy, None, None), fixed=3, first=first), lambda wanted: None)
        assert events == []


@LAW
@given(conversations(), policies(("tokens", "messages")))
def test_the_total_with_the_reserve_is_within_the_limit_or_an_overflow_is_told(said: list[Message], policy: Policy) -> None:
    budget = budget_of(policy, None, None)
    for asked in driven(said, policy):
        history = asked.state.history("a")
        total = history.window_tokens + 3 if budget.unit == "tokens" else history.window_count
        assert asked.overflow is not None or total <= (budget.room or 0)
        weighed = sum(history.tokens[id] for id in history.window()) + history.summary_tokens
        assert history.window_tokens == weighed


@LAW
@given(conversations(), st.integers(10, 300), st.integers(0, 300), st.sampled_from(["tokens", "messages"]))
def test_a_larger_budget_never_keeps_less(said: list[Message], limit: int, more: int, kind: str) -> None:
    """Of one history: over time a smaller window may have lost rounds of a turn, so that more of later turns fits."""
    *_, last = driven(said, parse_policy("unlimited"))
    history = last.state.history("a")
    small, large = (
        {id for edit in squeeze(history, budget, fixed=3, turn=9)[0] for id in edit.messages}
        for budget in (budget_of(parse_policy(f"{kind}:{n}"), None, None) for n in (limit, limit + more))
    )
    assert large <= small


@LAW
@given(conversations(), policies())
def test_everything_is_in_the_window_or_a_ghost_with_its_reason(said: list[Message], policy: Policy) -> None:
    for asked in driven(said, policy):
        history = asked.state.history("a")
        window, ghosts = set(history.window()), set(history.ghosts)
        assert not window & ghosts
        assert window | ghosts == set(history.messages)
        for id, ghost in history.ghosts.items():
            assert ghost.op in ("evict", "summarize", "replace"), id
            assert ghost.reason.rule
            if ghost.op != "replace" and ghost.reason.rule != "window.none":
                assert ghost.reason.limit is not None
                assert (ghost.reason.measured or 0) > 0
        for id in history.capped:
            assert history.capped[id].reason.turn >= 0
            assert history.messages[id].text == said[int(id[1:]) - 1].text, "the log holds all of it"


@LAW
@given(conversations(), policies())
def test_the_log_read_back_folds_to_the_same_window(said: list[Message], policy: Policy) -> None:
    *_, last = driven(said, policy)
    again = State()
    for item in last.log:
        again.apply(loads(dumps(item)))
    before, after = last.state.history("a"), again.history("a")
    assert before.window() == after.window()
    assert (before.window_tokens, before.window_count, before.summary) == (after.window_tokens, after.window_count, after.summary)
    assert before.ghosts == after.ghosts
    after.rebuild()
    assert (before.window(), before.window_tokens) == (after.window(), after.window_tokens)


@LAW
@given(conversations(), policies())
def test_inputs_alone_give_the_same_edits_again(said: list[Message], policy: Policy) -> None:
    def edits() -> list[tuple[Edit, ...]]:
        return [asked.new for asked in driven(said, policy)]

    assert edits() == edits()


@LAW
@given(conversations(), policies(("tokens", "messages")), st.data())
def test_pins_stay_whatever_is_tried(said: list[Message], policy: Policy, data: st.DataObject) -> None:
    pins = tuple(f"m{n}" for n in data.draw(st.lists(st.integers(1, len(said)), max_size=3)))
    for asked in driven(said, policy, pins):
        history = asked.state.history("a")
        replaced = {id for id, ghost in history.ghosts.items() if ghost.op == "replace"}
        assert {id for id in pins if id in history.messages} - replaced <= set(history.window())


@settings(LAW, max_examples=25)
@given(conversations(), policies(), st.sampled_from(["openai", "anthropic", "gemini", "openai-responses"]))
def test_no_policy_makes_a_request_illegal_for_a_provider_that_was_not(
    said: list[Message], policy: Policy, provider: str
) -> None:
    """Of each provider's own rules, those of pairs and of beginnings: what a window may break."""
    codes = {"OC001", "OC002", "AN001", "AN002", "AN004", "GE001", "GE002", "GE003", "OR001", "OR002"}
    kept = [m for m in said if m.content or m.tool_calls or m.role == "tool"]
    whole = recorded("talk", kept)
    unlimited, limited = (
        [row.request for row in simulate(whole, (Run(p),), COUNTER, provider)]  # type: ignore[arg-type]
        for p in (parse_policy("unlimited"), policy)
    )
    for before, after in zip(unlimited, limited, strict=True):
        was = {f.code for f in before.lint if f.severity == "error"}
        now = {f.code for f in after.lint if f.severity == "error"}
        assert not (now - was) & codes
