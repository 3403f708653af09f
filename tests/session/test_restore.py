"""What has left the window can be brought back: with all that belongs to it, and it stays."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from ctxeng_cli.core.errors import UsageError
from ctxeng_cli.session import FileStore, Session, open_session
from ctxeng_cli.session.open import Overrides
from ctxeng_cli.spec import load, parse_policy
from tests.commands import ROOT


def opened(folder: Path, window: str) -> Session:
    over = Overrides(policy=parse_policy(window))
    return open_session(load(ROOT / "agents.yaml"), "guide", store=FileStore(folder), id="s", environ={}, overrides=over)


def window(session: Session) -> tuple[str, ...]:
    return session.wires.history(session.agent).window()


def test_a_ghost_comes_back_with_its_exchange_and_stays(tmp_path: Path) -> None:
    session = opened(tmp_path, "messages:6")
    for text in ("My dog is called Waldi.", "Thanks", "What is a ghost?", "What is a unit?"):
        asyncio.run(session.say(text))
    assert "m2" not in window(session)
    assert session.restore("m2") == ("m2", "m3")
    assert window(session)[:3] == ("m1", "m2", "m3")
    answer = asyncio.run(session.say("What is my dog called?"))
    assert "Waldi" in answer.text
    for text in ("What is a token?", "What is a policy?"):
        asyncio.run(session.say(text))
    assert window(session)[:3] == ("m1", "m2", "m3")
    session.close()
    again = opened(tmp_path, "messages:6")
    asyncio.run(again.say("And what is eviction?"))
    assert window(again)[:3] == ("m1", "m2", "m3"), "after a restart too"
    again.close()


@pytest.mark.parametrize(
    ("id", "told"), [("m1", "m1 is in the window"), ("m99", "there is no ghost m99"), ("x", "nothing has left")]
)
def test_what_is_no_ghost_is_told(tmp_path: Path, id: str, told: str) -> None:
    session = opened(tmp_path, "messages:9")
    asyncio.run(session.say("Hello"))
    with pytest.raises(UsageError, match=told):
        session.restore(id)
    session.close()
