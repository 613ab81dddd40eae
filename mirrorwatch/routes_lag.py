"""What the service answers about groups to scripts: Burrow's API under /v3, ours under /api/v1/groups."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from aiohttp import web

from fleet.errors import UnavailableError
from fleet.judgement_words import ended
from lagmon import burrow_paths
from mirrorwatch.routes import SECURITY_HEADERS, json_answer
from runtime.http_problems import ProblemError

if TYPE_CHECKING:
    from mirrorwatch.lagging import Lagging

OTHER_METHODS = ("POST", "PUT", "PATCH", "DELETE")
MAX_SEARCH = 256  # letters
MAX_AT_ONCE = 10_000
ANY = r"[\s\S]*"  # of a path, decoded: the name of a group may have a newline in it


def lag_routes(lagging: Lagging) -> list[web.RouteDef]:
    """Return the routes; each passes its question on to the lag monitor's process."""

    async def show_burrow(request: web.Request) -> web.Response:
        try:
            head, body = await lagging.ask("burrow", path=request.rel_url.raw_path, host=request.host)
        except UnavailableError as error:
            return without_answer(request, sentence_of(error), web.HTTPServiceUnavailable)
        return web.Response(body=body, status=head["status"], content_type="application/json")

    async def show_health(_request: web.Request) -> web.Response:
        # Burrow's says no more than that its server answers, and who restarts it by this relies on that.
        return web.Response(text="GOOD")

    async def refuse(request: web.Request) -> web.Response:
        if burrow_paths.is_served(request.rel_url.raw_path):
            raise web.HTTPMethodNotAllowed(request.method, ["GET", "HEAD"])
        status, found = burrow_paths.not_served()
        return json_answer(found, status=status)

    async def show_groups(request: web.Request) -> web.Response:
        return await passed_on(lagging, "groups", path=request.path, **list_asked(request, most=100))

    async def show_group(request: web.Request) -> web.Response:
        return await passed_on(lagging, "group", path=request.path, **group_asked(request, most=MAX_AT_ONCE))

    return [
        web.get("/v3", show_burrow),
        web.get(f"/v3/{{path:{ANY}}}", show_burrow),
        web.get("/burrow/admin", show_health),
        *(web.route(method, f"/v3{{path:(/{ANY})?}}", refuse) for method in OTHER_METHODS),
        web.get("/api/v1/groups", show_groups),
        web.get(f"/api/v1/groups/{{cluster}}/{{group:{ANY}}}", show_group),
    ]


def without_answer(request: web.Request, sentence: str, error: type[web.HTTPError]) -> web.Response:
    """Say why there is no answer: under /v3 as Burrow's API has it; elsewhere it raises the error."""
    if request.path.split("/")[1] != "v3":
        raise error(text=f"{sentence}\n")
    told_back = {"url": unquote(request.rel_url.raw_path), "host": socket.gethostname()}
    return json_answer(burrow_paths.error_document(sentence, told_back), status=error.status_code)


def list_asked(request: web.Request, *, most: int) -> dict[str, object]:
    """Return what of the list a request asks for; raises HTTPBadRequest with a sentence."""
    return page_asked(request, most) | {
        "search": search_asked(request),
        "kafka_cluster": request.query.get("cluster", ""),
    }


def search_asked(request: web.Request) -> str:
    """Return what a request searches for, a part of a name."""
    return request.query.get("search", "")[:MAX_SEARCH]


def group_asked(request: web.Request, *, most: int) -> dict[str, object]:
    """Return which group a request asks for, and which of its partitions; raises HTTPBadRequest.

    The name is taken from the path as it came: a slash in it is %2F. Names that no path can hold (32 KB, or
    `..`) are asked for by `?id=`, as the page links them.
    """
    cluster, _, group = request.rel_url.raw_path.partition("/groups/")[2].partition("/")
    try:
        called = {"group": unquote(group, errors="surrogatepass")}
    except UnicodeDecodeError:
        raise web.HTTPBadRequest(text="The group's name is no UTF-8.") from None
    if not group and request.query.get("id"):
        called = {"group_id": request.query["id"]}
    return page_asked(request, most) | {"kafka_cluster": unquote(cluster), **called}


def sentence_of(error: UnavailableError) -> str:
    """Return why the monitor did not answer, as a sentence."""
    return ended(f"{str(error)[:1].upper()}{str(error)[1:]}")


def page_asked(request: web.Request, most: int) -> dict[str, object]:
    """Return from which row on a request wants how many; raises HTTPBadRequest with a sentence."""
    asked = request.query
    try:
        first, most = int(asked.get("offset", "0")), int(asked.get("limit", str(most)))
    except ValueError:
        raise web.HTTPBadRequest(text="offset and limit are whole numbers.") from None
    if first < 0 or not 1 <= most <= MAX_AT_ONCE:
        raise web.HTTPBadRequest(text=f"offset is at least 0, limit 1 to {MAX_AT_ONCE}.")
    return {"first": first, "most": most}


async def passed_on(lagging: Lagging, question: str, *, path: str, **details: Any) -> web.Response:
    """Answer a request for JSON with what the lag monitor says, or with why it says nothing."""
    try:
        head, body = await lagging.ask(question, **details)
    except UnavailableError as error:
        raise ProblemError("unavailable", sentence_of(error), path=path) from error
    answer = web.Response(
        body=body,
        status=head["status"],
        content_type="application/json",
        headers={**SECURITY_HEADERS, "Cache-Control": "no-store"},
    )
    answer.enable_compression()
    return answer
