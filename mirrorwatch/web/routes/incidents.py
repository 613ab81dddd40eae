"""Routes of pages about flows, incidents and checksums, and of the API of incidents."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiohttp import web

from fleet.dialect import chosen
from fleet.errors import UnavailableError
from mirrorwatch.api.incidents import GET_INCIDENT, LIST_INCIDENTS
from mirrorwatch.api.operations import route
from mirrorwatch.web.documents import budgets_of, incident_document, incidents_document
from mirrorwatch.web.pages.groups import AT_ONCE
from mirrorwatch.web.pages.incidents import (
    OF_FLOW,
    checksums_names,
    flow_names,
    flows_names,
    incident_names,
    incidents_names,
)
from mirrorwatch.web.routes.main import (
    answer_from_thread,
    flow_called,
    json_answer,
    known_flow,
    only_own,
    page_answer,
)
from runtime.http.parameters import list_address
from runtime.http.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from alerts.incidents import Incident
    from alerts.objectives import FlowFacts, Objective
    from mirrorwatch.history.incident_keeping import IncidentKeeping
    from mirrorwatch.service.view import FlowView, ServiceView
    from mirrorwatch.web.documents import Budgets
    from mirrorwatch.web.pages.page import Page

    PageHandler = Callable[[web.Request], Awaitable[web.Response]]
    Complete = Callable[[ServiceView], Awaitable[ServiceView]]


@dataclass(frozen=True, slots=True)
class Aims:
    """The configured objectives and probe rates of flows."""

    objectives: Sequence[Objective] = ()
    facts: Sequence[FlowFacts] = ()

    def spent(self, incident: Incident) -> Budgets:
        """Return the approximate share of each budget that an incident spent."""
        return budgets_of(incident, self.objectives, self.facts)


def incident_pages(
    look: Callable[[], ServiceView],
    incidents: IncidentKeeping,
    *,
    page: Page,
    aims: Callable[[], Aims] = Aims,
    complete: Complete = only_own,
) -> list[web.RouteDef]:
    """Return the routes; they must follow those of a flow's offsets.

    `complete` adds what other replicas watch. The store has the incidents of all.
    """
    pages = _Pages(look, incidents, page, aims, complete)
    return [
        web.get("/flows", pages.flows),
        web.get("/flows/{flow:.+}/incident", pages.guarded(pages.newest)),
        web.get("/flows/{flow:.+}", pages.guarded(pages.flow)),
        web.get("/incidents", pages.guarded(pages.incidents)),
        web.get("/incidents/{incident}", pages.incident),
        web.get("/checksums", pages.checksums),
        route(LIST_INCIDENTS, pages.list_json),
        route(GET_INCIDENT, pages.show_json),
    ]


class _Pages:
    def __init__(
        self,
        look: Callable[[], ServiceView],
        incidents: IncidentKeeping,
        page: Page,
        aims: Callable[[], Aims],
        complete: Complete,
    ) -> None:
        self._look = look
        self._complete = complete
        self._incidents = incidents
        self._page = page
        self._aims = aims

    async def flows(self, _: web.Request) -> web.Response:
        view = await self._complete(self._look())
        return await self._drawn("flows.html", flows_names(view), view)

    async def checksums(self, _: web.Request) -> web.Response:
        view = await self._complete(self._look())
        return await self._drawn("checksums.html", checksums_names(view), view)

    async def flow(self, request: web.Request) -> web.Response:
        view = self._look()
        flow = known_flow(request, view)
        try:
            found, count = await self._incidents.newest(flow=flow.flow, limit=OF_FLOW)
            sentence = ""
        except UnavailableError as error:
            found, count, sentence = (), 0, f"The incidents cannot be read: {error}."
        names = flow_names(flow, view, incidents=found, count=count, sentence=sentence)
        return await self._drawn("flow.html", names, view)

    async def newest(self, request: web.Request) -> web.Response:
        """Redirect to the open or newest incident of a flow: an alert cannot know its name."""
        view = self._look()
        flow = known_flow(request, view)
        found: Sequence[Any] = flow.recent[:1]
        if not found:
            try:
                found, _ = await self._incidents.newest(flow=flow.flow, limit=1)
            except UnavailableError:
                found = ()
        links = view.links
        where = links.incident(found[0].incident) if found else links.flow(flow.source, flow.target)
        return web.Response(status=302, headers={"Location": where, "Cache-Control": "no-store"})

    async def incidents(self, request: web.Request) -> web.Response:
        view = self._look()
        flow: FlowView | None = None
        if "flow" in request.query:
            flow = flow_called(await self._complete(view), request.query["flow"], request)
        offset = request.query.get("offset", "0")
        if not re.fullmatch(r"[0-9]{1,9}", offset):
            return self._away(view, f"Unknown page '{offset[:40]}'.", 400)
        name = None if flow is None else flow.flow
        try:
            found, count = await self._incidents.newest(flow=name, offset=int(offset), limit=AT_ONCE)
        except UnavailableError as error:
            return self._away(view, f"The incidents cannot be read: {error}.", 503)
        opened = [one for one in self._incidents.open if name in (None, one.flow)]
        names = incidents_names(found, count=count, offset=int(offset), opened=opened, flow=flow, view=view)
        return await self._drawn("incidents.html", names, view)

    async def incident(self, request: web.Request) -> web.Response:
        view = self._look()
        name = request.match_info["incident"]
        try:
            found = await self._incidents.find(name)
        except UnavailableError as error:
            return self._away(view, f"The incident cannot be read: {error}.", 503)
        if found is None:
            return self._away(view, f"Unknown incident '{name[:100]}'; old incidents are deleted.", 404)
        names = incident_names(found, view, self._aims().spent(found))
        return await self._drawn("incident.html", names, view)

    async def list_json(self, request: web.Request, asked: Mapping[str, Any]) -> web.Response:
        aims = self._aims()
        flow: FlowView | None = None
        if asked["flow"]:
            flow = flow_called(await self._complete(self._look()), asked["flow"], request)
        found, count = await self._incidents.newest(
            flow=None if flow is None else flow.flow,
            open_only=asked["state"] == "open",
            offset=asked["offset"],
            limit=asked["limit"],
        )
        return await answer_from_thread(
            lambda: incidents_document(
                found,
                count=count,
                asked=asked,
                address=list_address(request),
                links=self._look().outside,
                spent={one.incident: aims.spent(one) for one in found},
            )
        )

    async def show_json(self, request: web.Request, asked: Mapping[str, Any]) -> web.Response:
        name, aims = request.match_info["incident"], self._aims()
        found = await self._incidents.find(name)
        if found is None:
            raise ProblemError("unknown_incident", f"unknown incident '{name[:100]}'", path=request.path)
        return json_answer(
            chosen(incident_document(found, self._look().outside, aims.spent(found)), asked["fields"])
        )

    def guarded(self, show: PageHandler) -> PageHandler:
        """Return a handler that answers an unknown flow with a page."""

        async def answer(request: web.Request) -> web.Response:
            try:
                return await show(request)
            except ProblemError as error:
                return self._away(self._look(), _capital(error.detail), error.status)

        return answer

    async def _drawn(self, template: str, names: Mapping[str, Any], view: ServiceView) -> web.Response:
        return page_answer(
            await asyncio.to_thread(lambda: self._page.draw(template, names, now_at=view.now_at))
        )

    def _away(self, view: ServiceView, sentence: str, status: int) -> web.Response:
        return page_answer(self._page.away(sentence, now_at=view.now_at, of_groups=False), status=status)


def _capital(sentence: str) -> str:
    return f"{sentence[:1].upper()}{sentence[1:]}."
