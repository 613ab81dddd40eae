"""Reads offset syncs from the lag monitor, stores them, and thins them in the store."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from fleet.errors import UnavailableError
from lagmon.syncs.queue import WaitingSync
from lagmon.syncs.tables import Cursor, crowded, cursor_of, last_place, thin_places, write_syncs
from lagmon.syncs.thinning import Thinning
from mirrorwatch.lag.sync_id_keeping import TopicIdKeeper

if TYPE_CHECKING:
    from collections.abc import Sequence

    from canary.report import Reporter
    from mirrorwatch.lag.sync_id_keeping import Asked
    from runtime.process.clock import WaitingClock
    from runtime.store.store import Store

ASK_S = 5.0  # between two rounds
MOST_ASKED = 100  # requests for one flow in a round, so that every flow gets its turn
SHORT_S = 0.05  # between two transactions, so that others get theirs
FRESH = 128  # new pairs of a partition after which it is thinned
THINNED_AT_ONCE = 10
LOOKED_AT_ONCE = 500  # partitions in one query: some hundred thousand pairs at most
MOST_KNOWN = 100_000  # remembered places of one flow; others are read from the store again
IDS_S = 30.0  # between two polls of topic ids, which are read as often
LOOK_S = 3600.0  # between two checks of all partitions
WHERE = "store: offset syncs"


class SyncKeeper:
    """Stores the syncs of these flows for `keep_s`."""

    def __init__(
        self,
        store: Store,
        monitor: Asked,
        flows: Sequence[str],
        *,
        keep_s: float,
        clock: WaitingClock,
        reporter: Reporter,
    ) -> None:
        self._store = store
        self._monitor = monitor
        self._flows = list(flows)
        self._rules = Thinning(keep_ms=int(keep_s * 1000))
        self._clock = clock
        self._reporter = reporter
        self._cursors: dict[str, Cursor] = {}
        self._places: dict[str, dict[tuple[str, int], int]] = {flow: {} for flow in flows}
        self._fresh: Counter[int] = Counter()  # new pairs by place, since it was thinned
        self._ids = TopicIdKeeper(store, monitor, keep_ms=self._rules.keep_ms)
        self._ids_asked_ns: int | None = None
        self._looked_ns: int | None = None
        self._seen_malformed: set[str] = set()
        self._seen_gone: Counter[str] = Counter()
        self._never = asyncio.Event()  # for waits that end only by timeout

    async def keep(self) -> None:
        """Request, write and thin until cancelled."""
        while True:
            await self.go_round()
            await self._clock.wait(self._never, timeout_s=ASK_S)

    async def go_round(self) -> None:
        """Write the new syncs of every flow, then thin; unwritten ones are kept for the next round."""
        try:
            for flow in self._flows:
                await self._catch_up(flow)
            await self._look_at_ids()
            await self._thin()
        except UnavailableError as error:
            self._reporter.problem(WHERE, str(error))
        else:
            self._reporter.settled(WHERE)

    async def _catch_up(self, flow: str) -> None:
        """Write the new syncs of one flow; raises UnavailableError if the store fails."""
        for _ in range(MOST_ASKED):
            if flow not in self._cursors:
                self._cursors[flow] = await self._store.read(partial(cursor_of, flow=flow))
            cursor = self._cursors[flow]
            try:
                head, body = await self._monitor.ask(
                    "syncs", flow=flow, topic_id=cursor.topic_id, since=cursor.next_number
                )
            except UnavailableError:
                return  # others report that it does not answer
            self._tell(flow, head)
            if not head["topic_id"] or (head["topic_id"], head["next"]) == (
                cursor.topic_id,
                cursor.next_number,
            ):
                return
            await self._write(flow, head, [WaitingSync(*row) for row in json.loads(body)])
            if not head["more"]:
                return
            await self._clock.wait(self._never, timeout_s=SHORT_S)

    async def _write(self, flow: str, head: dict[str, Any], syncs: Sequence[WaitingSync]) -> None:
        known = self._places[flow]
        written = await self._store.write(
            partial(
                write_syncs,
                flow=flow,
                syncs=syncs,
                topic_id=head["topic_id"],
                next_number=head["next"],
                known=known,
            )
        )
        self._cursors[flow] = written.cursor
        known.update(written.places)
        for where in list(islice(known, max(0, len(known) - MOST_KNOWN))):
            del known[where]
        self._fresh.update(written.fresh)

    async def _look_at_ids(self) -> None:
        now_ns = self._clock.monotonic_ns()
        if self._ids_asked_ns is None or now_ns - self._ids_asked_ns >= IDS_S * 1e9:
            for flow in self._flows:
                await self._ids.look(flow)
            self._ids_asked_ns = now_ns

    async def _thin(self) -> None:
        now_ms = int(self._clock.wall_s() * 1000)
        now_ns = self._clock.monotonic_ns()
        await self._thin_places([place for place, count in self._fresh.items() if count >= FRESH], now_ms)
        if self._looked_ns is not None and now_ns - self._looked_ns < LOOK_S * 1e9:
            return
        for first in range(1, 1 + await self._store.read(last_place), LOOKED_AT_ONCE):
            look = partial(
                crowded,
                places=range(first, first + LOOKED_AT_ONCE),
                more_than=self._rules.whole_pairs,
                before_ms=now_ms - self._rules.keep_ms,
            )
            await self._thin_places(await self._store.read(look), now_ms)
        await self._ids.forget(now_ms)
        self._fresh.clear()  # crowded places are thinned, and deleted topics get no new pairs
        self._looked_ns = now_ns

    async def _thin_places(self, due: Sequence[int], now_ms: int) -> None:
        for first in range(0, len(due), THINNED_AT_ONCE):
            places = due[first : first + THINNED_AT_ONCE]
            await self._store.write(partial(thin_places, places=places, now_ms=now_ms, rules=self._rules))
            for place in places:
                self._fresh.pop(place, None)
            await self._clock.wait(self._never, timeout_s=SHORT_S)

    def _tell(self, flow: str, head: dict[str, Any]) -> None:
        """Report problems of the topic of offset syncs and its records."""
        where = f"offset syncs of {flow}"
        if head["malformed"] and flow not in self._seen_malformed:
            self._seen_malformed.add(flow)
            self._reporter.event(
                "malformed record in the topic of offset syncs",
                flow=flow,
                malformed=head["malformed"],
                sample=head["sample"],
            )
        if head["gone"] > self._seen_gone[flow]:
            self._reporter.event(
                "offset syncs lost: the store was unavailable until retention deleted them",
                flow=flow,
                syncs=head["gone"] - self._seen_gone[flow],
            )
        self._seen_gone[flow] = head["gone"]  # less after a restart of the lag monitor
        told = [head["refused"]] if head["refused"] else []
        if head["beyond"]:
            told.append(f"{head['beyond']} offset syncs not stored: too many partitions.")
        if told:
            self._reporter.problem(where, " ".join(told))
        else:
            self._reporter.settled(where)
