"""A mirror of one partition as MirrorMaker works, with the truth about each record."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

from lagmon.syncs.pairs import SyncPair

LAG_MAX = 5


@dataclass
class Mirror:
    """`log` is the target log: the source offset of each record. Syncs are written as OffsetSyncWriter does."""

    log: list[int] = field(default_factory=list)
    pairs: list[SyncPair] = field(default_factory=list)
    next_offset: int = 0
    _last: tuple[int, int] | None = None
    _synced: int | None = None

    def replicate(self, upstream: int) -> None:
        downstream = len(self.log)
        self.log.append(upstream)
        if (
            self._last is None
            or self._synced is None
            or downstream >= self._synced + 1 + LAG_MAX
            or upstream != self._last[0] + 1
            or downstream < self._last[1] + 1
        ):
            self.pairs.append(SyncPair(0, len(self.pairs), upstream, downstream, 0))
            self._synced = downstream
        self._last = (upstream, downstream)
        self.next_offset = upstream + 1

    def go_back(self, records: int) -> None:
        """Restart with offsets that were committed so many records ago."""
        self.next_offset = max(0, self.next_offset - records)
        self._last = self._synced = None

    def last_start(self, upstream: int) -> int:
        """Return the last target offset from which no replicated record at or after `upstream` is missed."""
        last = {source: place for place, source in enumerate(self.log)}
        return min((place for source, place in last.items() if source >= upstream), default=len(self.log))

    def read_again(self, start: int, upstream: int) -> int:
        return sum(source < upstream for source in self.log[start:])

    def skipped(self, start: int, upstream: int) -> int:
        return len({source for source in self.log if source >= upstream} - {*self.log[start:]})


# Steps of a mirror: records in a row, source offsets without a record, a restart that repeats some.
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("records"), st.integers(1, 12)),
        st.tuples(st.just("gap"), st.integers(1, 3)),
        st.tuples(st.just("back"), st.integers(0, 15)),
    ),
    max_size=12,
)


def played(steps: list[tuple[str, int]]) -> tuple[Mirror, int]:
    """Return a mirror after these steps, and the source log end offset."""
    mirror, gaps, end = Mirror(), set(), 0
    for kind, count in steps:
        if kind == "back":
            mirror.go_back(count)
            continue
        if kind == "gap":
            gaps |= {*range(end, end + count)}
        end += count
        for offset in range(mirror.next_offset, end):
            if offset not in gaps:
                mirror.replicate(offset)
    return mirror, end
