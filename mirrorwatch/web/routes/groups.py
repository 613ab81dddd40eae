"""Routes of the pages about groups: /groups, and one page for each group."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

from aiohttp import web

from fleet.errors import UnavailableError
from fleet.verdicts.words import ended
from mirrorwatch.api.groups import ANY, GET_GROUP, LIST_GROUPS
from mirrorwatch.web.pages.groups import (
    AT_ONCE,
    group_names,
    groups_away,
    groups_view,
    list_names,
)
from mirrorwatch.web.routes.lag import group_called, sentence_of
from mirrorwatch.web.routes.main import SECURITY_HEADERS
from runtime.http.parameters import asked_of
from runtime.http.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from mirrorwatch.service.view import GroupsView
    from mirrorwatch.web.pages.page import Page
    from mirrorwatch.web.replicas.questions import Asked
    from runtime.process.clock import Clock

COUNTS_WITHIN_S = 1.0  # the main page waits no longer for the groups
COUNTED_S = 0.9  # younger counts are used again

# Only this page sends a form: the search box.
_HEADERS = {
    **SECURITY_HEADERS,
    "Content-Security-Policy": SECURITY_HEADERS["Content-Security-Policy"].replace(
        "form-action 'none'", "form-action 'self'"
    ),
    "Cache-Control": "no-store",
}


class LagPages:
    """Pages from answers of the lag monitor, or a page with the reason of a failure."""

    def __init__(self, lagging: Asked, *, page: Page, clock: Clock) -> None:
        self._lagging = lagging
        self._page = page
        self._clock = clock

    async def answer(
        self,
        question: str,
        asked: dict[str, object],
        template: str,
        names: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> web.Response:
        """Query the lag monitor, and render the template with `names` of the answer."""
        try:
            head, body = await self._lagging.ask(question, **asked)
        except UnavailableError as error:
            return self.away(sentence_of(error), question, status=503)

        def draw() -> str:
            document = json.loads(body)
            if "error" in document:
                return self._away(document["error"], question)
            return self._page.draw(template, names(document), now_at=document["now_ms"] / 1000)

        return _html(await asyncio.to_thread(draw), status=head["status"])

    def away(self, sentence: str, question: str, *, status: int) -> web.Response:
        """Answer with a page that has the reason, and a link back."""
        return _html(self._away(sentence, question), status=status)

    def _away(self, sentence: str, question: str) -> str:
        return self._page.away(sentence, now_at=self._clock.wall_s(), of_groups=question != "flow")

    def guarded(
        self, show: Callable[[web.Request], Awaitable[web.Response]], question: str
    ) -> Callable[[web.Request], Awaitable[web.Response]]:
        """Return a handler that answers invalid requests with a page."""

        async def answer(request: web.Request) -> web.Response:
            try:
                return await show(request)
            except ProblemError as error:
                return self.away(ended(error.detail), question, status=error.status)

        return answer


def page_from(given: Mapping[str, Any]) -> dict[str, object]:
    """Return which rows a page shows."""
    return {"first": given["offset"], "most": AT_ONCE}


def group_routes(lagging: Asked, *, page: Page, clock: Clock) -> list[web.RouteDef]:
    """Return the routes of the pages about groups."""
    pages = LagPages(lagging, page=page, clock=clock)

    async def show_list(request: web.Request) -> web.Response:
        given = asked_of(request, LIST_GROUPS.parameters)
        search, cluster = given["search"], given["kafka_cluster"]
        asked = {**page_from(given), "search": search, "kafka_cluster": cluster}

        def names(document: dict[str, Any]) -> dict[str, Any]:
            return list_names(document, search=search, kafka_cluster=cluster)

        return await pages.answer("groups", asked, "groups.html", names)

    async def show_group(request: web.Request) -> web.Response:
        given = asked_of(request, GET_GROUP.parameters)
        asked = page_from(given) | group_called(request, given["id"])
        return await pages.answer("group", asked, "group.html", group_names)

    return [
        web.get("/groups", pages.guarded(show_list, "groups")),
        web.get(f"/groups/{{cluster}}/{{group:{ANY}}}", pages.guarded(show_group, "group")),
    ]


class GroupCounts:
    """The number of groups by status for the main page: one query for all requests at a time."""

    def __init__(self, lagging: Asked, *, clock: Clock) -> None:
        self._lagging = lagging
        self._clock = clock
        self._turn = asyncio.Lock()
        self._counted_at: float | None = None
        self._view = groups_away("")

    async def view(self) -> GroupsView | None:
        """Return the counts, or why there are none; None while the lag monitor is off."""
        if not self._lagging.on:
            return None
        async with self._turn:
            now_at = self._clock.wall_s()
            if self._counted_at is None or not 0 <= now_at - self._counted_at < COUNTED_S:
                self._view = await self._count()
                self._counted_at = self._clock.wall_s()
            return self._view

    async def _count(self) -> GroupsView:
        try:
            async with asyncio.timeout(COUNTS_WITHIN_S):
                _, body = await self._lagging.ask("group_counts")
        except TimeoutError:
            return groups_away(f"No answer from the lag monitor within {COUNTS_WITHIN_S:g} s.")
        except UnavailableError as error:
            return groups_away(sentence_of(error))
        return groups_view(json.loads(body))


def _html(text: str, *, status: int) -> web.Response:
    response = web.Response(text=text, status=status, content_type="text/html", headers=_HEADERS)
    response.enable_compression()
    return response
