"""The sentences that panels and plain lines share. No rich, no width; what comes out is not yet safe."""

from __future__ import annotations

from ctxeng_cli.core.budget import Edit, Reason
from ctxeng_cli.core.events import Finding, Source, StageFinished
from ctxeng_cli.core.messages import Image
from ctxeng_cli.core.view import Context
from ctxeng_cli.screen.drawables import Answered, Opened

GONE = ("evicted", "summarized", "replaced", "dropped")
"""States of parts that are not in the request."""

DONE = {
    "evict": "evicted", "clear": "cleared", "cap": "shortened", "offload": "offloaded", "summarize": "summarized",
    "replace": "replaced", "restore": "restored", "drop": "dropped",
}  # fmt: skip

ORDER = (
    "tools",
    "system",
    "summary",
    "context",
    "retrieved",
    "format",
    "history",
    "user",
    "tool_call",
    "tool_result",
    "overhead",
)


def kind_tokens(view: Context) -> dict[str, int]:
    """Tokens by kind of the parts that are in, in the order of the bar."""
    sums: dict[str, int] = {}
    for part in view.parts:
        if part.state not in GONE and part.tokens > 0:
            sums[part.kind] = sums.get(part.kind, 0) + part.tokens
    order = [*ORDER, *(kind for kind in sums if kind not in ORDER)]
    return {kind: sums[kind] for kind in order if kind in sums}


def figures(view: Context) -> str:
    """Used, limit, share, and what is free or over."""
    budget = view.budget
    unit, limit, used = str(budget.get("unit", "tokens")), budget.get("limit"), int(budget.get("used") or 0)
    besides = f", {sum(kind_tokens(view).values()):,} tokens" if unit != "tokens" else ""
    if not limit:
        return f"{used:,} {unit}{besides}, no limit"
    free = free_of(view)
    rest = f"{free:,} free" if free >= 0 else f"{-free:,} OVER"
    reserve = f", reserve {int(budget['reserve']):,}" if budget.get("reserve") else ""
    return f"{used:,} of {int(limit):,} {unit} ({used / int(limit):.0%}){besides}{reserve}, {rest}"


def free_of(view: Context) -> int:
    """What is left of the limit in the budget's unit; negative where the request is over it, 0 without a limit."""
    budget = view.budget
    if not budget.get("limit"):
        return 0
    if budget.get("free") is not None:
        return int(budget["free"])
    return int(budget["limit"]) - int(budget.get("used") or 0) - int(budget.get("reserve") or 0)


def is_exact(view: Context) -> bool:
    """Whether the count is the model's own: its encoding, and neither tools nor images, which follow a formula."""
    images = any(isinstance(block, Image) for message in view.messages for block in message.content)
    return view.exact and not view.tools and not images


def calibrated(view: Context, times: str) -> str:
    """` (×1.08 from 12 calls)`: what the counts weigh in the tokens that the model reported, where it reported any."""
    found = view.calibration
    calls = "1 call" if found.calls == 1 else f"{found.calls:,} calls"
    return f" ({times}{found.ratio:.2f} from {calls})" if found.calls else ""


def source_label(source: Source, message: str | None = None) -> str:
    """Where a part comes from in one word: file and line, key, hook, or message."""
    if source.file:
        return source.file + (f":{source.line}" if source.line else "")
    return source.key or (f"hook {source.hook}" if source.hook else "") or source.message or message or ""


def reason_text(reason: Reason) -> str:
    """`window.tokens: measured 1,234 > 1,000, turn 3`."""
    if reason.measured is not None and reason.limit is not None:
        sign = ">" if reason.measured > reason.limit else "of"
        return f"{reason.rule}: measured {reason.measured:,} {sign} {reason.limit:,}, turn {reason.turn}"
    limit = f" limit {reason.limit:,}," if reason.limit is not None else ""
    measured = f" measured {reason.measured:,}," if reason.measured is not None else ""
    return f"{reason.rule},{limit}{measured} turn {reason.turn}"


def edit_text(edit: Edit) -> str:
    """`evicted 2 messages, 240 tokens, by window.tokens: …`."""
    count = len(edit.messages)
    messages = "1 message" if count == 1 else f"{count:,} messages" if count else "the summary"
    return f"{DONE.get(edit.op, edit.op)} {messages}, {edit.tokens:,} tokens, by {reason_text(edit.reason)}"


def stage_text(stage: StageFinished, arrow: str) -> str:
    """`system 0→120 in 0.2 ms`, or that the stage changed nothing."""
    if not stage.changed:
        return f"{stage.stage} {stage.tokens_after:,} unchanged"
    return f"{stage.stage} {stage.tokens_before:,}{arrow}{stage.tokens_after:,} in {stage.duration_ms:,.1f} ms"


def finding_text(finding: Finding) -> str:
    """A lint finding with the provider's words as a prediction."""
    return f"{finding.severity} {finding.code}: {finding.message}{says(finding)}"


def says(finding: Finding) -> str:
    """The provider's refusal as we predict it, or nothing."""
    return f" The provider would say: {finding.provider_says}" if finding.provider_says else ""


def opened_text(opened: Opened) -> str:
    """What a session is about."""
    return f"session {opened.session}, agent {opened.agent}, model {opened.model}, window {opened.policy}"


def answered_words(answered: Answered) -> list[str]:
    """Usage, cost, duration, and how the answer ended where that is worth a word."""
    usage = answered.usage
    words = [f"{usage.input:,} in", f"{usage.output:,} out"]
    words += [f"{usage.cached:,} cached"] if usage.cached else []
    words += [f"{usage.cache_write:,} written to the cache"] if usage.cache_write else []
    words += [f"${answered.cost:,.4f}"] if answered.cost is not None else []
    words += [f"{answered.duration_s:,.1f} s"]
    words += [f"answered by {answered.served}, another model than was asked for"] if answered.served else []
    return [*words, answered.finish_reason] if answered.finish_reason not in ("stop", "tool_calls", "") else words
