"""Queries to one cluster for a failover: topics, groups, offsets, new records of a topic. Blocks."""

from __future__ import annotations

from contextlib import ExitStack, asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from fleet.errors import RefusedError, UnavailableError
from fleet.quantity import count_text
from lagmon.ingest.admin_fallback import hidden_sentence
from runtime.kafka.admin import ClusterAdmin
from runtime.kafka.bulk import SOON_MS, Bulk, batches_to_end
from runtime.kafka.group_asker import DirectAsker, GroupAsker
from runtime.kafka.group_offsets import (
    Failed,
    GroupsListed,
    MembersCounted,
    OffsetsTold,
    RightTold,
    commit_offsets,
)
from runtime.kafka.positions import Positions, Which
from runtime.process.loop import run_to_end

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable, Iterator, Mapping, Sequence

    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

ANSWER_S = 10.0
_GRACE_S = 5.0
_WAIT_S = 0.2
_GROUPS_AT_ONCE = 200
_TOPIC_S = 60.0  # to read on to the end of a topic

Place = tuple[str, int]
_T = TypeVar("_T")


class TopicRecord(NamedTuple):
    """A record of a topic that is followed; `at_ms` is -1 without a timestamp."""

    key: bytes | None
    value: bytes | None
    offset: int
    at_ms: int


@dataclass(slots=True)
class Followed:
    """Up to where a topic is read: the next offset by partition; `creation` counts its re-creations."""

    topic: str
    topic_id: str = ""
    offsets: dict[int, int] = field(default_factory=dict)
    creation: int = 0


