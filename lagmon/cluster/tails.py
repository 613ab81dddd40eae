"""Checks of the last offsets before log ends ("tails"), where groups or mirrors are idle. Pure."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from lagmon.arrays.place_rows import parts
from lagmon.logs.readable import Readable, Readers
from lagmon.logs.record_due import RecordDue, RecordReaders
from lagmon.logs.record_questions import RecordQuestions

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from lagmon.ingest.intake import Intake
    from lagmon.logs.heads import Heads
    from lagmon.logs.readable import Stretch


class Tails:
    """Results and plans of tail checks, for consumers of committed records (groups) and of all records."""

    def __init__(self) -> None:
        self.readable = Readable()
        self.readable_uncommitted = Readable()  # for mirrors that also replicate aborted records
        # by flow, with whether it reads only committed records
        self.mirror_readers: dict[str, tuple[bool, Readers]] = {}
        self.idle_mirrors: dict[str, RecordReaders] = {}  # by flow
        # Whether single offsets hold a record, for mirrors of committed and of all records.
        self.questions = {True: RecordQuestions(), False: RecordQuestions()}
        self.refused: set[str] = set()  # topics that Mirrorwatch may not read
        self._records = RecordDue()

    def note_ends(self, places: NDArray[np.int32], ends: NDArray[np.int64]) -> None:
        """Add new log ends; results beyond one that fell are dropped."""
        self.readable.note_ends(places, ends)
        self.readable_uncommitted.note_ends(places, ends)

    def forget(self, places: NDArray[np.int32]) -> None:
        """Forget these places."""
        self.readable.forget(places)
        self.readable_uncommitted.forget(places)
        for questions in self.questions.values():
            questions.forget(places.tolist())

    def due(
        self,
        intake: Intake,
        heads: Heads,
        silent: Readers,
        *,
        now_ms: int,
        committed: bool,
        without: Collection[int] = (),
    ) -> list[Stretch]:
        """Return the tails to check, to learn whether consumers before idle log ends have records left.

        `silent` are group-partitions without a commit, `without` places that cannot be read.
        """
        mirrors = (one for leaves_open, one in self.mirror_readers.values() if leaves_open is committed)
        groups = chain(_groups(intake, heads, now_ms), (silent,)) if committed else ()
        readable = self.readable if committed else self.readable_uncommitted
        return readable.due(chain(mirrors, groups), heads.stood(3), now_ms=now_ms, without=without)

    def records_due(
        self, intake: Intake | None, heads: Heads, *, now_ms: int, without: Collection[int]
    ) -> list[tuple[int, int]]:
        """Return place and offset of records whose timestamps to read."""
        groups = iter(()) if intake is None else _every_group(intake)
        readers = chain(groups, self.idle_mirrors.values())
        return self._records.due(readers, heads, now_ms=now_ms, without=without)


def _used(intake: Intake) -> Iterator[NDArray[np.intp]]:
    """Yield the slots with a position, in parts, to need little memory."""
    for part in parts(len(intake.slots)):
        yield part.start + np.flatnonzero(intake.slots.place[part] >= 0)


def _every_group(intake: Intake) -> Iterator[RecordReaders]:
    for used in _used(intake):
        yield RecordReaders(intake.slots.place[used], intake.rings.offset[used, -1])


def _groups(intake: Intake, heads: Heads, now_ms: int) -> Iterator[Readers]:
    for used in _used(intake):
        yield _readers(intake, heads, used, now_ms)


def _readers(intake: Intake, heads: Heads, used: NDArray[np.intp], now_ms: int) -> Readers:
    """Return the groups at these slots that have lag."""
    rings, trail = intake.rings, intake.trail
    places = intake.slots.place[used]
    offset, head = rings.offset[used, -1], heads.head(places)
    idle_ms = now_ms - intake.seen_ms[used]
    for column in (-1, -2):
        same = (trail.offset[used, column:] == offset[:, None]).all(axis=1)
        apart_ms = rings.committed_ms[used, -1] - trail.committed_ms[used, column]
        idle_ms[same] = now_ms - intake.seen_ms[used[same]] + apart_ms[same]
    there = (offset >= heads.start[places]) & (offset < head)
    # Consumers commit offsets after aborted records.
    far = np.zeros(np.count_nonzero(there), np.bool_)
    return Readers(places[there], offset[there], head[there], idle_ms[there], far)
