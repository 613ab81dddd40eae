"""Routes of failover readiness, which answer 404 while the audit is off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from mirrorwatch.api.failover import GET_FAILOVER, LIST_FAILOVER
from mirrorwatch.api.operations import route
from mirrorwatch.failover.audit.watch import OFF
from mirrorwatch.web.routes.lag import passed_on
from runtime.http.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp import web

    from mirrorwatch.failover.audit.watch import FailoverAudit


def failover_routes(audit: FailoverAudit) -> list[web.RouteDef]:
    """Return the routes; each forwards its question to the audit's process."""

    async def show_groups(request: web.Request, asked: Mapping[str, Any]) -> web.Response:
        _refuse_if_off(audit, request)
        named = {"search": asked["search"], "flow": _flow(asked["flow"])}
        return await passed_on(audit, "groups", request, asked, **named)

    async def show_group(request: web.Request, asked: Mapping[str, Any]) -> web.Response:
        _refuse_if_off(audit, request)
        flow, _, group = request.rel_url.raw_path.partition("/failover/")[2].partition("/")
        try:
            named = {"flow": _flow(unquote(flow)), "group": unquote(group, errors="surrogatepass")}
        except UnicodeDecodeError:
            sentence = "the group's name: invalid UTF-8; percent-encode its bytes"
            raise ProblemError("invalid_path", sentence, path=request.path) from None
        return await passed_on(audit, "group", request, asked, **named)

    return [route(LIST_FAILOVER, show_groups), route(GET_FAILOVER, show_group)]


def _refuse_if_off(audit: FailoverAudit, request: web.Request) -> None:
    if not audit.on:
        raise ProblemError("audit_off", f"{OFF[:1].upper()}{OFF[1:]}.", path=request.path)


def _flow(name: str) -> str:
    return name if "->" in name else name.replace(":", "->", 1)
