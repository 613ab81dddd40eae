"""The topics of one flow on both sides: which are to be mirrored, as what, and what is not as it should be.

Pure. Times are epoch milliseconds by our clock. Ids of topics come in as they are read; the first ones tell
nothing, a later one that differs tells that the topic was made anew.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.quantity import duration_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.flow import Flow


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
    recreations: list[Recreation] = field(default_factory=list)  # the newest last
    recreated_total: dict[tuple[str, str], int] = field(default_factory=dict)  # by topic and side
    ids: dict[tuple[str, str], str] = field(default_factory=dict)  # by the source's name and side
    ids_at_ms: dict[tuple[str, str], int] = field(default_factory=dict)  # when each was read last
    _known: Mapping[str, int] | None = None
    missing_since: dict[tuple[str, str], int] = field(default_factory=dict)

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

    def note_id(self, topic: str, side: str, topic_id: str, now_ms: int) -> Recreation | None:
        """Take note of a topic's id; return what that tells where it is another one than before."""
        before = self.ids.get((topic, side))
        self.ids[topic, side] = topic_id
        self.ids_at_ms[topic, side] = now_ms
        if before in (None, topic_id):
            return None
        found = Recreation(topic, side, now_ms, str(before), topic_id)
        self.recreations = [*self.recreations[-99:], found]
        self.recreated_total[topic, side] = self.recreated_total.get((topic, side), 0) + 1
        return found

    def missing(
        self,
        source: Mapping[str, int],
        target: Mapping[str, int],
        *,
        with_offset: Mapping[str, int],
        with_records: Mapping[str, int],
        now_ms: int,
        patience_ms: int,
    ) -> list[Missing]:
        """Return what is not as it should be.

        `source` and `target` are partitions by topic; `with_offset` is in how many partitions of a topic the
        mirror has an offset, `with_records` in how many without one there is a record. `patience_ms` is how
        long a mirror may take until it has seen a new topic and written its first offsets.
        """
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
            if with_records.get(topic):
                count = with_records[topic]
                where = "any partition" if not with_offset.get(topic) else f"{count} of its partitions"
                said = f"The mirror has written no offset for {where} of {topic}, where there are records"
                found.append(("not_mirrored", topic, said.replace("of its partitions of", "partitions of")))
        since = {(code, topic): self.missing_since.get((code, topic), now_ms) for code, topic, _ in found}
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
