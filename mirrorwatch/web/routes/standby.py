"""The answers of a standby: its own health and series; everything else comes from the leader.

Its `/metrics` has no series of flows: rules over all replicas count nothing twice.
"""

from __future__ import annotations

import asyncio
from http import HTTPStatus
from typing import TYPE_CHECKING

import aiohttp
from aiohttp import hdrs, web

from mirrorwatch.service.metrics import render
from runtime.http.audit import FORWARDED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from aiohttp.typedefs import Middleware

    from mirrorwatch.service.leading import Leading
    from mirrorwatch.service.samples import ServiceSamples

_LEADER_S = 25.0  # less than the limit of a whole request
_HEALTHY, _READY, _METRICS = "/-/healthy", "/-/ready", "/metrics"
# Of one connection, not of the message (RFC 9110, 7.6.1), and what the client sets itself.
_HOP = frozenset(
    {"connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "host", "content-length"}
)


def standby_answers(
    leading: Leading, *, works: Callable[[], bool], samples: Callable[[], ServiceSamples]
) -> Middleware:
    """Return a middleware that answers while this replica does not work; `works`: it does."""

    @web.middleware
    async def middleware(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        if works() or request.path == _HEALTHY:
            return await handler(request)
        if request.path == _METRICS:
            body, content_type = await asyncio.to_thread(render, samples(), request.headers.get("Accept", ""))
            return web.Response(body=body, headers={"Content-Type": content_type})
        if request.path == _READY:
            return _ready(leading)
        return await _forwarded(request, leading)

    return middleware


def _ready(leading: Leading) -> web.Response:
    """Answer whether this replica could take over: it has seen the store."""
    if leading.leader is None:
        return web.Response(status=HTTPStatus.SERVICE_UNAVAILABLE, text="not ready: it sees no leader yet\n")
    return web.Response(text="ready: on standby\n")


async def _forwarded(request: web.Request, leading: Leading) -> web.StreamResponse:
    """Return the leader's answer to a request."""
    leader = leading.leader
    url = "" if leader is None or leading.leads else leader.facts.get("url", "")
    if not url or FORWARDED in request.headers:
        raise _unavailable("this replica is about to lead; try again")
    if not request.raw_path.startswith("/"):  # an absolute address would become part of the leader's host
        raise web.HTTPBadRequest(text="The address of the request must be a path.\n")
    headers = {name: value for name, value in request.headers.items() if name.lower() not in _HOP}
    headers[FORWARDED] = leading.replica
    body = await request.read() if request.can_read_body else None
    timeout = aiohttp.ClientTimeout(total=_LEADER_S, sock_connect=2.0)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session,
            session.request(
                request.method,
                url + request.raw_path,
                headers=headers,
                skip_auto_headers=(hdrs.ACCEPT, hdrs.ACCEPT_ENCODING, hdrs.USER_AGENT),
                data=body,
                allow_redirects=False,
            ) as answer,
        ):
            kept = {name: value for name, value in answer.headers.items() if name.lower() not in _HOP}
            response = web.StreamResponse(status=answer.status, headers=kept)
            await response.prepare(request)
            async for piece in answer.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        raise _unavailable(f"the leader at {url} does not answer; this replica takes over soon") from error


def _unavailable(sentence: str) -> web.HTTPServiceUnavailable:
    return web.HTTPServiceUnavailable(text=f"{sentence}\n", headers={hdrs.RETRY_AFTER: "1"})