class ClusterReader:
    """Queries one cluster; a context manager. Each query raises MirrorwatchError without an answer.

    `apart`: groups are queried by a process of their own, because the client may abort its process.
    """

    def __init__(self, alias: str, settings: ClientSettings, clock: Clock, *, apart: bool = True) -> None:
        self.alias = alias
        self._settings = settings
        self._clock = clock
        self._positions = Positions(settings, cluster=alias, name=f"{alias}-failover", clock=clock)
        self._groups = (GroupAsker if apart else DirectAsker)(settings, cluster=alias, timeout_s=ANSWER_S)
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        """Create the clients; they connect at the first query."""
        self._opened.callback(self._positions.close)
        self._positions.open()
        self._opened.callback(self._groups.end)
        self._groups.start()
        return self

    def __exit__(self, *exc: object) -> None:
        """Close the clients."""
        self._opened.close()

    @property
    def cluster_id(self) -> str:
        """Return the id that the cluster has given itself; "" until its topics are read."""
        return self._positions.cluster_id

    def topics(self) -> dict[str, int]:
        """Return the number of partitions of each topic."""
        return {name: len(listed.leaders) for name, listed in self._positions.topics().items()}

    def topic_ids(self, topics: Sequence[str]) -> dict[str, str]:
        """Return the ids of those of these topics that exist and have one; read the topics before."""
        return self._positions.ids(topics)

    def offsets(self, places: Sequence[Place], which: Which) -> dict[Place, int]:
        """Return a log offset of each of these partitions whose leader answers."""
        if not places:
            return {}
        found = self._positions.read(places, which)
        return {place: offset for place, offset in zip(places, found, strict=True) if offset >= 0}

    def groups(self) -> dict[str, str]:
        """Return the state of each consumer group, in lower case."""
        self._groups.list_groups()
        (listed,) = self._answers(GroupsListed, 1)
        if listed.problem:
            raise UnavailableError(listed.problem)
        if not listed.states:  # so it is as well for a principal that may see no group
            self._groups.ask_right()
            (right,) = self._answers(RightTold, 1)
            if not right.granted:
                raise RefusedError(hidden_sentence(self.alias))
        return listed.states

    def members(self, group: str) -> int:
        """Return the number of members of a group of any kind, such as that of Connect workers."""
        self._groups.count_members(group)
        (found,) = self._answers(MembersCounted, 1)
        return found.members

    def committed(self, groups: Sequence[str]) -> dict[str, dict[Place, int]]:
        """Return the committed offsets of each of these groups; a negative one is none."""
        found: dict[str, dict[Place, int]] = {}
        for first in range(0, len(groups), _GROUPS_AT_ONCE):
            wanted = groups[first : first + _GROUPS_AT_ONCE]
            self._groups.ask(wanted)
            for one in self._answers(OffsetsTold, len(wanted)):
                if one.withheld:
                    raise UnavailableError(
                        f"cluster {self.alias}: {count_text(one.withheld, 'committed offset')} of {one.group}"
                        " not returned; check permissions and leaders, and try again"
                    )
                found[one.group] = {
                    (topic, number): offset for topic, number, offset in one.offsets if offset >= 0
                }
        return found

    def commit(self, group: str, offsets: Mapping[Place, int]) -> dict[Place, str]:
        """Commit offsets of a group without members; return what was not committed, with the reason."""
        return commit_offsets(
            self._settings, cluster=self.alias, group=group, offsets=offsets, timeout_s=ANSWER_S
        )

    def offsets_since(self, places: Iterable[Place], at_ms: int) -> dict[Place, int]:
        """Return of each of these partitions the first record with a timestamp at or after an epoch ms.

        It is the log end offset if there is none.
        """
        by_topic: dict[str, list[int]] = {}
        for topic, number in places:
            by_topic.setdefault(topic, []).append(number)

        async def ask() -> dict[Place, int]:
            found: dict[Place, int] = {}
            async with self._admin() as admin:
                for topic, numbers in by_topic.items():
                    offsets = await admin.offsets_since(topic, numbers, at_ms=at_ms)
                    found |= {(topic, number): offset for number, offset in offsets.items()}
            return found

        return run_to_end(ask())

    def compacted(self, topics: Collection[str]) -> frozenset[str]:
        """Return those of these topics that are compacted, or all if it has no permission to read that."""
        try:
            policies = self.cleanup_policies(topics)
        except RefusedError:
            return frozenset(topics)
        return frozenset(topic for topic in topics if "compact" in policies.get(topic, "compact"))

    def cleanup_policies(self, topics: Collection[str]) -> dict[str, str]:
        """Return `cleanup.policy` of those of these topics that have one."""

        async def ask() -> dict[str, dict[str, str]]:
            async with self._admin() as admin:
                return await admin.describe_topic_configs(topics)

        settings = run_to_end(ask())
        return {
            topic: found["cleanup.policy"] for topic, found in settings.items() if "cleanup.policy" in found
        }

    def news(self, followed: Followed, partitions: int) -> Iterator[list[TopicRecord]]:
        """Yield the records of a topic after those that were read, up to its log end offsets of now.

        Notes in `followed` what was read, also if it fails. A re-created topic is read from its start.
        """
        numbers = range(partitions)
        topic_id = self._positions.ids([followed.topic]).get(followed.topic, "")
        ends = self.offsets([(followed.topic, one) for one in numbers], Which.END)
        is_other = bool(topic_id and followed.topic_id) and topic_id != followed.topic_id
        if is_other or any(end < followed.offsets.get(number, 0) for (_, number), end in ends.items()):
            followed.offsets.clear()
            followed.creation += 1
        followed.topic_id = topic_id or followed.topic_id
        due = [one for one in numbers if ends.get((followed.topic, one), 1) > followed.offsets.get(one, 0)]
        if not due:
            return
        # By number: the client needs half a second longer to find out where a log starts.
        unread = [(followed.topic, one) for one in due if one not in followed.offsets]
        starts = self.offsets(unread, Which.START)
        since = {number: offset for (_, number), offset in starts.items()} | followed.offsets
        bulk = Bulk(
            self._settings,
            cluster=self.alias,
            topic=followed.topic,
            name=f"{self.alias}-failover",
            timed=True,
            wait_ms=SOON_MS,
        )
        with closing(bulk):
            bulk.open(due, since=since)
            reading = f"cluster {self.alias}: cannot read {followed.topic}"
            for batch in batches_to_end(bulk, due, reading=reading, clock=self._clock, longest_s=_TOPIC_S):
                yield list(map(TopicRecord, batch.keys, batch.values, batch.offsets, batch.times_ms))
                followed.offsets |= bulk.positions() | batch.ends

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[ClusterAdmin]:
        admin = ClusterAdmin(self._settings, cluster=self.alias, timeout_s=ANSWER_S)
        await admin.open()
        try:
            yield admin
        finally:
            await admin.close()

    def _answers(self, kind: type[_T], count: int) -> Iterator[_T]:
        """Yield so many answers of a kind; late ones to an earlier query are of another."""
        until_ns = self._clock.monotonic_ns() + int((ANSWER_S + _GRACE_S) * 1e9)
        while count:
            for told in self._groups.take(wait_s=_WAIT_S):
                if isinstance(told, Failed):
                    raise (RefusedError if told.refused else UnavailableError)(told.sentence)
                if isinstance(told, kind):
                    count -= 1
                    yield told
            if count and self._clock.monotonic_ns() > until_ns:
                sentence = f"cluster {self.alias}: no answer about groups within {ANSWER_S:g} s; try again"
                raise UnavailableError(sentence)
