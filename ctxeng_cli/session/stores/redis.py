"""Logs in Redis: a list for each session. `redis://[user:password@]host:port/db`, or `rediss://`.

Writers are kept apart by a key that holds a token, the process and the host, and that expires unless it is renewed; a
lock of a dead process of this machine is recognised and taken over. Each line is pushed by a script that looks at the
token first: who has lost the lock can't write any more.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from ctxeng_cli.core.errors import SessionError
from ctxeng_cli.session.stores.file import keep_file
from ctxeng_cli.session.stores.lock import POLL_S, now, taken
from ctxeng_cli.session.stores.store import Loaded, checked_id, parse_log

LEASE_MS = 30_000
"""How long a lock lives that nobody renews: a writer on another machine that died holds a session no longer."""
TIMEOUT_S = 5.0
_APPEND = """
if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('rpush', KEYS[2], ARGV[2])
redis.call('zadd', KEYS[3], redis.call('incr', KEYS[4]), ARGV[3])
return 1
"""
_RENEW = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"
_RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
T = TypeVar("T")


class RedisLog:
    def __init__(self, store: RedisStore, id: str, held: str, loaded: Loaded) -> None:
        self._store, self._id, self._held, self.loaded = store, id, held, loaded
        self.place = store.name
        self._done = threading.Event()
        threading.Thread(target=self._renew, name="redis lock", daemon=True).start()

    def _renew(self) -> None:
        """Keep the lock for as long as the log is open; while Redis is away there is nothing to renew."""
        while not self._done.wait(LEASE_MS / 3000):
            with contextlib.suppress(SessionError):
                self._store.script(_RENEW, [self._store.key("lock", self._id)], [self._held, LEASE_MS])

    def append(self, line: str) -> None:
        store, id = self._store, self._id
        keys = [store.key("lock", id), store.key("log", id), store.key("sessions"), store.key("written")]
        if not store.script(_APPEND, keys, [self._held, line.encode("utf-8", "surrogatepass"), id]):
            raise SessionError(f"session {id} is no longer locked by this process, so nothing was written. Open it again.")

    def sync(self) -> None:
        """As durable as the server's own settings make it (appendfsync)."""

    def close(self, *, discard: bool = False) -> None:
        self._done.set()
        store, id = self._store, self._id
        with contextlib.suppress(SessionError):
            if discard:
                store.ask(lambda client: client.delete(store.key("log", id)))
                store.ask(lambda client: client.zrem(store.key("sessions"), id))
            store.script(_RELEASE, [store.key("lock", id)], [self._held])


class RedisStore:
    """All sessions in one database of a Redis server. Connects when it is first asked."""

    def __init__(self, url: str, data: Path) -> None:
        self._url, self._folder = url, data / "stores" / "redis"
        self.name = re.sub(r"//[^@/]*@", "//", url)
        """The address without what stands before its @: a password belongs in no message."""
        self._client: Any = None

    def key(self, *names: str) -> str:
        return ":".join(("ctxeng", *names))

    def ask(self, act: Callable[[Any], T]) -> T:
        """What the server answers. Raises SessionError, in words."""
        try:
            import redis
        except ImportError:
            raise SessionError("a store in Redis needs the library redis: pip install 'ctxeng-cli[redis]'") from None
        try:
            if self._client is None:
                self._client = redis.Redis.from_url(
                    self._url, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S, decode_responses=False
                )
            return act(self._client)
        except (redis.AuthenticationError, redis.exceptions.NoPermissionError) as error:
            raise SessionError(f"the store {self.name} refuses this user: {error}") from None
        except redis.ConnectionError:
            raise SessionError(
                f"the store {self.name} can't be reached. Start Redis there, or name another store under memory.store."
            ) from None
        except redis.TimeoutError:
            raise SessionError(f"the store {self.name} did not answer within {TIMEOUT_S:g} s") from None
        except (redis.RedisError, ValueError) as error:
            raise SessionError(f"the store {self.name} answered: {error}") from None

    def script(self, text: str, keys: list[str], arguments: list[Any]) -> Any:
        return self.ask(lambda client: client.eval(text, len(keys), *keys, *arguments))

    def ids(self) -> list[str]:
        return [id.decode("utf-8") for id in self.ask(lambda client: client.zrevrange(self.key("sessions"), 0, -1))]

    def data(self, id: str) -> bytes | None:
        lines: list[bytes] = self.ask(lambda client: client.lrange(self.key("log", id), 0, -1))
        return b"".join(line + b"\n" for line in lines) if lines else None

    def head(self, id: str) -> bytes | None:
        found: bytes | None = self.ask(lambda client: client.lindex(self.key("log", id), 0))
        return found

    def open(self, id: str, *, wait: bool = False, waiting: Callable[[str], None] = lambda holder: None) -> RedisLog:
        key = self.key("lock", checked_id(id))
        held = json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": now(), "token": secrets.token_hex(8)})
        told = False
        while not self.ask(lambda client: client.set(key, held, nx=True, px=LEASE_MS)):
            holder = self.ask(lambda client: client.get(key))
            if holder is None or self._is_dead(holder):
                self.script(_RELEASE, [key], [holder or b""])
                continue
            who = _told(holder)
            if not wait:
                raise SessionError(taken(id, who))
            if not told:
                waiting(f"session {id} is open in {who}; waiting")
                told = True
            threading.Event().wait(POLL_S)
        try:
            return RedisLog(self, id, held, parse_log(self.data(id) or b""))
        except BaseException:
            self.script(_RELEASE, [key], [held])
            raise

    @staticmethod
    def _is_dead(holder: bytes) -> bool:
        """Whether a lock's holder was a process of this machine that is no more. Another machine's has to expire."""
        try:
            body = json.loads(holder)
            if body["host"] != socket.gethostname():
                return False
            os.kill(int(body["pid"]), 0)
        except ProcessLookupError:
            return True
        except (ValueError, KeyError, TypeError, OSError):
            return False
        return False

    def keep(self, id: str, handle: str, text: str) -> None:
        keep_file(self._folder / "offloaded" / checked_id(id), handle, text)

    def forget(self, id: str) -> None:
        shutil.rmtree(self._folder / "offloaded" / checked_id(id), ignore_errors=True)


def _told(holder: bytes) -> str:
    try:
        body = json.loads(holder)
        where = "" if body["host"] == socket.gethostname() else f" on {body['host']}"
        return f"process {int(body['pid'])}{where} since {str(body['since'])[11:16]}"
    except (ValueError, KeyError, TypeError):
        return "another process"
