"""Bounds of what clients may take at a time: connections, requests, failed sign-ins.

One address may take half of the connections and requests: the others are left for Prometheus.
"""

from __future__ import annotations

import ipaddress
import socket
import weakref
from collections import Counter, OrderedDict, deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from aiohttp import hdrs, web

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp.typedefs import Handler, Middleware

CONNECTIONS = 300  # with 0.5 MB of headers each, they take 0.3 GB
REQUESTS = 200
_SOURCES = 4096
_HEALTHY = "/-/healthy"  # a liveness probe that fails under load would restart the service
_SUBNET_BITS = 64  # of IPv6: one machine has all of them


def source_of(address: str | None) -> str:
    """Return the address, or its network if it is one of IPv6."""
    with suppress(ValueError):
        parsed = ipaddress.ip_address((address or "").partition("%")[0])
        if parsed.version == 6:
            return str(ipaddress.ip_network((parsed, _SUBNET_BITS), strict=False))
    return address or ""


class Shares:
    """Places to take and give back: `most` in all, half of them by one source."""

    def __init__(self, most: int) -> None:
        self._most, self._each = most, max(1, most // 2)
        self._taken: Counter[str] = Counter()
        self._all = 0

    def take(self, source: str) -> bool:
        """Take a place; False if none is left for this source."""
        if self._all >= self._most or self._taken[source] >= self._each:
            return False
        self._taken[source] += 1
        self._all += 1
        return True

    def give_back(self, source: str) -> None:
        """Give a place back."""
        self._all -= 1
        self._taken[source] -= 1
        if not self._taken[source]:
            del self._taken[source]


class Failures:
    """Counts failures by source in the last `per_s`; the sources silent for the longest are forgotten."""

    def __init__(self, most: int, *, per_s: float) -> None:
        self._most, self._per_ns = most, int(per_s * 1e9)
        self._at_ns: OrderedDict[str, deque[int]] = OrderedDict()

    def wait_s(self, source: str, now_ns: int) -> float:
        """Return the seconds until this source may try again, or 0."""
        at_ns = self._at_ns.get(source)
        if at_ns is None or len(at_ns) < self._most:
            return 0.0
        return max(0.0, (at_ns[0] + self._per_ns - now_ns) / 1e9)

    def add(self, source: str, now_ns: int) -> None:
        """Count a failure."""
        self._at_ns.setdefault(source, deque(maxlen=self._most)).append(now_ns)
        self._at_ns.move_to_end(source)
        if len(self._at_ns) > _SOURCES:
            self._at_ns.popitem(last=False)


class BoundedSocket(socket.socket):
    """A listening socket that closes connections at once if too many are open.

    They are counted here because a connection whose TLS handshake never ends is known nowhere above. `shares`
    and `refused` are set before it listens.
    """

    shares: Shares
    refused: Callable[[], None]

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection; raises ConnectionAbortedError if it was closed at once."""
        plain, address = super().accept()
        source = source_of(address[0])
        if not self.shares.take(source):
            plain.close()
            self.refused()
            raise ConnectionAbortedError
        one = _Counted(plain.family, plain.type, plain.proto, fileno=plain.detach())
        one.give_back = weakref.finalize(one, self.shares.give_back, source)
        one.give_back.atexit = False
        return one, address


class _Counted(socket.socket):
    """A connection that gives its place back when it is closed, or was lost."""

    give_back: weakref.finalize[Any, _Counted]

    def close(self) -> None:
        super().close()
        self.give_back()


def few_at_once(shares: Shares) -> Middleware:
    """Answer 429 to a request while too many others are being answered."""

    @web.middleware
    async def middleware(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path == _HEALTHY:
            return await handler(request)
        source = source_of(request.remote)
        if not shares.take(source):
            raise web.HTTPTooManyRequests(
                text="Too many requests at once; try again in 1 s.\n", headers={hdrs.RETRY_AFTER: "1"}
            )
        try:
            return await handler(request)
        finally:
            shares.give_back(source)

    return middleware
