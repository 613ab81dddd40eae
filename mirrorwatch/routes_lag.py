"""What the service answers about groups: Burrow's API under /v3, ours under /api/v1/groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aiohttp import web

from fleet.errors import UnavailableError

if TYPE_CHECKING:
    from mirrorwatch.lagging import Lagging


def lag_routes(lagging: Lagging) -> list[web.RouteDef]:
    """Return the routes; each passes its question on to the lag monitor's process."""

    async def show_burrow(request: web.Request) -> web.Response:
        head, body = await _asked(lagging, "burrow", path=request.rel_url.raw_path, host=request.host)
        return web.Response(body=body, status=head["status"], content_type=head["content_type"])

    async def show_groups(request: web.Request) -> web.Response:
        _, body = await _asked(lagging, "groups", **_page(request))
        return web.Response(body=body, content_type="application/json")

    async def show_group(request: web.Request) -> web.Response:
        cluster, group = request.match_info["cluster"], request.match_info["group"]
        head, body = await _asked(lagging, "group", kafka_cluster=cluster, group=group)
        return web.Response(body=body, status=head["status"], content_type="application/json")

    return [
        web.get("/v3/{path:.*}", show_burrow),
        web.get("/burrow/admin", show_burrow),
        web.get("/api/v1/groups", show_groups),
        web.get("/api/v1/groups/{cluster}/{group:.+}", show_group),
    ]


def _page(request: web.Request) -> dict[str, object]:
    asked = request.query
    try:
        first, most = int(asked.get("offset", "0")), int(asked.get("limit", "100"))
    except ValueError:
        raise web.HTTPBadRequest(text="offset and limit are whole numbers.") from None
    if first < 0 or not 1 <= most <= 10_000:
        raise web.HTTPBadRequest(text="offset is at least 0, limit 1 to 10000.")
    return {
        "first": first,
        "most": most,
        "search": asked.get("search", "")[:256],
        "kafka_cluster": asked.get("cluster", ""),
    }


async def _asked(lagging: Lagging, question: str, **details: object) -> tuple[dict[str, Any], bytes]:
    try:
        return await lagging.ask(question, **details)
    except UnavailableError as error:
        raise web.HTTPServiceUnavailable(text=f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
