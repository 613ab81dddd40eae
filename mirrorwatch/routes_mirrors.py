"""What offsets say of one flow, partition by partition: a page, and the same as JSON."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from aiohttp import web

from mirrorwatch.group_page import AT_ONCE
from mirrorwatch.mirror_page import mirror_names
from mirrorwatch.routes_groups import LagPages
from mirrorwatch.routes_lag import MAX_AT_ONCE, page_asked, passed_on, search_asked

if TYPE_CHECKING:
    from mirrorwatch.lagging import Lagging
    from mirrorwatch.page import Page
    from runtime.clock import Clock


def mirror_routes(lagging: Lagging, *, page: Page, clock: Clock) -> list[web.RouteDef]:
    """Return the routes; they stand before those of flows, whose names may hold anything."""
    pages = LagPages(lagging, page=page, clock=clock)

    async def show_json(request: web.Request) -> web.Response:
        asked = page_asked(request, MAX_AT_ONCE) | {"search": search_asked(request)}
        return await passed_on(lagging, "flow", path=request.path, flow=_name(request), **asked)

    async def show_page(request: web.Request) -> web.Response:
        search = search_asked(request)
        asked = page_asked(request, AT_ONCE) | {"most": AT_ONCE, "flow": _name(request), "search": search}
        return await pages.answer("flow", asked, "mirror.html", partial(mirror_names, search=search))

    return [
        web.get("/api/v1/flows/{flow:.+}/offsets", show_json),
        web.get("/flows/{flow:.+}/offsets", pages.guarded(show_page, "flow")),
    ]


def _name(request: web.Request) -> str:
    """Return the flow that is asked for: `A->B`, or `A:B` as on the command line."""
    name = request.match_info["flow"]
    return name if "->" in name else name.replace(":", "->", 1)
