"""Answer one scrape: what the service tells by itself, then the large families of the lag monitor.

The text of the large families comes in pieces and is passed on as it comes: in one go it would hold up the
event loop for a tenth of a second, and the canary's books with it.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import TYPE_CHECKING

from aiohttp import hdrs, web

from fleet.errors import UnavailableError
from lagmon.exposition.compression import Checksum
from lagmon.exposition.format import form_of
from lagmon.exposition.joining import around, around_packed
from mirrorwatch.service.metrics import render
from runtime.http.guards import cut

if TYPE_CHECKING:
    from mirrorwatch.lag.monitor import LagMonitor
    from mirrorwatch.service.samples import ServiceSamples


async def answer_scrape(
    request: web.Request, samples: ServiceSamples, lagging: LagMonitor | None
) -> web.StreamResponse:
    """Answer with all families; without those of the lag monitor while it does not answer."""
    # Fifty flows take a twentieth of a second to write down: beside the event loop, as they are now.
    own, content_type = await asyncio.to_thread(render, samples, request.headers.get("Accept", ""))
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
    if request.method == hdrs.METH_HEAD:  # what is streamed would follow the headers
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
        except UnavailableError:  # a body that ends here must not look whole
            cut(request)
        await response.write_eof(after)
    return response


def takes_gzip(accepted: str) -> bool:
    """Tell whether an Accept-Encoding asks for gzip, and does not refuse it by a quality of 0."""
    for one in accepted.lower().split(","):
        name, *parameters = (part.strip() for part in one.split(";"))
        if name == "gzip":
            return not any(part.startswith("q=") and not part[2:].strip("0.") for part in parameters)
    return False
