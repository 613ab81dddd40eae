"""Routes of the status page, its static files, and /api/v1/flows.

Every answer forbids what the page does not need: scripts and styles from elsewhere, frames, content sniffing,
and caching of changing answers.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from aiohttp import web

from fleet.dialect import chosen, flow_name, unknown_name
from mirrorwatch.api.flows import GET_FLOW, LIST_FLOWS
from mirrorwatch.api.operations import route
from mirrorwatch.web.documents import flow_document, flows_document
from mirrorwatch.web.pages.page import Page
from mirrorwatch.web.pages.runbooks import runbook, runbook_list, runbook_names
from runtime.http.parameters import list_address
from runtime.http.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mirrorwatch.service.view import FlowView, GroupsView, ServiceView

SECURITY_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}

# Browsers share a rendered page up to this age.
_SHARED_S = 0.9


async def only_own(view: ServiceView) -> ServiceView:
    """Return the view of a service that watches all flows itself."""
    return view


def routes(
    look: Callable[[], ServiceView],
    *,
    page: Page | None = None,
    groups: Callable[[], Awaitable[GroupsView | None]] | None = None,
    complete: Callable[[ServiceView], Awaitable[ServiceView]] = only_own,
) -> list[web.RouteDef]:
    """Return the routes of page and API; `look` creates the view.

    `groups` returns the number of groups by status, None without a lag monitor. `complete` adds what other
    replicas watch; a request about one flow comes to the replica that watches it.
    """
    page = page or Page()
    whole, fragment = _Drawing(page.page), _Drawing(page.fragment)

    async def seen() -> ServiceView:
        counted = await groups() if groups is not None else None
        return replace(await complete(look()), groups=counted)

    async def show_page(_: web.Request) -> web.Response:
        return page_answer(await whole.of(await seen()))

    async def show_view(_: web.Request) -> web.Response:
        return page_answer(await fragment.of(await seen()))

    async def show_static(request: web.Request) -> web.Response:
        return _static(page, request.match_info["name"], request.query.get("v"))

    async def show_flows(request: web.Request, asked: Mapping[str, Any]) -> web.Response:
        address = list_address(request)
        view = await complete(look())
        return await answer_from_thread(lambda: flows_document(view, asked, address))

    async def show_flow(request: web.Request, asked: Mapping[str, Any]) -> web.Response:
        view = look()
        document = flow_document(known_flow(request, view), view.outside)
        return json_answer(chosen(document, asked["fields"]))

    async def show_runbooks(request: web.Request) -> web.Response:
        name, now_at = request.match_info.get("name"), look().now_at
        if name is not None and name not in runbook_names():
            sentence = f"Unknown runbook '{name[:100]}'."
            return page_answer(page.away(sentence, now_at=now_at, of_groups=False), status=404)
        contents = runbook_list if name is None else partial(runbook, name)
        text = await asyncio.to_thread(lambda: page.draw("runbook.html", contents(), now_at=now_at))
        return page_answer(text)

    handlers: dict[str, Callable[[web.Request], Awaitable[web.Response]]] = {
        "/": show_page,
        "/view": show_view,
        "/static/{name}": show_static,
        "/runbooks": show_runbooks,
        "/runbooks/{name}": show_runbooks,
    }
    return [
        *(web.get(path, handler) for path, handler in handlers.items()),
        route(LIST_FLOWS, show_flows),
        route(GET_FLOW, show_flow),
    ]


class _Drawing:
    """The last rendered view, shared by concurrent requests.

    Fifty flows take 0.1 s to render, so rendering runs in a thread, one at a time.
    """

    def __init__(self, draw: Callable[[ServiceView], str]) -> None:
        self._draw = draw
        self._text = ""
        self._drawn_at: float | None = None
        self._turn = asyncio.Lock()

    async def of(self, view: ServiceView) -> str:
        async with self._turn:
            if self._drawn_at is None or not abs(view.now_at - self._drawn_at) < _SHARED_S:
                self._text = await asyncio.to_thread(self._draw, view)
                self._drawn_at = view.now_at
            return self._text


def find_flow(view: ServiceView, name: str) -> FlowView | None:
    """Return the flow `A->B`, or `A:B` as on the command line."""
    for flow in view.flows:
        if flow.flow == name:
            return flow
    for flow in view.flows:
        if f"{flow.source}:{flow.target}" == name:
            return flow
    return None


def known_flow(request: web.Request, view: ServiceView) -> FlowView:
    """Return the flow in the path; raises ProblemError `unknown_flow`."""
    return flow_called(view, request.match_info["flow"], request)


def flow_called(view: ServiceView, name: str, request: web.Request) -> FlowView:
    """Return the flow of this name; raises ProblemError `unknown_flow`.

    A flow of a missing shard is `unavailable`.
    """
    flow = find_flow(view, name)
    if flow is not None:
        return flow
    for shard in view.missing:
        if flow_name(name) in shard.flows:
            sentence = f"flow {flow_name(name)} ({shard.shard}): {shard.reason}"
            raise ProblemError("unavailable", sentence, path=request.path)
    raise ProblemError("unknown_flow", unknown_flow(view, name), path=request.path)


def unknown_flow(view: ServiceView, name: str) -> str:
    """Write that the flow is unknown, and the nearest name."""
    return unknown_name("flow", name, [one.flow for one in view.flows])


def page_answer(text: str, *, status: int = 200) -> web.Response:
    """Return a page without caching."""
    headers = {**SECURITY_HEADERS, "Cache-Control": "no-store"}
    response = web.Response(text=text, status=status, content_type="text/html", headers=headers)
    response.enable_compression()
    return response


def json_answer(document: dict[str, Any], *, status: int = 200) -> web.Response:
    """Return a document without caching."""
    return _json(_json_text(document), status=status)


async def answer_from_thread(make: Callable[..., dict[str, Any]], *of: Any) -> web.Response:
    """Return a document that takes time to create, from a thread."""
    return _json(await asyncio.to_thread(lambda: _json_text(make(*of))))


def _json_text(document: dict[str, Any]) -> str:
    return json.dumps(document, allow_nan=False, ensure_ascii=False) + "\n"


def _json(text: str, *, status: int = 200) -> web.Response:
    response = web.Response(
        # A lone surrogate in foreign JSON is not valid UTF-8: escape it as JSON does.
        body=text.encode(errors="backslashreplace"),
        charset="utf-8",
        content_type="application/json",
        status=status,
        headers={**SECURITY_HEADERS, "Cache-Control": "no-store"},
    )
    response.enable_compression()
    return response


def _static(page: Page, name: str, version: str | None) -> web.Response:
    """Return a static file; an address with its hash may be cached forever."""
    file = page.static.get(name)
    if file is None:
        return web.Response(
            status=404,
            text="unknown file\n",
            headers={**SECURITY_HEADERS, "Cache-Control": "no-store"},
        )
    kept = "public, max-age=31536000, immutable" if version == file.digest else "no-cache"
    return web.Response(
        body=file.body,
        content_type=file.content_type,
        charset="utf-8",
        headers={**SECURITY_HEADERS, "Cache-Control": kept},
    )
