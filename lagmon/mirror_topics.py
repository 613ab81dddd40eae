"""The topics of one flow on both sides: which are to be mirrored, as what, and what is not as it should be.

Pure. Times are epoch milliseconds by our clock. Ids of topics come in as they are read; the first ones tell
nothing, a later one that differs tells that the topic was made anew.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.quantity import duration_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.flow import Flow

MOST_IDS_GONE = 2_000  # of topics that went away


@dataclass(frozen=True, slots=True)
class Missing:
    """A topic, or partitions of one, that should be there and are not; `code` is a cause."""

    code: str  # not_mirrored | topic_missing | partition_missing
    topic: str
    sentence: str
    since_ms: int
    due: bool  # longer than the mirror takes to look for topics: no more a matter of waiting


@dataclass(frozen=True, slots=True)
class Recreation:
    """A topic of the flow that was made anew; `topic` is its name on the source."""

    topic: str
    side: str  # source | target
    at_ms: int
    before: str
    after: str


@dataclass(slots=True)
class MirrorTopics:
    """What is known of the topics of a flow."""

    flow: Flow
    remote: dict[str, str] = field(default_factory=dict)  # by the source's name: the target's
    recreations: list[Recreation] = field(default_factory=list)  # the last hundred, the newest last
    remade_ms: dict[tuple[str, str], int] = field(default_factory=dict)  # the newest of each, all of them
    recreated_total: dict[tuple[str, str], int] = field(default_factory=dict)  # by topic and side
    ids: dict[tuple[str, str], str] = field(default_factory=dict)  # by the source's name and side
    ids_at_ms: dict[tuple[str, str], int] = field(default_factory=dict)  # when each was read last
    _known: Mapping[str, int] | None = None
    missing_since: dict[tuple[str, str], int] = field(default_factory=dict)
    _waiting_since: dict[tuple[str, int], int] = field(default_factory=dict)  # by topic and partition

    def note_source(self, topics: Mapping[str, int]) -> None:
        """Decide which of the source's topics are replicated; `topics` are all, with their partitions."""
        if topics is self._known:
            return
        self._known = topics
        found = {}
        for name in topics:
            known = self.remote.get(name)
            if known is None:
                decision = self.flow.decide(name)
                known = decision.remote_topic if decision.replicated else None
            if known is not None:
                found[name] = known
        self.remote = found
        self._forget_ids()

    def _forget_ids(self) -> None:
        """Forget ids of topics that went, but for those that were read last: they may come again."""
        gone = [key for key in self.ids if key[0] not in self.remote]
        gone.sort(key=lambda key: self.ids_at_ms.get(key, -1))
        for key in gone[:-MOST_IDS_GONE]:
            del self.ids[key]
            for kept in (self.ids_at_ms, self.remade_ms, self.recreated_total):
                kept.pop(key, None)

    def note_id(self, topic: str, side: str, topic_id: str, now_ms: int) -> Recreation | None:
        """Take note of a topic's id; return what that tells where it is another one than before."""
        before = self.ids.get((topic, side))
        self.ids[topic, side] = topic_id
        self.ids_at_ms[topic, side] = now_ms
        if before in (None, topic_id):
            return None
        found = Recreation(topic, side, now_ms, str(before), topic_id)
        self.recreations = [*self.recreations[-99:], found]
        self.remade_ms[topic, side] = now_ms
        self.recreated_total[topic, side] = self.recreated_total.get((topic, side), 0) + 1
        return found

    def missing(
        self,
        source: Mapping[str, int],
        target: Mapping[str, int],
        *,
        with_offset: Mapping[str, int],
        waiting: Sequence[tuple[str, int]],
        now_ms: int,
        patience_ms: int,
    ) -> list[Missing]:
        """Return what is not as it should be.

        `source` and `target` are partitions by topic; `with_offset` is in how many partitions of a topic the
        mirror has an offset, `waiting` are topic and partition of those without one where there is a record.
        `patience_ms` is how long a mirror may take until it has seen a new topic and written its first
        offsets.
        """
        oldest = self._follow_waiting(waiting, now_ms)
        with_records = Counter(topic for topic, _ in waiting)
        found: list[tuple[str, str, str]] = []
        for topic, remote in self.remote.items():
            there = target.get(remote)
            if there is None:
                said = f"There is no topic {remote} on {self.flow.target}, the copy of {topic}"
                found.append(("topic_missing", topic, said))
            elif source.get(topic, 0) > there:
                said = (
                    f"There are {source[topic]} partitions of {topic}, of {remote} on {self.flow.target} only"
                )
                said = f"{said} {there}"
                found.append(("partition_missing", topic, said))
            if with_records[topic]:
                count = with_records[topic]
                some = "1 partition" if count == 1 else f"{count} partitions"
                where = some if with_offset.get(topic) else "any partition"
                said = f"The mirror has written no offset for {where} of {topic}, where there are records"
                found.append(("not_mirrored", topic, said))
        since = {(code, topic): self.missing_since.get((code, topic), now_ms) for code, topic, _ in found}
        since |= {("not_mirrored", topic): since_ms for topic, since_ms in oldest.items()}
        self.missing_since = since
        return [
            Missing(
                code,
                topic,
                f"{said}, for {duration_text((now_ms - since[code, topic]) / 1000)}.",
                since[code, topic],
                now_ms - since[code, topic] > patience_ms,
            )
            for code, topic, said in found
        ]

    def _follow_waiting(self, waiting: Sequence[tuple[str, int]], now_ms: int) -> dict[str, int]:
        """Return by topic since when the first of its partitions waits: of several in turn none waits long.

        Of a topic of which no partition was known to wait, an earlier process may have told since when.
        """
        before = self._waiting_since
        known = {topic for topic, _ in before}
        told = {topic: at_ms for (code, topic), at_ms in self.missing_since.items() if code == "not_mirrored"}
        self._waiting_since = {
            name: before.get(name, now_ms if name[0] in known else told.get(name[0], now_ms))
            for name in waiting
        }
        oldest: dict[str, int] = {}
        for (topic, _), since_ms in self._waiting_since.items():
            oldest[topic] = min(since_ms, oldest.get(topic, since_ms))
        return {topic: since_ms for topic, since_ms in oldest.items() if topic in self.remote}
