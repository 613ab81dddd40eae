"""Routes of failover readiness, which answer 404 while the audit is off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fleet.dialect import flow_name
from mirrorwatch.api.failover import GET_FAILOVER, LIST_FAILOVER
from mirrorwatch.api.operations import route
from mirrorwatch.failover.audit.watch import OFF
from mirrorwatch.web.routes.lag import names_after, passed_on
from runtime.http.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp import web

    from mirrorwatch.web.replicas.questions import Asked


def failover_routes(audit: Asked) -> list[web.RouteDef]:
    """Return the routes; each forwards its question to the audit's process."""

    async def show_groups(request: web.Request, asked: Mapping[str, Any]) -> web.Response:
        _refuse_if_off(audit, request)
        named = {"search": asked["search"], "flow": flow_name(asked["flow"])}
        return await passed_on(audit, "groups", request, asked, **named)

    async def show_group(request: web.Request, asked: Mapping[str, Any]) -> web.Response:
        _refuse_if_off(audit, request)
        flow, group = names_after("/failover/", request)
        named = {"flow": flow_name(flow), "group": group}
        return await passed_on(audit, "group", request, asked, **named)

    return [route(LIST_FAILOVER, show_groups), route(GET_FAILOVER, show_group)]


def _refuse_if_off(audit: Asked, request: web.Request) -> None:
    if not audit.on:
        raise ProblemError("audit_off", f"{OFF[:1].upper()}{OFF[1:]}.", path=request.path)
