"""Logs in Redis: a list for each session. `redis://[user:password@]host:port/db[?prefix=NAME]`, or `rediss://`.

Writers are kept apart by a key that holds a token, the process and its machine, and that expires unless it is renewed; a
lock of a dead process of this machine is recognised and taken over. Each line is pushed by a script that looks at the
token first: who has lost the lock can't write any more. A lock that only expired (a laptop slept) is taken again by the
same script, if nobody has written since.

An answer may get lost after the server has pushed a line; then the line counts as not written, and the script takes it
back before it pushes the next one.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote, urlencode, urlsplit, urlunsplit

from ctxeng_cli.core.errors import SessionError
from ctxeng_cli.session.stores.file import keep_file
from ctxeng_cli.session.stores.lock import POLL_S, now, taken
from ctxeng_cli.session.stores.store import checked_id, parse_log

LEASE_MS = 30_000
"""How long a lock lives that nobody renews: a writer on another machine that died holds a session no longer."""
TIMEOUT_S = 5.0
PREFIX = "ctxeng"
_APPEND = """
local lock, log, sessions, written = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local held, id, lines, version, lease, line = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5], ARGV[6]
local holder = redis.call('get', lock)
if holder ~= held then
  if holder then return -1 end
  if (redis.call('zscore', sessions, id) or '') ~= version then return -2 end
  redis.call('set', lock, held, 'px', lease)
end
local there = redis.call('llen', log)
if there < lines then return -2 end
if there > lines and lines == 0 then redis.call('del', log) end
if there > lines and lines > 0 then redis.call('ltrim', log, 0, lines - 1) end
redis.call('rpush', log, line)
local new = redis.call('incr', written)
redis.call('zadd', sessions, new, id)
return new
"""
"""Answers the session's new version, which no two appends share; -1 where another has the lock, -2 where the log is not the
one that this process left."""
_DISCARD = """
local holder = redis.call('get', KEYS[1])
if holder == ARGV[1] or (not holder and (redis.call('zscore', KEYS[3], ARGV[2]) or '') == ARGV[3]) then
  redis.call('del', KEYS[2])
  redis.call('zrem', KEYS[3], ARGV[2])
end
"""
_RENEW = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('pexpire', KEYS[1], ARGV[2]) end return 0"
_RELEASE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0"
T = TypeVar("T")


class RedisLog:
    def __init__(self, store: RedisStore, id: str, held: str, lines: list[bytes], version: str) -> None:
        self._store, self._id, self._held, self._lines, self._version = store, id, held, len(lines), version
        self.loaded = parse_log(_joined(lines))
        self.place = store.place(id)
        self._keys = [store.key("lock", id), store.key("log", id), store.key("sessions"), store.key("written")]
        self._done = threading.Event()
        threading.Thread(target=self._renew, name="redis lock", daemon=True).start()

    def _renew(self) -> None:
        """Keep the lock for as long as the log is open; while Redis is away there is nothing to renew."""
        while not self._done.wait(LEASE_MS / 3000):
            with contextlib.suppress(SessionError):
                self._store.script(_RENEW, self._keys[:1], [self._held, LEASE_MS])

    def append(self, line: str) -> None:
        store, id = self._store, self._id
        said = [self._held, id, self._lines, self._version, LEASE_MS, line.encode("utf-8")]
        new = store.script(_APPEND, self._keys, said)
        if new == -1:
            raise SessionError(f"session {id} is no longer locked by this process, so nothing was written. Open it again.")
        if new == -2:
            raise SessionError(
                f"session {id} is not in {store.name} as this process left it (another one has written it, or Redis has lost "
                "it), so nothing was written. Open it again."
            )
        self._lines, self._version = self._lines + 1, str(new)

    def sync(self) -> None:
        """As durable as the server's own settings make it (appendfsync)."""

    def close(self, *, discard: bool = False) -> None:
        if self._done.is_set():
            return
        self._done.set()
        try:
            if discard:
                self._store.script(_DISCARD, self._keys, [self._held, self._id, self._version])
        finally:
            with contextlib.suppress(SessionError):  # then it expires
                self._store.script(_RELEASE, self._keys[:1], [self._held])


class RedisStore:
    """All sessions in one database of a Redis server. Connects when it is first asked."""

    def __init__(self, url: str, data: Path) -> None:
        """`url` is one in which `spec.keys.redis_problem` finds nothing wrong."""
        parts = urlsplit(url)
        options = parse_qs(parts.query)
        self._prefix = options.pop("prefix", [PREFIX])[-1]
        self._url = urlunsplit(parts._replace(query=urlencode(options, doseq=True)))
        database = parts.path.strip("/") or options.get("db", ["0"])[-1]
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        self.name = f"{parts.scheme}://{host}:{parts.port or 6379}/{database}"
        """Where it is: host, port, database and the keys' prefix. A password, wherever it stands, belongs in no message."""
        if self._prefix != PREFIX:
            self.name += f"?prefix={self._prefix}"
        self._folder = data / "stores" / "redis" / quote(self.name.partition("//")[2], safe="")
        self._client: Any = None

    def place(self, id: str) -> str:
        return self.name

    def key(self, *names: str) -> str:
        return ":".join((self._prefix, *names))

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
        except redis.RedisError as error:
            raise SessionError(f"the store {self.name} answered: {error}") from None
        except (TypeError, ValueError) as error:  # an option behind the ? of its address
            raise SessionError(f"the store {self.name} can't be set up: {error}") from None

    def script(self, text: str, keys: list[str], arguments: list[Any]) -> Any:
        return self.ask(lambda client: client.eval(text, len(keys), *keys, *arguments))

    def ids(self) -> list[str]:
        return [id.decode("utf-8", "replace") for id in self.ask(lambda client: client.zrevrange(self.key("sessions"), 0, -1))]

    def _lines(self, id: str) -> list[bytes]:
        return self.ask(lambda client: list(client.lrange(self.key("log", id), 0, -1)))

    def data(self, id: str) -> bytes | None:
        return _joined(self._lines(id)) or None

    def head(self, id: str) -> bytes | None:
        found: bytes | None = self.ask(lambda client: client.lindex(self.key("log", id), 0))
        return found

    def open(self, id: str, *, wait: bool = False, waiting: Callable[[str], None] = lambda holder: None) -> RedisLog:
        key = self.key("lock", checked_id(id))
        machine = {"host": socket.gethostname(), "pids": _pids(), "pid": os.getpid()}
        held = json.dumps({**machine, "since": now(), "token": secrets.token_hex(8)})
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
            version = self.ask(lambda client: client.zscore(self.key("sessions"), id))
            return RedisLog(self, id, held, self._lines(id), "" if version is None else str(int(version)))
        except BaseException:
            self.script(_RELEASE, [key], [held])
            raise

    @staticmethod
    def _is_dead(holder: bytes) -> bool:
        """Whether a lock's holder was a process of this machine that is no more. Another machine's has to expire."""
        try:
            body = json.loads(holder)
            if (body["host"], body["pids"]) != (socket.gethostname(), _pids()):
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


def _joined(lines: list[bytes]) -> bytes:
    return b"".join(line + b"\n" for line in lines)


def _pids() -> str:
    """Whose numbers this machine's processes have: two containers may have one host name, and both a process 7."""
    try:
        return os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


def _told(holder: bytes) -> str:
    try:
        body = json.loads(holder)
        where = "" if body["host"] == socket.gethostname() else f" on {body['host']}"
        return f"process {int(body['pid'])}{where} since {str(body['since'])[11:16]}"
    except (ValueError, KeyError, TypeError):
        return "another process"
