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
from lagmon.exposition_format import Form, form_of
from lagmon.exposition_gzip import Checksum, Deflated, member_end, member_head
from mirrorwatch.metrics import render

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from mirrorwatch.lagging import Lagging
    from mirrorwatch.numbers import ServiceNumbers

_END = b"# EOF\n"


async def answer_scrape(
    request: web.Request, numbers: ServiceNumbers, lagging: Lagging | None
) -> web.StreamResponse:
    """Answer with all families; without those of the lag monitor while it does not answer."""
    # Fifty flows take a twentieth of a second to write down: beside the event loop, as they are now.
    own, content_type = await asyncio.to_thread(render, numbers, request.headers.get("Accept", ""))
    headers = {"Content-Type": content_type}
    if lagging is None:
        return web.Response(body=own, headers=headers)
    packed = "gzip" in request.headers.get(hdrs.ACCEPT_ENCODING, "")
    form = form_of(content_type)
    try:
        head, large = await lagging.stream("metrics", form=form.value, gzip=packed)
    except UnavailableError:
        return web.Response(body=own, headers=headers)
    if packed:
        headers[hdrs.CONTENT_ENCODING] = "gzip"
    response = web.StreamResponse(headers=headers)
    write = _write_packed if packed else _write_plain
    async with aclosing(large):
        await response.prepare(request)
        await write(response, own.removesuffix(_END), large, Checksum(**head), form)
        await response.write_eof()
    return response


async def _write_plain(
    response: web.StreamResponse, own: bytes, large: AsyncGenerator[bytes], _sum: Checksum, form: Form
) -> None:
    await response.write(own)
    async for piece in large:
        await response.write(piece)
    if form is Form.OPENMETRICS:
        await response.write(_END)


async def _write_packed(
    response: web.StreamResponse, own: bytes, large: AsyncGenerator[bytes], large_sum: Checksum, form: Form
) -> None:
    first, last = Deflated([own]), Deflated([_END] if form is Form.OPENMETRICS else [])
    await response.write(member_head() + await asyncio.to_thread(b"".join, first))
    async for piece in large:
        await response.write(piece)
    await response.write(b"".join(last) + member_end(first.checksum.then(large_sum).then(last.checksum)))
