"""Start and finish checksum runs in the store, and read their results.

A run writes its result once, at its end, in one transaction: however it is interrupted, the next one starts
where the last finished one ended. An active run sends a heartbeat (`send_heartbeat`). A run without one for
LEASE_S, or whose process is gone, is dead, and the next one replaces it. Heartbeats have the time of their
own machine: for a run elsewhere that is `maybe_dead`, the next one waits for a heartbeat first.

A result is `unreported` until its command has reported it (`mark_reported`); otherwise the next command does.
If it must also be reported to a service, it is `unposted` until `mark_posted`.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from checksum.compare.finding_text import time_text
from checksum.history import rows as history_rows
from checksum.history.documents import packed_run, unpacked
from checksum.history.entries import Counted, OpenRun, RunRow, VerifiedTo
from fleet.errors import MalformedError, UnavailableError
from runtime.process.identity import is_gone, lease_s, this_process

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from checksum.history.entries import PackedRun, Place
    from runtime.store.store import Store

__all__ = ["ChecksumHistory", "Counted", "OpenRun", "RunRow", "VerifiedTo"]

LEASE_S = 60.0
MOST_COUNTED = 100_000  # buckets that one run writes; the newest
MOST_ASKED = 100_000  # rows of one query
MOST_UNREPORTED = 10  # runs of a flow that are reported at once: a document may have some megabytes


class ChecksumHistory:
    """Reads and writes checksum runs; each method is one short transaction.

    Every method raises UnavailableError if the store fails.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def maybe_dead(self, flow: str, *, now_ms: int) -> list[OpenRun]:
        """Return the runs of a flow that seem dead, but only by another machine's clock.

        One without a new heartbeat after LEASE_S is dead (`begin`).
        """
        found = await self._store.read(partial(history_rows.open_runs, flow=flow))
        return [one for one in found if is_active(one, now_ms) and not _is_certainly_active(one, now_ms)]

    async def begin(
        self,
        flow: str,
        *,
        who: str,
        now_ms: int,
        counts_only: bool,
        process: str | None = None,
        dead: Collection[OpenRun] = (),
    ) -> str:
        """Start a run of a flow, before its plan is made; return its id.

        `who` is the machine and process, for messages; `dead` are `maybe_dead` runs of which no heartbeat
        came for LEASE_S. Raises UnavailableError while another run of the flow is active.
        """
        identity = this_process().text() if process is None else process
        run = OpenRun(uuid.uuid4().hex, flow, "", who[:300], identity, now_ms, now_ms, counts_only)
        on = await self._store.write(
            partial(
                history_rows.begin,
                run=run,
                is_active=lambda other: other not in dead and is_active(other, now_ms),
            )
        )
        if on is not None:
            raise UnavailableError(_refusal(on))
        return run.run

    async def active_flows(self, now_ms: int) -> set[str]:
        """Return the flows with an active run."""
        found = await self._store.read(history_rows.open_runs)
        return {one.flow for one in found if is_active(one, now_ms)}

    async def send_heartbeat(self, run: str, now_ms: int, *, plan: str | None = None) -> bool:
        """Write a heartbeat, and the plan once it is made; False if another run replaced it."""
        return await self._store.write(
            partial(history_rows.update_heartbeat, run=run, now_ms=now_ms, plan=plan)
        )

    async def give_up(self, run: str) -> None:
        """End a run without a result."""
        await self._store.write(partial(history_rows.close_open, run=run))

    async def verified(self, flow: str) -> dict[Place, VerifiedTo]:
        """Return up to where each partition of a flow is verified, by the source's topic and partition."""
        return await self._store.read(partial(history_rows.verified_of, flow=flow))

    async def finish(
        self,
        run: str,
        *,
        now_ms: int,
        status: int,
        document: Mapping[str, Any],
        verified: Mapping[Place, VerifiedTo],
        counts: Iterable[Counted],
        unposted: bool = False,
    ) -> None:
        """Write the result of a run at once: its document, positions, and counts.

        `unposted`: it must be reported to a service. Raises UnavailableError, and writes nothing, if the
        store fails or another run replaced it, and MalformedError for an invalid document.
        """
        whole = await asyncio.to_thread(packed_run, document)
        row = replace(whole.row, status=status)
        newest = sorted(counts, key=lambda one: one.bucket_at_ms)[-MOST_COUNTED:]
        done = await self._store.write(
            partial(
                history_rows.finish,
                run=replace(whole, row=row),
                open_as=run,
                counts=newest,
                verified=verified,
                now_ms=now_ms,
                unposted=unposted,
            )
        )
        if not done:
            raise UnavailableError(
                f"flow {row.flow}: this run sent no heartbeat, and another one took its place; the result is"
                " not stored"
            )

    async def take(self, run: PackedRun, *, now_ms: int) -> bool:
        """Store a run that was reported by another store's command; False if it is known.

        Its positions stay there: only the result is stored.
        """
        row = run.row
        # A clock that is ahead must not make a run the newest forever.
        row = replace(row, begun_ms=min(row.begun_ms, now_ms), ended_ms=min(row.ended_ms, now_ms))
        return await self._store.write(partial(history_rows.take, run=replace(run, row=row), now_ms=now_ms))

    async def runs(self, flow: str, *, limit: int, holding_since_ms: int | None = None) -> list[RunRow]:
        """Return finished runs of a flow, newest first, without documents and without mere counts.

        Also returns those that were received since `holding_since_ms`, however old they are; and those that
        ended since then with a finding, with other runs of the same plans.
        """
        return await self._store.read(
            partial(history_rows.runs_of, flow=flow, limit=limit, holding_since_ms=holding_since_ms)
        )

    async def unreported(self, flow: str) -> list[RunRow]:
        """Return the oldest unreported runs of a flow with their documents, oldest first.

        Runs whose process is alive report themselves. If a process cannot be seen from here its run may be
        reported twice, which is better than never. The document is None if it cannot be read.
        """
        found = await self._store.read(partial(history_rows.unreported_of, flow=flow))
        runs = [run for run, process in found if is_gone(process) is not False][:MOST_UNREPORTED]
        rows = [await self.run_to_report(run) for run in runs]
        return [row for row in rows if row is not None]

    async def mark_reported(self, runs: Iterable[str]) -> None:
        """Mark these runs as reported; they stay queued for a service."""
        await self._store.write(partial(history_rows.mark_reported, runs=sorted(set(runs))))

    async def queue_for_posting(self, runs: Iterable[str]) -> None:
        """Queue these runs for a service."""
        await self._store.write(partial(history_rows.queue_for_posting, runs=sorted(set(runs))))

    async def unposted(self, flow: str) -> list[str]:
        """Return the oldest reported runs of a flow that are queued for a service, oldest first."""
        return await self._store.read(partial(history_rows.unposted_of, flow=flow))

    async def mark_posted(self, runs: Iterable[str]) -> None:
        """Remove these runs from the queue for a service."""
        await self._store.write(partial(history_rows.mark_posted, runs=sorted(set(runs))))

    async def run(self, run: str) -> RunRow | None:
        """Return a finished run with its document, or None."""
        found = await self._store.read(partial(history_rows.run_of, run=run))
        if found is None:
            return None
        return replace(found[0], document=await asyncio.to_thread(unpacked, found[1]))

    async def run_to_report(self, run: str) -> RunRow | None:
        """Return a finished run, without its document if that cannot be read."""
        try:
            return await self.run(run)
        except MalformedError:
            found = await self._store.read(partial(history_rows.run_of, run=run))
            return None if found is None else found[0]

    async def counts(
        self, flow: str, topic: str | None, *, since_ms: int, until_ms: int, limit: int
    ) -> list[Counted]:
        """Return the counts of buckets that start in [since_ms, until_ms), oldest first.

        `topic` is the source's name; None: all topics.
        """
        asked = partial(
            history_rows.counts_of,
            flow=flow,
            topic=topic,
            since_ms=since_ms,
            until_ms=until_ms,
            limit=min(limit, MOST_ASKED),
        )
        return await self._store.read(asked)

    async def forget(self, before_ms: int) -> None:
        """Delete older runs and counts; positions stay."""
        while await self._store.write(partial(history_rows.forget_some, before_ms=before_ms)):
            pass


def is_active(one: OpenRun, now_ms: int) -> bool:
    """Return whether a run is active: its process is alive, or it may have sent a heartbeat recently."""
    gone = is_gone(one.process)
    if gone is not None:
        return not gone
    return _heartbeat_age_s(one, now_ms) < lease_s(one.process, LEASE_S)


def _is_certainly_active(one: OpenRun, now_ms: int) -> bool:
    """Return whether it is certainly active, or was recently by all clocks."""
    return is_gone(one.process) is False or _heartbeat_age_s(one, now_ms) < LEASE_S


def _heartbeat_age_s(one: OpenRun, now_ms: int) -> float:
    """Return how far its last heartbeat is from now; a time in the future is from a wrong clock."""
    return abs(now_ms - one.beaten_ms) / 1000


def _refusal(other: OpenRun) -> str:
    plan = f", plan {other.plan[:12]}" if other.plan else ""
    return (
        f"flow {other.flow}: another checksum run is active since {time_text(other.begun_ms)} on {other.who}"
        f" (run {other.run[:12]}{plan}); wait for it, or stop it there. Without a heartbeat for {LEASE_S:g} s"
        " it counts as ended"
    )
