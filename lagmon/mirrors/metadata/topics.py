"""The topics of one flow on both sides: which are replicated, under which names, and what is missing. Pure.

Times are epoch milliseconds by Mirrorwatch's clock. The first id of a topic proves nothing; a later,
different id shows that the topic was re-created.

Only the target's topic lists show what it lacks. A list that is older than the one which first showed the
topic on the source proves nothing. The duration of a gap is known up to the newest list.

If only MirrorMaker's version decides whether a topic is replicated, and that is unknown, its behaviour
decides: the topic counts from when it is seen to be replicated.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fleet.quantity import duration_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from fleet.verdicts.flow import Flow

MOST_IDS_GONE = 2_000  # of removed topics
OLD_LIST_MS = 120_000  # an older list should have been read again, and could not be

_Key = tuple[str, str]  # a cause, and a topic's name on the source


def _always(_topic: str, _remote: str) -> bool:
    return True


def _lasting(lasts_ms: int, ago_ms: int) -> str:
    """Return for how long something was seen, and how long ago if it is not current."""
    seen = f"as of {duration_text(ago_ms / 1000)} ago"
    if not lasts_ms and ago_ms:  # seen in one list only
        return seen
    return f"for {duration_text(lasts_ms / 1000)}" + (f", {seen}" if ago_ms > OLD_LIST_MS else "")


@dataclass(frozen=True, slots=True)
class Missing:
    """A topic, or partitions of one, that should exist and do not; `code` is a cause."""

    code: str  # not_mirrored | topic_missing | partition_missing
    topic: str
    sentence: str
    since_ms: int
    seen_ms: int  # when that was checked last
    due: bool  # missing for longer than the mirror takes to refresh its topics


@dataclass(frozen=True, slots=True)
class Recreation:
    """A topic of the flow that was re-created; `topic` is its name on the source."""

    topic: str
    side: str  # source | target
    at_ms: int
    before: str
    after: str


@dataclass(slots=True)
class MirrorTopics:
    """The topics of a flow, by their names and ids on both sides."""

    flow: Flow
    # Called with both names of a topic if only the mirror's version decides whether it is replicated.
    replicates: Callable[[str, str], bool] = _always
    remote: dict[str, str] = field(default_factory=dict)  # by the source's name: the target's
    recreations: list[Recreation] = field(default_factory=list)  # the last hundred, newest last
    recreated_ms: dict[tuple[str, str], int] = field(default_factory=dict)  # the newest of each, all of them
    recreated_total: dict[tuple[str, str], int] = field(default_factory=dict)  # by topic and side
    ids: dict[tuple[str, str], str] = field(default_factory=dict)  # by the source's name and side
    ids_at_ms: dict[tuple[str, str], int] = field(default_factory=dict)  # when each was read last
    known_since_ms: dict[tuple[str, str], int] = field(
        default_factory=dict
    )  # when each was read first, perhaps by an earlier process
    _known: Mapping[str, int] | None = None
    _undecided: dict[str, str] = field(
        default_factory=dict
    )  # as `remote`, of topics that are not replicated yet
    missing_since: dict[_Key, int] = field(default_factory=dict)
    _noticed_ms: dict[_Key, int] = field(default_factory=dict)  # when the source's list first showed it
    _waiting_since: dict[tuple[str, int], int] = field(default_factory=dict)  # by topic and partition

    def note_source(self, topics: Mapping[str, int]) -> None:
        """Decide which of the source's topics are replicated; `topics` are all, with their partitions."""
        if topics is not self._known:
            self._known = topics
            found, undecided = {}, {}
            for name in topics:
                known = self.remote.get(name)
                if known is None:
                    decision = self.flow.decide(name)
                    known = decision.remote_topic if decision.replicated else None
                    if decision.rule == "version_unknown":
                        undecided[name], known = self.flow.remote_topic(name), None
                if known is not None:
                    found[name] = known
            self.remote, self._undecided = found, undecided
            self._forget_ids()
        replicated = {
            name: remote for name, remote in self._undecided.items() if self.replicates(name, remote)
        }
        if replicated:
            self.remote = self.remote | replicated
            self._undecided = {name: one for name, one in self._undecided.items() if name not in replicated}

    def _forget_ids(self) -> None:
        """Forget ids of removed topics, except those that were read last: they may return."""
        gone = [key for key in self.ids if key[0] not in self.remote]
        gone.sort(key=lambda key: self.ids_at_ms.get(key, -1))
        for key in gone[:-MOST_IDS_GONE]:
            del self.ids[key]
            for kept in (self.ids_at_ms, self.known_since_ms, self.recreated_ms, self.recreated_total):
                kept.pop(key, None)

    @property
    def remembered(self) -> set[str]:
        """Return the topics of the flow, and removed ones that may return."""
        return self.remote.keys() | {topic for topic, _ in self.ids}

    def note_id(self, topic: str, side: str, topic_id: str, now_ms: int) -> Recreation | None:
        """Note a topic's id; return the re-creation if it changed."""
        before = self.ids.get((topic, side))
        self.ids[topic, side] = topic_id
        self.ids_at_ms[topic, side] = now_ms
        if before != topic_id or (topic, side) not in self.known_since_ms:
            self.known_since_ms[topic, side] = now_ms
        if before in (None, topic_id):
            return None
        found = Recreation(topic, side, now_ms, str(before), topic_id)
        self.recreations = [*self.recreations[-99:], found]
        self.recreated_ms[topic, side] = now_ms
        self.recreated_total[topic, side] = self.recreated_total.get((topic, side), 0) + 1
        return found

    def missing(
        self,
        source: Mapping[str, int],
        target: Mapping[str, int],
        *,
        listed_ms: tuple[int, int],
        with_offset: Mapping[str, int],
        waiting: Sequence[tuple[str, int]],
        now_ms: int,
        patience_ms: int,
    ) -> list[Missing]:
        """Return the topics and partitions that are missing on the target or not replicated.

        `source` and `target` are partitions by topic; `listed_ms` is when each list was read. `with_offset`
        is the number of partitions of a topic with an offset of the mirror. `waiting` are topic and partition
        of those without one that have a record. `patience_ms` is how long a mirror may take to find a new
        topic and write its first offsets.
        """
        oldest = self._follow_waiting(waiting, now_ms)
        with_records = Counter(topic for topic, _ in waiting)
        lasting = {topic for topic, since_ms in oldest.items() if now_ms - since_ms > patience_ms}
        # Lists are read once a minute: the reason must not be reported later than the wait itself.
        lasting -= {topic for topic, number in waiting if number < target.get(self.remote.get(topic, ""), 0)}
        found: dict[_Key, str] = {}
        for topic, remote in self.remote.items():
            lack = self._lack(topic, remote, source, target)
            if lack is not None:
                found[lack[0], topic] = lack[1]
            count = with_records[topic]
            if count:
                some = "1 partition" if count == 1 else f"{count} partitions"
                where = some if with_offset.get(topic) else "any partition"
                lack_text = f"No offset of the mirror for {where} of {topic}, which has records"
                found["not_mirrored", topic] = lack_text
        since = self._lacking_since([key for key in found if key[0] != "not_mirrored"], listed_ms)
        since |= {("not_mirrored", topic): since_ms for topic, since_ms in oldest.items()}
        self.missing_since = since
        missing = []
        for key, lack_text in found.items():
            if key in since:
                seen_ms = now_ms if key[0] == "not_mirrored" else listed_ms[1]
                lasts_ms = max(0, seen_ms - since[key])
                sentence = f"{lack_text}, {_lasting(lasts_ms, max(0, now_ms - seen_ms))}."
                due = lasts_ms > patience_ms or key[1] in lasting
                missing.append(Missing(*key, sentence, since[key], seen_ms, due))
        return missing

    def _lack(
        self, topic: str, remote: str, source: Mapping[str, int], target: Mapping[str, int]
    ) -> tuple[str, str] | None:
        """Return what the target lacks of a topic by the newest lists: the cause, and its sentence."""
        there = target.get(remote)
        if there is None:
            lack_text = f"Target topic {remote} of {topic} is missing on {self.flow.target}"
            return "topic_missing", lack_text
        if source.get(topic, 0) <= there:
            return None
        few = f"{remote} on {self.flow.target} has only {there} of the {source[topic]} partitions of {topic}"
        return "partition_missing", few

    def _lacking_since(self, keys: Sequence[_Key], listed_ms: tuple[int, int]) -> dict[_Key, int]:
        """Return since when the target lacks what its newest list lacks, if that list can show it."""
        of_source_ms, of_target_ms = listed_ms
        # Not later than the newest: if the clock was set back, it must not wait for a time in the future.
        self._noticed_ms = {key: min(self._noticed_ms.get(key, of_source_ms), of_source_ms) for key in keys}
        known = {key for key, at_ms in self._noticed_ms.items() if at_ms <= of_target_ms}
        return {
            key: self.missing_since.get(key, of_target_ms)
            for key in keys
            if key in known or key in self.missing_since
        }

    def awaits_list(
        self, missing: Sequence[Missing], *, now_ms: int, patience_ms: int, moved_ms: int
    ) -> bool:
        """Return whether a newer list of the target, read now, would show more.

        That is so in three cases: the newest list is too old for a topic; what is missing would be due if it
        still is; or offsets are overdue, which the list may explain. Those are partitions that may have moved
        until `moved_ms`; -1 for none.
        """
        if self._noticed_ms.keys() - self.missing_since.keys():
            return True
        return any(
            one.seen_ms <= moved_ms or one.seen_ms - one.since_ms <= patience_ms < now_ms - one.since_ms
            for one in missing
            if one.code != "not_mirrored"
        )

    def _follow_waiting(self, waiting: Sequence[tuple[str, int]], now_ms: int) -> dict[str, int]:
        """Return by topic since when its first partition waits; partitions in turn may each wait briefly.

        If no partition of a topic was known to wait, an earlier process may have known since when.
        """
        before = self._waiting_since
        known = {topic for topic, _ in before}
        since = {
            topic: at_ms for (code, topic), at_ms in self.missing_since.items() if code == "not_mirrored"
        }
        self._waiting_since = {
            name: before.get(name, now_ms if name[0] in known else since.get(name[0], now_ms))
            for name in waiting
        }
        oldest: dict[str, int] = {}
        for (topic, _), since_ms in self._waiting_since.items():
            oldest[topic] = min(since_ms, oldest.get(topic, since_ms))
        return {topic: since_ms for topic, since_ms in oldest.items() if topic in self.remote}


IDS_EVERY_S = 10.0  # between two rounds
FEW = 1_000  # topics: with more, rounds are further apart (1,000 take the broker about 0.1 s)
IDS_WITHIN_MS = 60_000  # how long a topic's id is awaited, or for two rounds


def ids_every_s(topics: int) -> float:
    """Return the time between two rounds that read the ids of this number of topics."""
    return IDS_EVERY_S * max(1.0, topics / FEW)


def ids_within_ms(topics: int) -> float:
    """Return for how long a topic's id is awaited in a cluster with at most this number of topics."""
    return max(IDS_WITHIN_MS, 2000 * ids_every_s(topics))
