"""One Redis server for the tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.session.redis_server import RedisServer


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.stop()
