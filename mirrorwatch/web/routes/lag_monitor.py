"""Routes of the lag monitor, which answer 404 while it is off.

A reload may turn it on or off, but routes are created once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiohttp import web

from mirrorwatch.lag.monitor import OFF
from mirrorwatch.web.routes.groups import group_routes
from mirrorwatch.web.routes.lag import lag_routes, without_answer
from mirrorwatch.web.routes.main import page_answer
from mirrorwatch.web.routes.mirrors import mirror_routes
from runtime.http.guards import API

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mirrorwatch.service.flow_status import FlowState
    from mirrorwatch.web.pages.page import Page
    from mirrorwatch.web.replicas.questions import Asked
    from runtime.process.clock import Clock

    Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def lag_monitor_routes(
    lagging: Asked,
    *,
    page: Page,
    clock: Clock,
    now_of: Callable[[str], FlowState | None] = lambda _flow: None,
) -> list[web.RouteDef]:
    """Return the routes; they must precede those of flows, whose names may contain anything."""
    sentence = f"{OFF[:1].upper()}{OFF[1:]}."

    def plain(request: web.Request) -> web.Response:
        return without_answer(request, sentence, web.HTTPNotFound)

    def away(request: web.Request) -> web.Response:
        if request.path.startswith(API):
            return plain(request)
        text = page.away(sentence, now_at=clock.wall_s(), of_groups=False)
        return page_answer(text, status=web.HTTPNotFound.status_code)

    pages = [
        *group_routes(lagging, page=page, clock=clock),
        *mirror_routes(lagging, page=page, clock=clock, now_of=now_of),
    ]
    found = [(one, plain) for one in lag_routes(lagging)] + [(one, away) for one in pages]
    return [web.route(one.method, one.path, _guarded(lagging, one.handler, off)) for one, off in found]


def _guarded(lagging: Asked, handler: Handler, off: Callable[[web.Request], web.Response]) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return await handler(request) if lagging.on else off(request)

    return answer
