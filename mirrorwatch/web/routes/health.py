"""Routes of /metrics and of health and readiness probes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from mirrorwatch.web.routes.scrape import answer_scrape

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from mirrorwatch.failover.audit.watch import FailoverAudit
    from mirrorwatch.lag.monitor import LagMonitor
    from mirrorwatch.service.samples import ServiceSamples


def health_routes(
    samples: Callable[[], ServiceSamples],
    untried: Callable[[], Collection[str]],
    lagging: LagMonitor | None = None,
    audit: FailoverAudit | None = None,
) -> list[web.RouteDef]:
    """Return the routes; `untried` are the clusters without a connection attempt yet."""

    async def metrics(request: web.Request) -> web.StreamResponse:
        return await answer_scrape(request, samples(), lagging, audit)

    async def healthy(_request: web.Request) -> web.Response:
        return web.Response(text="mirrorwatch is running\n")

    async def ready(_request: web.Request) -> web.Response:
        missing = sorted(untried())
        if missing:
            text = f"not ready: not yet connected to {', '.join(missing)}\n"
            return web.Response(status=503, text=text)
        return web.Response(text="ready\n")

    return [web.get("/metrics", metrics), web.get("/-/healthy", healthy), web.get("/-/ready", ready)]
