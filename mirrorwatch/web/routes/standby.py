"""The answers of a standby: its own health and series; everything else comes from a replica with a shard.

Its `/metrics` has no series of flows: rules over all replicas count nothing twice.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

from aiohttp import hdrs, web

from fleet.errors import UnavailableError
from mirrorwatch.service.metrics import render
from mirrorwatch.web.replicas.forwarding import PART, NotReachedError
from runtime.http.audit import FORWARDED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aiohttp.typedefs import Middleware

    from mirrorwatch.service.samples import ServiceSamples
    from mirrorwatch.web.replicas.forwarding import Forwarder
    from mirrorwatch.web.replicas.peers import Holders

_HEALTHY, _READY, _METRICS = "/-/healthy", "/-/ready", "/metrics"


def standby_answers(
    holders: Holders,
    forwarder: Forwarder,
    *,
    works: Callable[[], bool],
    sees: Callable[[], bool],
    samples: Callable[[], ServiceSamples],
) -> Middleware:
    """Return a middleware that answers while this replica does not work; `works`: it does.

    `sees`: the store answers it.
    """

    @web.middleware
    async def middleware(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if works() or request.path == _HEALTHY:
            return await handler(request)
        if request.path == _METRICS:
            body, content_type = await asyncio.to_thread(render, samples(), request.headers.get("Accept", ""))
            return web.Response(body=body, headers={"Content-Type": content_type})
        urls = _urls(holders)
        if request.path == _READY:
            return _ready(sees=sees(), leader=bool(urls) or holders.shard is not None)
        return await _forwarded(request, urls, forwarder)

    return middleware


def _urls(holders: Holders) -> list[str]:
    """Return the addresses of the replicas that work; not the own one, which is about to."""
    mine = holders.shard
    numbers = range(1, holders.count + 1)
    found = (holders.url(number) for number in numbers if mine is None or number != mine.number)
    return [url for url in found if url]


def _ready(*, sees: bool, leader: bool) -> web.Response:
    """Answer whether this replica could take over: it sees the leases."""
    if sees and leader:
        return web.Response(text="ready: on standby\n")
    why = "it sees no leader yet" if sees else "the store does not answer"
    return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text=f"not ready: {why}\n")


async def _forwarded(request: web.Request, urls: list[str], forwarder: Forwarder) -> web.StreamResponse:
    """Return the answer of the first replica that is reached: each answers for all shards."""
    if PART in request.headers:
        raise _unavailable("this replica is on standby; it watches no shard")
    if not urls or FORWARDED in request.headers:
        raise _unavailable("this replica does not lead at the moment; try again")
    for url in urls:
        try:
            return await forwarder.forward(request, url)
        except NotReachedError:
            continue
        except UnavailableError as error:
            raise _unavailable(f"no leader answers: {error}; try again") from error
    raise _unavailable(f"the leader at {', '.join(urls)} does not answer; this replica takes over soon")


def _unavailable(sentence: str) -> web.HTTPServiceUnavailable:
    return web.HTTPServiceUnavailable(text=f"{sentence}\n", headers={hdrs.RETRY_AFTER: "1"})
