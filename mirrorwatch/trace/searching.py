"""The facts of one flow about one record, read from both clusters. Blocks."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from fleet.errors import MirrorwatchError, RefusedError
from lagmon.failover.places import RecordRange, record_range, runs_of
from lagmon.mirrors.answers.orders import EQUAL_OFFSETS, GROUP
from mirrorwatch.trace.content import is_same
from mirrorwatch.trace.facts import Basis, HopFacts, HopVerdict, Searched, Status
from mirrorwatch.trace.verdict import found_in, judge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lagmon.syncs.pairs import SyncPair
    from mirrorwatch.failover.mirror_topics import MirrorTopics
    from mirrorwatch.trace.clusters import Clusters, TraceCluster
    from runtime.kafka.picking import PickedRecord, Place

MOST_READ_OFFSETS = 4_000  # of a target, over all of its partitions
NEIGHBORS = 20  # offsets on each side


class Search:
    """One record and the flow of a mirror, whose topics it reads on.

    `offsets` are those of equal records on the source, one or several.
    """

    def __init__(
        self,
        mirror: MirrorTopics,
        place: Place,
        offsets: tuple[int, ...],
        record: PickedRecord,
        clusters: Clusters,
    ) -> None:
        self._mirror = mirror
        self._order = mirror.order
        self._flow = mirror.order.flow
        self._place = place
        self._offsets = offsets
        self._record = record
        self._clusters = clusters

    def verdict(self, *, now_ms: int) -> HopVerdict:
        """Return the verdict on the flow; `unavailable` if a cluster does not answer, or refuses."""
        flow, (topic, number) = self._flow, self._place
        decision = flow.decide(topic)
        remote = decision.remote_topic
        if not decision.replicated or remote is None:
            return self._without(Status.NOT_REPLICATED, f"Not replicated: {decision.sentence}")
        try:
            target = self._clusters[flow.target]
            if remote not in target.topics:
                why = "or Mirrorwatch has no permission to describe it"
                sentence = f"Topic {remote} is missing on {flow.target}, {why}."
                return self._without(Status.TOPIC_MISSING, sentence, remote)
            count = target.topics[remote]
            by_number = self._order.progress.is_mirror_maker or self._order.lag_from == EQUAL_OFFSETS
            if by_number and number >= count:
                sentence = (
                    f"Partition {number} of {remote} is missing on {flow.target}, which has 0 to {count - 1}."
                )
                return self._without(Status.PARTITION_MISSING, sentence, remote)
            numbers = [number] if by_number else list(range(count))
            facts = self._facts(target, remote, numbers, now_ms=now_ms)
            return judge(facts if found_in(facts) is not None else self._explained(facts, target))
        except MirrorwatchError as error:
            return self._without(Status.UNAVAILABLE, str(error), remote)

    def _facts(self, target: TraceCluster, remote: str, numbers: Sequence[int], *, now_ms: int) -> HopFacts:
        source = self._clusters[self._flow.source]
        mirror, problem = self._mirror, self._progress_problem(now_ms=now_ms)
        there = [(remote, number) for number in numbers]
        # After the mirror's offsets: what it has passed is within these ends.
        starts, ends = target.logs(there)
        source_end = source.logs([self._place])[1][self._place]
        pairs, replicated = mirror.pairs.get(self._place, []), mirror.replicated.get(self._place)
        if self._order.lag_from == EQUAL_OFFSETS:
            replicated = ends[there[0]]
        elif self._order.lag_from == GROUP:
            replicated = self._group_offset(source)
        elif replicated is not None and replicated > source_end:
            pairs, replicated = [], None
            problem = (
                f"its offsets are after the log end offset of {self._place[0]}-{self._place[1]} on"
                f" {source.alias}, which was re-created"
            )
        offset = self._offsets[0]
        stale = bool(pairs) and pairs[-1].downstream >= ends[there[0]]
        wanted = self._wanted([] if stale else pairs, ends[there[0]])
        most = max(1, MOST_READ_OFFSETS // len(there))
        # Before the target is read: what is committed meanwhile may be missed.
        stable = {one: target.stable_end(one) for one in there} if self._flow.exactly_once else {}
        return HopFacts(
            flow=self._flow,
            topic=self._place[0],
            partition=self._place[1],
            offset=offset,
            record=self._record,
            remote=remote,
            searched=tuple(
                replace(
                    self._searched(target, one, (starts[one], ends[one]), wanted, most),
                    stable=stable.get(one),
                )
                for one in there
            ),
            source_end=source_end,
            replicated=replicated,
            recreated=(stale and offset <= pairs[-1].upstream) or _is_recreated(pairs, offset),
            progress_problem=problem,
        )

    def _progress_problem(self, *, now_ms: int) -> str:
        """Read the mirror's offset syncs and committed offsets on; return why they were not read."""
        aliases = [one for one in self._order.clusters if one in self._clusters]
        try:
            readers = {alias: self._clusters[alias].reader for alias in aliases}
            topics = {alias: self._clusters[alias].topics for alias in aliases}
            if self._order.lag_from != GROUP:
                self._mirror.read_progress(readers, topics, now_ms=now_ms)
        except MirrorwatchError as error:
            return str(error)
        return ""

    def _group_offset(self, source: TraceCluster) -> int | None:
        """Return the first offset that a mirror does not have yet that commits as a consumer group."""
        names = [name for name in source.reader.groups() if self._order.follows(name)]
        offsets = [one.get(self._place) for one in source.reader.committed(names).values()]
        return max((one for one in offsets if one is not None), default=None)

    def _wanted(self, pairs: Sequence[SyncPair], target_end: int) -> tuple[RecordRange, Basis]:
        """Return where on the target the record must be if it is replicated."""
        first, last = self._offsets[0], self._offsets[-1]
        if self._order.lag_from == EQUAL_OFFSETS:
            exact = first if first == last else None
            return RecordRange(first, last + 1, exact=exact), Basis.EQUAL_OFFSETS
        if not pairs:
            return RecordRange(0, target_end), Basis.WHOLE_LOG
        runs = runs_of(pairs)
        ranges = [
            record_range(runs, one, target_end=target_end, in_transactions=self._flow.exactly_once)
            for one in (first, last)
        ]
        found = ranges[0]
        if first != last:
            found = RecordRange(ranges[0].first, ranges[1].last, by=ranges[1].by)
        return found, Basis.BETWEEN_SYNCS if found.exact is None else Basis.OFFSET_SYNC

    def _searched(
        self,
        target: TraceCluster,
        place: Place,
        log: tuple[int, int],
        expected: tuple[RecordRange, Basis],
        most: int,
    ) -> Searched:
        """Read the offsets that are wanted, as many as allowed, and some around them."""
        (start, end), (wanted, basis) = log, expected
        if basis is Basis.WHOLE_LOG:
            wanted = RecordRange(0, end)
        first, last, by_time = max(wanted.first, start), min(wanted.last, end), False
        if last - first > most and self._record.timestamp_ms >= 0:
            at = target.since([place], self._record.timestamp_ms).get(place, end)
            basis, by_time = (Basis.TIMESTAMP, True) if at > first else (basis, False)
            first = max(first, min(at, last))
        elif last - first > most and wanted.likely is not None:
            first = max(first, wanted.likely - most // 2)
        read_from = max(start, min(first, end) - NEIGHBORS)
        read_to = min(end, min(last, first + most) + NEIGHBORS)
        stretch = target.read(place, read_from, read_to, committed=self._flow.exactly_once)
        return Searched(
            place[1], start, end, wanted, basis, read_from, stretch.last, stretch.records, by_time
        )

    def _explained(self, facts: HopFacts, target: TraceCluster) -> HopFacts:
        """Return the facts with those that explain why a record was not found."""
        source, offset = self._clusters[self._flow.source], facts.offset
        start = source.logs([self._place])[0][self._place]
        near = source.read(
            self._place,
            max(start, offset - NEIGHBORS),
            min(facts.source_end, self._offsets[-1] + 1 + NEIGHBORS),
        ).records
        committed, is_open = None, False
        if self._flow.isolation_level == "read_committed":
            committed = source.is_committed(self._place, offset)
            stable = source.stable_end(self._place)
            is_open = not committed and stable is not None and stable <= offset
        compacts = newer = None
        if not all(one.is_dense for one in facts.searched):
            compacts = self._compacts(target, facts.remote)
            if compacts and self._record.key is not None:
                newer = self._newer_of_key(target, facts)
        return replace(
            facts,
            before=[each for each in near if each.offset < offset],
            after=[each for each in near if each.offset > self._offsets[-1]],
            committed=committed,
            open=is_open,
            compacts=compacts,
            newer_of_key=newer,
        )

    def _compacts(self, target: TraceCluster, remote: str) -> bool | None:
        try:
            policy = target.reader.cleanup_policies([remote]).get(remote)
        except RefusedError:
            return None
        return None if policy is None else "compact" in policy

    def _newer_of_key(self, target: TraceCluster, facts: HopFacts) -> int | None:
        """Return the offset of a later record of the same key on the target."""
        one = facts.searched[0]
        after = min(one.end, max(one.last, one.start))
        more = target.read(
            (facts.remote, one.partition),
            after,
            min(one.end, after + MOST_READ_OFFSETS),
            committed=self._flow.exactly_once,
        )
        since = max(one.wanted.first, 0)
        return next(
            (
                each.offset
                for each in (*one.records, *more.records)
                if each.offset >= since and each.key == self._record.key and self._is_later(each)
            ),
            None,
        )

    def _is_later(self, target: PickedRecord) -> bool:
        later = target.stamped or target.timestamp_ms >= self._record.timestamp_ms
        return later and not is_same(self._record, target)

    def _without(self, status: Status, sentence: str, remote: str | None = None) -> HopVerdict:
        topic, number = self._place
        return HopVerdict(
            flow=self._flow, topic=topic, partition=number, status=status, sentence=sentence, remote=remote
        )


def _is_recreated(pairs: Sequence[SyncPair], offset: int) -> bool:
    """Return whether the target topic was re-created after a record: its offsets alone went back."""
    return any(
        before.upstream >= offset
        and after.upstream > before.upstream
        and after.downstream < before.downstream
        for before, after in pairwise(pairs)
    )
