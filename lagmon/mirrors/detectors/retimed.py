"""Records that the target stamps with its own time, so that their source time is lost. Pure.

A target topic with LogAppendTime does that. The number of records is a lower bound: those that arrived
between two polls of the target's end, with one read of the settings before the first and another after the
second.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fleet.quantity import count_text
from fleet.verdicts.vocabulary import Cause
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.answers.findings import HELD_MS, MirrorFinding
from lagmon.mirrors.detectors.detector import Detector
from lagmon.mirrors.metadata.settings import APPEND_TIME, CREATE_TIME, TIMESTAMP_TYPE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lagmon.cluster.state import ClusterLag
    from lagmon.mirrors.partitions.snapshot import PartitionsSnapshot
    from lagmon.mirrors.view import FlowView


@dataclass(slots=True)
class Stamped:
    """A target topic that stamps records: its end (a sum) when that was first seen, and since."""

    since_ms: int
    first_end: int
    end: int
    grown_ms: int = -1
    holds: bool = True


@dataclass(slots=True)
class _Counting:
    """Polls of a target's end, as instant and end, that count once the settings are read after them."""

    from_ms: int  # polls up to then may show earlier records
    is_based: bool = False  # whether a poll after that was seen
    polls: list[tuple[int, int]] = field(default_factory=list)
    kept_end: int = -1  # an end kept before the count, until a poll finds all counted records


@dataclass(slots=True)
class RetimedRecords(Detector):
    """Follows the target topics of one flow that stamp records."""

    _stamped: dict[str, Stamped] = field(default_factory=dict)
    _counting: dict[str, _Counting] = field(default_factory=dict)

    def observe(self, flow: FlowView, partitions: PartitionsSnapshot) -> None:
        """Follow the target topics that stamp records while their source topics do not."""
        now_ms, remote, types = partitions.now_ms, flow.topics.remote, flow.settings.types
        for topic in {name for name, side in types if side == "target"} & remote.keys():
            restamps = types[topic, "target"] == APPEND_TIME and types.get((topic, "source")) == CREATE_TIME
            if restamps or topic in self._stamped:
                self._follow(flow, topic, now_ms, restamps=restamps)
        for topic in list(self._stamped):
            one = self._stamped[topic]
            if topic not in remote or not (one.holds or now_ms - one.grown_ms <= HELD_MS):
                del self._stamped[topic]

    def findings(self, flow: FlowView, now_ms: int) -> list[MirrorFinding]:
        """Return the records whose time the target replaced, at least, by topic."""
        return [
            self._finding(flow, topic, one, now_ms)
            for topic, one in sorted(self._stamped.items())
            if topic in flow.topics.remote
        ]

    def kept(self) -> dict[str, Stamped]:
        """Return what is kept over a restart."""
        return {topic: replace(one) for topic, one in self._stamped.items()}

    def restore(self, flow: FlowView, kept: Mapping[str, Stamped]) -> None:
        """Restore what an earlier process knew.

        Ends are kept apart from it, and a moment earlier: an end that is lower by that belongs to the same
        topic.
        """
        for topic, one in kept.items():
            _, end = _poll(flow.target, flow.topics.remote.get(topic, ""))
            self._stamped[topic] = replace(one)
            kept_end = end if one.first_end <= end < one.end else -1
            self._counting[topic] = _Counting(-1, is_based=True, kept_end=kept_end)

    def _follow(self, flow: FlowView, topic: str, now_ms: int, *, restamps: bool) -> None:
        polled_ms, end = _poll(flow.target, flow.topics.remote[topic])
        one = self._stamped.get(topic)
        if end < 0:
            return
        if (
            one is None
            or self._is_another(topic, one, end)
            or (restamps and not one.holds and now_ms - one.grown_ms > HELD_MS)
        ):
            # A target that ends below its previous end is another topic of that name.
            self._stamped[topic] = Stamped(now_ms, end, end, holds=restamps or one is None)
            self._counting[topic] = _Counting(now_ms)
            return
        counting = self._counting[topic]
        if restamps and not one.holds:
            counting = self._counting[topic] = _Counting(now_ms)
        one.holds = restamps
        if not restamps or not counting.is_based:
            counting.is_based = restamps and polled_ms > counting.from_ms
            counting.polls.clear()
            one.first_end += end - one.end  # it may have arrived while the target did not stamp
            one.end = end
            return
        if not counting.polls or counting.polls[-1][0] < polled_ms:
            counting.polls.append((polled_ms, end))
        sure = [known for at_ms, known in counting.polls if at_ms <= flow.settings.asked_ms.get(topic, -1)]
        if sure:
            one.grown_ms = now_ms if sure[-1] > one.end else one.grown_ms
            one.end = max(one.end, sure[-1])
            del counting.polls[: len(sure)]

    def _is_another(self, topic: str, one: Stamped, end: int) -> bool:
        """Return whether a target ends below its previous end: then it is another topic of that name."""
        counting = self._counting[topic]
        if end >= one.end:
            counting.kept_end = -1
        return end < (one.end if counting.kept_end < 0 else counting.kept_end)

    def _finding(self, flow: FlowView, topic: str, one: Stamped, now_ms: int) -> MirrorFinding:
        remote, records = flow.topics.remote[topic], one.end - one.first_end
        if flow.order.flow.exactly_once:  # a marker ends a record at least
            records = -(-records // 2)
        seen = f"since {instant_text(one.since_ms)} at the latest" if one.holds else "until lately"
        settings = f"{TIMESTAMP_TYPE}={APPEND_TIME}, {seen}"
        if records:
            sentence = (
                f"At least {count_text(records, 'record')} of {remote} lost their own timestamps: the target"
            )
            sentence += f" stamps them ({settings}), while {topic} has {CREATE_TIME}."
        else:
            sentence = (
                f"{remote} stamps records ({settings}), while {topic} has {CREATE_TIME}; no record is known"
            )
            sentence += " to have arrived since."
        return MirrorFinding(
            code=Cause.RETIMED,
            topic=topic,
            partition=None,
            at_ms=one.grown_ms if records else now_ms,
            records=records,
            side="target",
            proved=records > 0,
            sentence=sentence,
        )


def _poll(cluster: ClusterLag, topic: str) -> tuple[int, int]:
    """Return the earliest time of the polls of all ends of a topic, and their sum; -1 if unknown."""
    places = cluster.places.listed_of(topic)
    ends = cluster.heads.end[places]
    if not len(ends) or (ends < 0).any():
        return -1, -1
    return int(cluster.heads.sampled_ms[places].min()), int(ends.sum())
