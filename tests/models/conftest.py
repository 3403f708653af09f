"""One real server for the whole test run, however many workers share it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.server import llama_server


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The api_base of a real server. Tests that use it are one xdist group, so that one worker starts one server."""
    log: Path = tmp_path_factory.mktemp("llama") / "server.log"
    with llama_server(log) as address:
        yield f"{address}/v1"
