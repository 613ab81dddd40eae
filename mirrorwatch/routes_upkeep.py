"""What the service answers to Prometheus and to whoever looks after its process."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiohttp import web

from mirrorwatch.metrics import Exposition

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from mirrorwatch.numbers import ServiceNumbers


def upkeep_routes(
    numbers: Callable[[], ServiceNumbers], untried: Callable[[], Collection[str]]
) -> list[web.RouteDef]:
    """Return the routes of /metrics and of the two probes; `untried` are the clusters not tried yet."""

    async def metrics(request: web.Request) -> web.Response:
        # Fifty flows take a twentieth of a second to write down: beside the event loop, as they are now.
        seen = numbers()
        exposition = Exposition(lambda: seen)
        body, content_type = await asyncio.to_thread(exposition.render, request.headers.get("Accept", ""))
        return web.Response(body=body, headers={"Content-Type": content_type})

    async def healthy(_request: web.Request) -> web.Response:
        return web.Response(text="mirrorwatch is running\n")

    async def ready(_request: web.Request) -> web.Response:
        missing = sorted(untried())
        if missing:
            text = f"not ready: {', '.join(missing)} not tried yet\n"
            return web.Response(status=503, text=text)
        return web.Response(text="ready\n")

    return [web.get("/metrics", metrics), web.get("/-/healthy", healthy), web.get("/-/ready", ready)]
