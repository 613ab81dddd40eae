"""The facts of one flow, as read from outside: its clusters, offsets, topics and tasks. Pure.

The readers of a mirror's progress (`mirrors/progress`) write here, under the locks of both clusters.
Everything else only reads.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fleet.verdicts.flow import SOURCE_CONNECTOR
from lagmon.mirrors.answers.orders import GROUP
from lagmon.mirrors.metadata.settings import MirrorSettings, retention_of
from lagmon.mirrors.metadata.topics import MirrorTopics
from lagmon.mirrors.partitions.window import MirrorWindows
from lagmon.mirrors.tasks.assignments import MirrorAssignments
from lagmon.mirrors.tasks.states import MirrorStates
from lagmon.syncs.runs import SyncRuns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from lagmon.cluster.state import ClusterLag
    from lagmon.logs.readable import Readable
    from lagmon.logs.record_questions import RecordQuestions
    from lagmon.mirrors.answers.orders import MirrorOrder

DEFAULT_REFRESH_S = 600.0


@dataclass(slots=True)
class FlowFacts:
    """The facts of one flow."""

    order: MirrorOrder
    source: ClusterLag
    target: ClusterLag
    windows: MirrorWindows = field(default_factory=MirrorWindows)
    syncs: SyncRuns = field(default_factory=SyncRuns)
    topics: MirrorTopics = field(init=False)
    settings: MirrorSettings = field(default_factory=MirrorSettings)
    retention_ms: dict[str, int] = field(default_factory=dict)  # of source topics, -1 for no limit
    states: MirrorStates = field(init=False)  # of its tasks, from its worker
    assignments: MirrorAssignments = field(init=False)  # of partitions to its tasks, from its worker
    read_to_ms: int = -1  # up to when the mirror's offsets are read; -1: not yet
    problem: str = ""  # why the offsets are not read, "" if they are
    note: str = ""  # a remark about these offsets for the reader
    groups: tuple[str, ...] = ()  # whose commits are the mirror's progress, if groups are
    estimated: set[tuple[str, int]] = field(
        default_factory=set
    )  # partitions whose newest offset is an estimate

    def __post_init__(self) -> None:
        self.topics = MirrorTopics(self.order.flow, self._replicates)
        connector = self.order.connector or self.order.flow.connector or SOURCE_CONNECTOR
        self.states, self.assignments = MirrorStates(connector), MirrorAssignments(connector)

    @property
    def refresh_ms(self) -> int:
        """Return how often the mirror refreshes its list of topics."""
        return int((self.order.flow.refresh_topics_interval_s or DEFAULT_REFRESH_S) * 1000)

    @property
    def committed_only(self) -> bool:
        """Return whether the mirror skips records of transactions that were not committed."""
        return self.order.flow.isolation_level == "read_committed" and self.order.progress.commits

    @property
    def asks_groups(self) -> bool:
        """Return whether its groups' offsets come from the Admin API, which has no commit times."""
        return self.order.lag_from == GROUP and self.source.asking

    @property
    def questions(self) -> RecordQuestions:
        """Return where to ask whether the source has a record that the mirror may replicate."""
        return self.source.tails.questions[self.committed_only]

    @property
    def readable(self) -> Readable:
        """Return what was read of the source's tails, of the records that the mirror may replicate."""
        return self.source.readable if self.committed_only else self.source.readable_uncommitted

    @property
    def readable_ends(self) -> NDArray[np.int64]:
        """Return the end offset up to which the mirror can read, by source place; -1 if unknown."""
        ends, stable = self.source.heads.end, self.source.heads.stable
        return np.where((stable >= 0) & self.committed_only, np.minimum(stable, ends), ends)

    def places_without(self) -> Iterator[tuple[str, int, int]]:
        """Yield topic, partition and source place of each partition without an offset of the mirror."""
        there = self.source.topics
        with_offset = Counter(
            topic for topic, partition, _ in self.windows.slots() if partition < there.get(topic, 0)
        )
        for topic in self.topics.remote:
            places = self.source.places.listed_of(topic)
            if with_offset[topic] != len(places):
                for partition, place in enumerate(places):
                    if self.windows.slot(topic, partition) is None:
                        yield topic, partition, place

    def note_settings(
        self, alias: str, name: str, settings: Mapping[str, str], *, asked_ms: int = -1
    ) -> None:
        """Take in the settings of a topic of one cluster, by its name there.

        `asked_ms` is when they were read.
        """
        if alias == self.order.flow.source and name in self.topics.remote:
            self.note_retention(name, settings)
            self.settings.note(name, "source", settings)
        if alias == self.order.flow.target:
            for topic in (topic for topic, remote in self.topics.remote.items() if remote == name):
                self.settings.note(topic, "target", settings, asked_ms=asked_ms)

    def note_retention(self, topic: str, settings: Mapping[str, str]) -> None:
        """Take in how long a source topic keeps its records, if it deletes them."""
        retention_ms = retention_of(settings)
        if retention_ms is not None:
            self.retention_ms[topic] = retention_ms

    def _replicates(self, topic: str, remote: str) -> bool:
        """Return whether an offset or a target topic shows that the mirror replicates a topic.

        If target topics keep the source's names, a target topic alone proves nothing. A mirror that is not
        MirrorMaker 2 has none of its versions.
        """
        if not self.order.progress.is_mirror_maker:
            return True
        if remote in self.target.topics and not self.order.flow.keeps_names:
            return True
        partitions = range(self.source.topics.get(topic, 0))
        return any(self.windows.slot(topic, number) is not None for number in partitions)
