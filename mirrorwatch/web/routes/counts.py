"""The route of record counts: both sides of a flow's topic, by time interval, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from checksum.counts.document import produced_and_mirrored
from fleet.dialect import flow_name, moment_ms_text, page
from mirrorwatch.api.counts import LIST_COUNTS
from mirrorwatch.api.operations import route
from mirrorwatch.web.routes.main import json_answer
from runtime.http.parameters import list_address
from runtime.http.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp import web

    from checksum.history.entries import Counted
    from runtime.process.clock import Clock

MOST_ROWS = 50_000  # a partition has one for each bucket
DEFAULT_S = 86_400.0


class Counts(Protocol):
    """Stores counts; see `ChecksumFollowing`."""

    def knows(self, flow: str) -> bool:
        """Return whether there is such a flow."""
        ...

    async def counts(
        self, flow: str, topic: str, *, since_ms: int, until_ms: int, limit: int
    ) -> list[Counted]:
        """Return rows of intervals that start within this time, oldest first. Raises UnavailableError."""
        ...


def counts_routes(counts: Counts, *, clock: Clock) -> list[web.RouteDef]:
    """Return the route; it must precede those of flows, whose names may contain anything."""

    async def show(request: web.Request, asked: Mapping[str, Any]) -> web.Response:
        name, topic = request.match_info["flow"], asked["topic"]
        flow = flow_name(name)
        if not counts.knows(flow):
            raise ProblemError("unknown_flow", f"unknown flow '{name[:200]}'", path=request.path)
        until_ms = round(clock.wall_s() * 1000) if asked["until"] is None else asked["until"]
        since_ms = until_ms - round(DEFAULT_S * 1000) if asked["since"] is None else asked["since"]
        rows = await counts.counts(flow, topic, since_ms=since_ms, until_ms=until_ms, limit=MOST_ROWS)
        if len(rows) == MOST_ROWS:
            sentence = f"since: {MOST_ROWS:,} rows or more; request a shorter time"
            raise ProblemError("invalid_query", sentence, path=request.path, problems=[sentence])
        offset = asked["offset"]
        buckets, count = produced_and_mirrored(rows, offset=offset, limit=asked["limit"])
        window = {"since": moment_ms_text(since_ms), "until": moment_ms_text(until_ms)}
        given = {name: at for name, at in window.items() if at is not None and name not in request.query}
        address = list_address(request, **given)  # every page has the same time range
        document = {
            "flow": flow,
            "topic": topic,
            **window,
            **page("buckets", buckets, offset=offset, count=count, address=address),
        }
        return json_answer(document)

    return [route(LIST_COUNTS, show)]
