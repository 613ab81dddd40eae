"""Queries to the clusters of a trace: topics, offsets, records. Blocks.

A cluster is connected when it is first needed. If it does not answer, that is remembered, so that several
flows to it wait once.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Self

from fleet.errors import MirrorwatchError, UnavailableError
from mirrorwatch.failover.cluster import ClusterReader
from runtime.kafka.picking import Picker
from runtime.kafka.positions import Which

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from runtime.kafka.picking import PickedRecord, Place
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

ANSWER_S = 10.0
MOST_READ_BYTES = 16_000_000  # in one call of `read`: keys and values


class Stretch(NamedTuple):
    """Records of one partition: those from an offset up to `last`, not included."""

    records: list[PickedRecord]
    last: int


class TraceCluster:
    """One cluster. `reader` is open; `make_picker(committed)` opens a reader of records.

    Each query opens one of its own: a client that was idle for a moment needs a second to answer. Records
    come without `excluded_headers`.
    """

    def __init__(
        self,
        reader: ClusterReader,
        make_picker: Callable[[bool], Picker],
        *,
        excluded_headers: Collection[str] = (),
    ) -> None:
        self.reader = reader
        self.alias = reader.alias
        self._make_picker = make_picker
        self._excluded_headers = excluded_headers
        self._topics: dict[str, int] | None = None

    @property
    def topics(self) -> dict[str, int]:
        """Return the number of partitions of each topic, as they were at the first query."""
        if self._topics is None:
            self._topics = self.reader.topics()
        return self._topics

    def logs(self, places: Sequence[Place]) -> tuple[dict[Place, int], dict[Place, int]]:
        """Return log start and log end offsets; raises UnavailableError if one is not answered."""
        starts = self.reader.offsets(places, Which.START)
        ends = self.reader.offsets(places, Which.END)
        silent = [f"{place[0]}-{place[1]}" for place in places if place not in starts or place not in ends]
        if silent:
            some = ", ".join(silent[:5])
            raise UnavailableError(
                f"cluster {self.alias}: no offsets of {some}; check whether the leader is up"
            )
        return starts, ends

    def read(self, place: Place, first: int, last: int, *, committed: bool = False) -> Stretch:
        """Return the records of a partition between two offsets, `last` not included.

        Those of aborted and open transactions too, unless `committed`. It ends early at a limit of bytes, or
        if the log no longer has them.
        """
        found: list[PickedRecord] = []
        size = 0
        if first >= last:
            return Stretch(found, first)
        with closing(self._make_picker(committed)) as picker:
            while first < last and size < MOST_READ_BYTES:
                picked = picker.pick({place: (first, last - first)}, longest_s=ANSWER_S)[place]
                inside = [self._without_excluded(one) for one in picked.records if one.offset < last]
                found += inside
                size += picked.size_bytes
                if picked.lost:
                    break
                if picked.ended or len(inside) < len(picked.records):
                    return Stretch(found, last)
                first = picked.records[-1].offset + 1
        return Stretch(found, first)

    def _without_excluded(self, record: PickedRecord) -> PickedRecord:
        if not self._excluded_headers or not record.headers:
            return record
        return record._replace(
            headers=[one for one in record.headers if one[0] not in self._excluded_headers]
        )

    def since(self, places: Sequence[Place], at_ms: int) -> dict[Place, int]:
        """Return by partition the offset of the first record at or after a moment, where there is one."""
        with closing(self._make_picker(False)) as picker:
            return picker.since(dict.fromkeys(places, at_ms))

    def next_record(self, place: Place, offset: int, *, committed: bool = False) -> PickedRecord | None:
        """Return the first record at or after an offset that the log has; None if there is none.

        `committed`: of those that a consumer of committed records reads.
        """
        with closing(self._make_picker(committed)) as picker:
            records = picker.pick({place: (offset, 1)}, longest_s=ANSWER_S)[place].records
        return records[0] if records else None

    def is_committed(self, place: Place, offset: int) -> bool:
        """Return whether a consumer of committed records reads a record at this offset."""
        found = self.next_record(place, offset, committed=True)
        return found is not None and found.offset == offset

    def stable_end(self, place: Place) -> int | None:
        """Return the last stable offset: records from there on are not committed yet."""
        return self.reader.offsets([place], Which.STABLE).get(place)


class Clusters:
    """The clusters of a configuration; a context manager. Their records come without `excluded_headers`."""

    def __init__(
        self,
        settings: Mapping[str, ClientSettings],
        clock: Clock,
        *,
        excluded_headers: Collection[str] = (),
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._excluded_headers = frozenset(excluded_headers)
        self._opened = ExitStack()
        self._known: dict[str, TraceCluster] = {}
        self._problems: dict[str, MirrorwatchError] = {}

    def __enter__(self) -> Self:
        """Return itself; clusters are connected later."""
        return self

    def __exit__(self, *exc: object) -> None:
        """Close all clients."""
        self._opened.close()

    def __contains__(self, alias: object) -> bool:
        return alias in self._settings

    def __getitem__(self, alias: str) -> TraceCluster:
        """Return a cluster whose topics are read; raises MirrorwatchError if it does not answer."""
        if alias in self._problems:
            raise self._problems[alias]
        if alias not in self._known:
            try:
                found = self._open(alias)
                _ = found.topics
            except MirrorwatchError as error:
                self._problems[alias] = error
                raise
            self._known[alias] = found
        return self._known[alias]

    def _open(self, alias: str) -> TraceCluster:
        reader = ClusterReader(alias, self._settings[alias], self._clock, apart=False)
        self._opened.enter_context(reader)
        return TraceCluster(
            reader, partial(self._open_picker, alias), excluded_headers=self._excluded_headers
        )

    def _open_picker(self, alias: str, committed: bool) -> Picker:
        picker = Picker(
            self._settings[alias],
            cluster=alias,
            name=f"mirrorwatch-{alias}-trace",
            clock=self._clock,
            committed=committed,
        )
        picker.open()
        return picker
