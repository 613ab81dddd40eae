"""Routes of groups for scripts: Burrow's API under /v3, Mirrorwatch's under /api/v1/groups."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from aiohttp import web

from fleet.errors import UnavailableError
from fleet.verdicts.words import ended
from lagmon.burrow import paths as burrow_paths
from mirrorwatch.api.groups import ANY, GET_GROUP, LIST_GROUPS
from mirrorwatch.api.operations import route
from mirrorwatch.web.routes.main import SECURITY_HEADERS, json_answer
from runtime.http.guards import API
from runtime.http.parameters import list_address
from runtime.http.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mirrorwatch.web.replicas.questions import Asked

OTHER_METHODS = ("POST", "PUT", "PATCH", "DELETE")


def lag_routes(lagging: Asked) -> list[web.RouteDef]:
    """Return the routes; each forwards its question to the lag monitor's process."""

    async def show_burrow(request: web.Request) -> web.Response:
        try:
            head, body = await lagging.ask("burrow", path=request.rel_url.raw_path, host=request.host)
        except UnavailableError as error:
            return without_answer(request, sentence_of(error), web.HTTPServiceUnavailable)
        return web.Response(body=body, status=head["status"], content_type="application/json")

    async def show_health(_request: web.Request) -> web.Response:
        # In Burrow this only says that the server answers, and restarts rely on that.
        return web.Response(text="GOOD")

    async def refuse(request: web.Request) -> web.Response:
        if burrow_paths.is_served(request.rel_url.raw_path):
            raise web.HTTPMethodNotAllowed(request.method, ["GET", "HEAD"])
        status, found = burrow_paths.not_served()
        return json_answer(found, status=status)

    async def show_groups(request: web.Request, asked: Mapping[str, Any]) -> web.Response:
        named = {"search": asked["search"], "kafka_cluster": asked["kafka_cluster"]}
        return await passed_on(lagging, "groups", request, asked, **named)

    async def show_group(request: web.Request, asked: Mapping[str, Any]) -> web.Response:
        return await passed_on(lagging, "group", request, asked, **group_called(request, asked["id"]))

    return [
        web.get("/v3", show_burrow),
        web.get(f"/v3/{{path:{ANY}}}", show_burrow),
        web.get("/burrow/admin", show_health),
        *(web.route(method, f"/v3{{path:(/{ANY})?}}", refuse) for method in OTHER_METHODS),
        route(LIST_GROUPS, show_groups),
        route(GET_GROUP, show_group),
    ]


def without_answer(request: web.Request, sentence: str, error: type[web.HTTPError]) -> web.Response:
    """Answer with the reason of a failure: under /v3 as Burrow does; elsewhere raise the error."""
    if request.path.split("/")[1] != "v3":
        if not request.path.startswith(API):
            raise error(text=f"{sentence}\n")
        code = "lag_off" if error is web.HTTPNotFound else "unavailable"
        raise ProblemError(code, sentence, path=request.path)
    told_back = {"url": unquote(request.rel_url.raw_path), "host": socket.gethostname()}
    return json_answer(burrow_paths.error_document(sentence, told_back), status=error.status_code)


def group_called(request: web.Request, by_id: str) -> dict[str, object]:
    """Return the requested group; raises ProblemError `invalid_path`.

    The name is the raw path: a slash in it is %2F. Names that a path cannot hold (32 KB, or `..`) are
    requested by `?id=`.
    """
    cluster, group = names_after("/groups/", request)
    called = {"group_id": by_id} if not group and by_id else {"group": group}
    return {"kafka_cluster": cluster, **called}


def names_after(start: str, request: web.Request) -> tuple[str, str]:
    """Return a name and the group's in the raw path, after `start`; raises ProblemError `invalid_path`."""
    name, _, group = request.rel_url.raw_path.partition(start)[2].partition("/")
    try:
        return unquote(name), unquote(group, errors="surrogatepass")
    except UnicodeDecodeError:
        sentence = "the group's name: invalid UTF-8; percent-encode its bytes"
        raise ProblemError("invalid_path", sentence, path=request.path) from None


def sentence_of(error: UnavailableError) -> str:
    """Return why the monitor did not answer."""
    return ended(f"{str(error)[:1].upper()}{str(error)[1:]}")


async def passed_on(
    lagging: Asked,
    question: str,
    request: web.Request,
    asked: Mapping[str, Any],
    **details: Any,
) -> web.Response:
    """Answer as the process does; raises ProblemError with the reason of a failure."""
    try:
        head, body = await lagging.ask(
            question,
            address=list_address(request),
            first=asked["offset"],
            most=asked["limit"],
            fields=asked["fields"],
            **details,
        )
    except UnavailableError as error:
        raise ProblemError("unavailable", sentence_of(error), path=request.path) from error
    if "code" in head:
        raise ProblemError(head["code"], json.loads(body)["error"], path=request.path)
    answer = web.Response(
        body=body,
        status=head["status"],
        content_type="application/json",
        headers={**SECURITY_HEADERS, "Cache-Control": "no-store"},
    )
    answer.enable_compression()
    return answer
