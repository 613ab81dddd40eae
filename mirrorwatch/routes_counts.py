"""How many records both sides of a flow held of a topic, bucket of time by bucket, as JSON."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from aiohttp import web

from checksum.count_document import produced_and_mirrored
from fleet.errors import UnavailableError
from fleet.topic_name import is_topic_name
from mirrorwatch.routes import json_answer

if TYPE_CHECKING:
    from checksum.book_entries import Counted
    from runtime.clock import Clock

MOST_BUCKETS = 10_000
MOST_ROWS = 50_000  # a partition has one for each bucket
DEFAULT_S = 86_400.0

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Counts(Protocol):
    """Who keeps them; see `ChecksumFollowing`."""

    def knows(self, flow: str) -> bool:
        """Tell whether there is such a flow."""
        ...

    async def counts(
        self, flow: str, topic: str, *, since_ms: int, until_ms: int, limit: int
    ) -> list[Counted]:
        """Return rows of buckets that begin within this time, oldest first. Raises UnavailableError."""
        ...


def counts_routes(counts: Counts, *, clock: Clock) -> list[web.RouteDef]:
    """Return the route; it stands before those of flows, whose names may hold anything."""

    async def show(request: web.Request) -> web.Response:
        name = request.match_info["flow"]
        flow = name if "->" in name else name.replace(":", "->", 1)
        if not counts.knows(flow):
            return json_answer({"error": f"there is no flow '{name[:200]}' here"}, status=404)
        topic = request.query.get("topic", "")
        if not is_topic_name(topic):
            raise web.HTTPBadRequest(text="Name a topic, by its name on the source: ?topic=NAME.")
        until_ms = _moment_ms(request, "until", round(clock.wall_s() * 1000))
        since_ms = _moment_ms(request, "since", until_ms - round(DEFAULT_S * 1000))
        try:
            rows = await counts.counts(flow, topic, since_ms=since_ms, until_ms=until_ms, limit=MOST_ROWS)
        except UnavailableError as error:
            return json_answer({"error": str(error)}, status=503)
        if len(rows) == MOST_ROWS:
            raise web.HTTPBadRequest(text="That is too much at once: ask for a shorter time.")
        return json_answer(produced_and_mirrored(flow, topic, rows, most_buckets=MOST_BUCKETS))

    return [web.get("/api/v1/flows/{flow:.+}/counts", show)]


def _moment_ms(request: web.Request, name: str, otherwise: int) -> int:
    """Return epoch ms of a parameter, ISO 8601 with its zone; raises HTTPBadRequest with a sentence."""
    text = request.query.get(name)
    if text is None:
        return otherwise
    try:
        # A plus sign in an address that nobody escaped arrives as a blank.
        moment = datetime.fromisoformat(text.replace(" ", "+"))
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise web.HTTPBadRequest(text=f"{name} is a moment such as 2026-01-31T23:00:00Z.")
    return (moment - _EPOCH) // timedelta(milliseconds=1)
