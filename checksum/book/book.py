"""The book of checksums in the store: which run is on, what was found, and up to where all is verified.

A run writes what it found once, at its end and in one transaction: whatever ends it before, the next one
begins where the last finished one ended. A run that is on gives a sign of life (`beat`); one that gives none
for LEASE_S, or whose process is seen to be gone, is no more, and the next one takes its place. A sign is
dated by its own machine's clock: of a run elsewhere that is `doubtful` it has to be seen that none comes.
What was written is `untold` until its command says that it was told (`tell`); whoever finds it so tells it.
Where a service is to be told as well, it is `owed` that until it has `heard`.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from checksum.book import rows as book_rows
from checksum.book.documents import packed_run, unpacked
from checksum.book.entries import Counted, OpenRun, RunRow, VerifiedTo
from checksum.compare.finding_words import time_text
from fleet.errors import MalformedError, UnavailableError
from runtime.process.identity import is_gone, lease_s, this_process

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from checksum.book.entries import PackedRun, Place
    from runtime.store.store import Store

__all__ = ["ChecksumBook", "Counted", "OpenRun", "RunRow", "VerifiedTo"]

LEASE_S = 60.0
MOST_COUNTED = 100_000  # buckets that one run writes: of more the newest
MOST_ASKED = 100_000  # rows of one answer
MOST_UNTOLD = 10  # runs of a flow that are told at once: a document may have some megabytes


class ChecksumBook:
    """Reads and writes what the store keeps of checksums; each method is one short transaction.

    Every method raises UnavailableError where the store fails.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    async def doubtful(self, flow: str, *, now_ms: int) -> list[OpenRun]:
        """Return the runs of a flow that seem to give no sign, but by the clock of another machine.

        One that stands as it does after LEASE_S is silent (`begin`).
        """
        found = await self._store.read(partial(book_rows.open_runs, flow=flow))
        return [one for one in found if is_on(one, now_ms) and not _has_signed(one, now_ms)]

    async def begin(
        self,
        flow: str,
        *,
        who: str,
        now_ms: int,
        counts_only: bool,
        process: str | None = None,
        silent: Collection[OpenRun] = (),
    ) -> str:
        """Note that a run of a flow begins, its plan not made yet, and return its id.

        `who` says for people on which machine, in which process; `silent` are runs that were `doubtful` for
        LEASE_S: those that gave a sign meanwhile are on. Raises UnavailableError, with a sentence, while
        another run of the flow is on.
        """
        told = this_process().text() if process is None else process
        run = OpenRun(uuid.uuid4().hex, flow, "", who[:300], told, now_ms, now_ms, counts_only)
        on = await self._store.write(
            partial(
                book_rows.begin, run=run, is_on=lambda other: other not in silent and is_on(other, now_ms)
            )
        )
        if on is not None:
            raise UnavailableError(_refusal(on))
        return run.run

    async def flows_on(self, now_ms: int) -> set[str]:
        """Return the flows of which a run is on."""
        found = await self._store.read(book_rows.open_runs)
        return {one.flow for one in found if is_on(one, now_ms)}

    async def beat(self, run: str, now_ms: int, *, plan: str | None = None) -> bool:
        """Give a sign of life, and tell the plan where it is made; False where another run took its place."""
        return await self._store.write(partial(book_rows.beat_open, run=run, now_ms=now_ms, plan=plan))

    async def give_up(self, run: str) -> None:
        """Note that a run ended with nothing to tell."""
        await self._store.write(partial(book_rows.close_open, run=run))

    async def verified(self, flow: str) -> dict[Place, VerifiedTo]:
        """Return up to where each partition of a flow is verified, by the source's topic and partition."""
        return await self._store.read(partial(book_rows.verified_of, flow=flow))

    async def finish(
        self,
        run: str,
        *,
        now_ms: int,
        status: int,
        document: Mapping[str, Any],
        verified: Mapping[Place, VerifiedTo],
        counts: Iterable[Counted],
        owed: bool = False,
    ) -> None:
        """Write all that a run comes to, at once: its document, how far is verified, what was counted.

        `owed`: a service is to be told of it. Raises UnavailableError, and writes nothing, where the store
        fails or another run took its place, and MalformedError for a document that no run makes.
        """
        whole = await asyncio.to_thread(packed_run, document)
        row = replace(whole.row, status=status)
        newest = sorted(counts, key=lambda one: one.bucket_at_ms)[-MOST_COUNTED:]
        done = await self._store.write(
            partial(
                book_rows.finish,
                run=replace(whole, row=row),
                open_as=run,
                counts=newest,
                verified=verified,
                now_ms=now_ms,
                owed=owed,
            )
        )
        if not done:
            raise UnavailableError(
                f"flow {row.flow}: this run was taken for gone, and another has begun since: what it found is"
                " not kept"
            )

    async def take(self, run: PackedRun, *, now_ms: int) -> bool:
        """Take a run that ended elsewhere; False where it is known.

        What it verified stays where it ran: only what it found is taken.
        """
        row = run.row
        # A clock that is ahead elsewhere must not make a run the newest for good.
        row = replace(row, begun_ms=min(row.begun_ms, now_ms), ended_ms=min(row.ended_ms, now_ms))
        return await self._store.write(partial(book_rows.take, run=replace(run, row=row), now_ms=now_ms))

    async def runs(self, flow: str, *, limit: int, taken_since_ms: int | None = None) -> list[RunRow]:
        """Return finished runs of a flow, newest first, without their documents; none that merely counted.

        Beside the newest come those that were taken since then, however old they are.
        """
        return await self._store.read(
            partial(book_rows.runs_of, flow=flow, limit=limit, taken_since_ms=taken_since_ms)
        )

    async def untold(self, flow: str) -> list[RunRow]:
        """Return the oldest runs of a flow that nobody has been told of, with their documents, oldest first.

        Not those whose process is seen to run: it will tell them itself. Of one whose process cannot be seen
        from here nobody can say, so that it may be told twice, which is better than never. The document is
        None where it cannot be read.
        """
        found = await self._store.read(partial(book_rows.untold_of, flow=flow))
        runs = [run for run, process in found if is_gone(process) is not False][:MOST_UNTOLD]
        rows = [await self.run_to_tell(run) for run in runs]
        return [row for row in rows if row is not None]

    async def tell(self, runs: Iterable[str]) -> None:
        """Note that these runs were told; a service is owed them still, where it was."""
        await self._store.write(partial(book_rows.tell, runs=sorted(set(runs))))

    async def owe(self, runs: Iterable[str]) -> None:
        """Note that a service is to be told of these runs."""
        await self._store.write(partial(book_rows.owe, runs=sorted(set(runs))))

    async def owed(self, flow: str) -> list[str]:
        """Return the oldest runs of a flow that a service is owed and that are not `untold`, oldest first."""
        return await self._store.read(partial(book_rows.owed_of, flow=flow))

    async def heard(self, runs: Iterable[str]) -> None:
        """Note that a service is owed these runs no more."""
        await self._store.write(partial(book_rows.heard, runs=sorted(set(runs))))

    async def run(self, run: str) -> RunRow | None:
        """Return a finished run with its document; None where there is none of this id."""
        found = await self._store.read(partial(book_rows.run_of, run=run))
        if found is None:
            return None
        return replace(found[0], document=await asyncio.to_thread(unpacked, found[1]))

    async def run_to_tell(self, run: str) -> RunRow | None:
        """Return a finished run as `run` does, without its document where that cannot be read."""
        try:
            return await self.run(run)
        except MalformedError:
            found = await self._store.read(partial(book_rows.run_of, run=run))
            return None if found is None else found[0]

    async def counts(
        self, flow: str, topic: str | None, *, since_ms: int, until_ms: int, limit: int
    ) -> list[Counted]:
        """Return what was counted in buckets that begin in [since_ms, until_ms), oldest first.

        `topic` is the source's name; None: of all topics.
        """
        asked = partial(
            book_rows.counts_of,
            flow=flow,
            topic=topic,
            since_ms=since_ms,
            until_ms=until_ms,
            limit=min(limit, MOST_ASKED),
        )
        return await self._store.read(asked)

    async def forget(self, before_ms: int) -> None:
        """Delete runs and counts that were written before this; what is verified stays."""
        while await self._store.write(partial(book_rows.forget_some, before_ms=before_ms)):
            pass


def is_on(one: OpenRun, now_ms: int) -> bool:
    """Tell whether a run is on: its process is seen to run, or may have given a sign not long ago."""
    gone = is_gone(one.process)
    if gone is not None:
        return not gone
    return _apart_s(one, now_ms) < lease_s(one.process, LEASE_S)


def _has_signed(one: OpenRun, now_ms: int) -> bool:
    """Tell whether it is seen to be on, or was not long ago by all clocks."""
    return is_gone(one.process) is False or _apart_s(one, now_ms) < LEASE_S


def _apart_s(one: OpenRun, now_ms: int) -> float:
    """Return how far its last sign is from now: one that lies ahead was dated by a clock that was wrong."""
    return abs(now_ms - one.beaten_ms) / 1000


def _refusal(other: OpenRun) -> str:
    plan = f", plan {other.plan[:12]}" if other.plan else ""
    return (
        f"flow {other.flow}: another run of the checksum is on, since {time_text(other.begun_ms)}, on"
        f" {other.who} (run {other.run[:12]}{plan}). Wait until it has ended, or end it there; one that gives"
        f" no sign for {LEASE_S:g} s counts as ended"
    )
