"""Routes of one flow's offsets by partition: a page, and JSON."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from aiohttp import web

from fleet.dialect import flow_name
from mirrorwatch.api.offsets import GET_OFFSETS
from mirrorwatch.api.operations import route
from mirrorwatch.web.pages.mirrors import mirror_names
from mirrorwatch.web.routes.groups import LagPages, page_from
from mirrorwatch.web.routes.lag import passed_on
from runtime.http.parameters import asked_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mirrorwatch.service.flow_status import FlowState
    from mirrorwatch.web.pages.page import Page
    from mirrorwatch.web.replicas.questions import Asked
    from runtime.process.clock import Clock


def mirror_routes(
    lagging: Asked,
    *,
    page: Page,
    clock: Clock,
    now_of: Callable[[str], FlowState | None] = lambda _flow: None,
) -> list[web.RouteDef]:
    """Return the routes; they must precede those of flows, whose names may contain anything.

    `now_of` returns the present state of a flow by all parts, None if unknown.
    """
    pages = LagPages(lagging, page=page, clock=clock)

    async def show_json(request: web.Request, asked: Mapping[str, Any]) -> web.Response:
        return await passed_on(lagging, "flow", request, asked, flow=_name(request), search=asked["search"])

    async def show_page(request: web.Request) -> web.Response:
        given = asked_of(request, GET_OFFSETS.parameters)
        search = given["search"]
        asked = page_from(given) | {"flow": _name(request), "search": search}
        names = partial(mirror_names, search=search, now=now_of(_name(request)))
        return await pages.answer("flow", asked, "mirror.html", names)

    return [
        route(GET_OFFSETS, show_json),
        web.get("/flows/{flow:.+}/offsets", pages.guarded(show_page, "flow")),
    ]


def _name(request: web.Request) -> str:
    return flow_name(request.match_info["flow"])
