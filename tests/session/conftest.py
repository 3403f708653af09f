"""The stores, and one Redis server for the tests of a process."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.places import KINDS, SHARED_KINDS, Place, place_of
from tests.session.redis_server import RedisServer


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()


@pytest.fixture(params=KINDS)
def place(
    request: pytest.FixtureRequest, tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    """Every kind of store, one after the other."""
    found = place_of(request.param, tmp_path, redis_server, monkeypatch)
    yield found
    found.clear()


@pytest.fixture(params=SHARED_KINDS)
def shared(
    request: pytest.FixtureRequest, tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Place]:
    """Every kind that two processes can have at once."""
    found = place_of(request.param, tmp_path, redis_server, monkeypatch)
    yield found
    found.clear()


@pytest.fixture
def redis_place(tmp_path: Path, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    found = place_of("redis", tmp_path, redis_server, monkeypatch)
    yield found
    found.clear()
