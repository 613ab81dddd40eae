"""Answers one scrape: the service's own series, then the large families of the lag monitor.

The large families arrive in pieces and are forwarded at once: as a whole they would block the event loop for
0.1 s.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

from aiohttp import hdrs, web

from fleet.errors import UnavailableError
from lagmon.exposition.compression import Checksum
from lagmon.exposition.format import form_of
from lagmon.exposition.joining import around, around_packed, joined
from mirrorwatch.service.metrics import render
from runtime.http.guards import cut

if TYPE_CHECKING:
    from mirrorwatch.failover.audit.watch import FailoverAudit
    from mirrorwatch.lag.monitor import LagMonitor
    from mirrorwatch.service.samples import ServiceSamples


async def answer_scrape(
    request: web.Request,
    samples: ServiceSamples,
    lagging: LagMonitor | None,
    audit: FailoverAudit | None = None,
) -> web.StreamResponse:
    """Answer with all families; without those of the lag monitor or the audit if it does not answer."""
    # Rendering fifty flows takes 0.05 s, so it runs in a thread.
    own, content_type = await asyncio.to_thread(render, samples, request.headers.get("Accept", ""))
    if audit is not None:
        form = form_of(content_type)
        own = b"".join(joined(own, [await audit.series(form)], form))
    headers = {"Content-Type": content_type}
    if lagging is None or not lagging.on:
        return web.Response(body=own, headers=headers)
    packed = takes_gzip(request.headers.get(hdrs.ACCEPT_ENCODING, ""))
    form = form_of(content_type)
    try:
        head, large = await lagging.stream("metrics", form=form.value, gzip=packed)
    except UnavailableError:
        return web.Response(body=own, headers=headers)
    if packed:
        headers[hdrs.CONTENT_ENCODING] = "gzip"
    if request.method == hdrs.METH_HEAD:  # a stream would follow the headers
        await large.aclose()
        return web.Response(headers=headers)
    response = web.StreamResponse(headers=headers)
    if packed:
        before, end = await asyncio.to_thread(around_packed, own, form)
        after = end(Checksum(**head))
    else:
        before, after = around(own, form)
    async with aclosing(large):
        await response.prepare(request)
        try:
            await response.write(before)
            async for piece in large:
                await response.write(piece)
        except UnavailableError:  # a truncated body must not look complete
            cut(request)
        await response.write_eof(after)
    return response


def takes_gzip(accepted: str) -> bool:
    """Return whether an Accept-Encoding accepts gzip, also by its quality."""
    for one in accepted.lower().split(","):
        name, *parameters = (part.strip() for part in one.split(";"))
        if name == "gzip":
            return not any(part.startswith("q=") and not part[2:].strip("0.") for part in parameters)
    return False
