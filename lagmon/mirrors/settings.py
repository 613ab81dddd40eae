"""What the settings of a flow's topics say on both sides: how long they keep records, who stamps them. Pure.

Records on a target with LogAppendTime have the target's time and not their own: they are retimed. How many is
told as a lower bound: what came between two polls of the copy's end, of which one read of the settings came
before the first, and another after the second.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fleet.verdicts.vocabulary import Cause
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.answers.findings import HELD_MS, MirrorFinding

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from lagmon.cluster.state import ClusterLag

_TYPE = "message.timestamp.type"
_OWN, _ANEW = "CreateTime", "LogAppendTime"


@dataclass(slots=True)
class Stamped:
    """A target topic that stamps records anew: its end (a sum) when that was first seen, and since."""

    since_ms: int
    first_end: int
    end: int
    grown_ms: int = -1
    holds: bool = True


@dataclass(slots=True)
class _Counting:
    """Polls of a copy's end, as instant and end, that count once the settings are read after them."""

    from_ms: int  # what was polled up to then may be of before
    is_based: bool = False  # whether a poll after that was seen
    polls: list[tuple[int, int]] = field(default_factory=list)
    kept_end: int = -1  # an end that was kept before the count was, until a poll finds all that was counted


@dataclass(slots=True)
class MirrorSettings:
    """Settings of the topics of one flow, by their names on the source."""

    compacted: set[str] = field(default_factory=set)  # on the source
    _types: dict[tuple[str, str], str] = field(default_factory=dict)  # by topic and side
    _stamped: dict[str, Stamped] = field(default_factory=dict)
    _counting: dict[str, _Counting] = field(default_factory=dict)
    _read_ms: dict[str, int] = field(default_factory=dict)  # when the target's settings were asked for last
    _looked_ms: int = -1

    def note(
        self, topic: str, side: str, settings: Mapping[str, str], *, asked_ms: int | None = None
    ) -> None:
        """Take note of a topic's settings on one side; without an instant, read since the last look."""
        if side == "target":
            self._read_ms[topic] = self._looked_ms if asked_ms is None else asked_ms
        if side == "source":
            compacted = "compact" in settings.get("cleanup.policy", "")
            (self.compacted.add if compacted else self.compacted.discard)(topic)
        if _TYPE in settings:
            self._types[topic, side] = settings[_TYPE]

    def forget_others(self, topics: Collection[str]) -> None:
        """Forget the settings of all topics but these."""
        self.compacted = {topic for topic in self.compacted if topic in topics}
        self._types = {key: one for key, one in self._types.items() if key[0] in topics}

    def look(
        self, remote: Mapping[str, str], target: ClusterLag, now_ms: int, *, with_markers: bool = False
    ) -> list[MirrorFinding]:
        """Return what is stamped anew by the target; `remote` has the target's name of each topic.

        `with_markers` is whether copies hold markers of the mirror's own transactions.
        """
        for topic in {name for name, side in self._types if side == "target"} & remote.keys():
            anew = self._types[topic, "target"] == _ANEW and self._types.get((topic, "source")) == _OWN
            if anew or topic in self._stamped:
                self._follow(topic, _poll(target, remote[topic]), now_ms, anew=anew)
        for topic in list(self._stamped):
            one = self._stamped[topic]
            if topic not in remote or not (one.holds or now_ms - one.grown_ms <= HELD_MS):
                del self._stamped[topic]
        self._looked_ms = now_ms
        return [
            self._finding(topic, remote[topic], one, now_ms, with_markers=with_markers)
            for topic, one in sorted(self._stamped.items())
        ]

    def kept(self) -> dict[str, Stamped]:
        """Return what is to be kept over a restart."""
        return {topic: replace(one) for topic, one in self._stamped.items()}

    def take_up(self, kept: Mapping[str, Stamped], remote: Mapping[str, str], target: ClusterLag) -> None:
        """Know again what an earlier process knew.

        Ends are kept apart from it and a moment before: one that is lower by that is of the same topic.
        """
        for topic, one in kept.items():
            _, end = _poll(target, remote.get(topic, ""))
            self._stamped[topic] = replace(one)
            kept_end = end if one.first_end <= end < one.end else -1
            self._counting[topic] = _Counting(-1, is_based=True, kept_end=kept_end)

    def _follow(self, topic: str, poll: tuple[int, int], now_ms: int, *, anew: bool) -> None:
        one, (polled_ms, end) = self._stamped.get(topic), poll
        if end < 0:
            return
        if (
            one is None
            or self._is_another(topic, one, end)
            or (anew and not one.holds and now_ms - one.grown_ms > HELD_MS)
        ):
            # Of a copy that ends before it did: another topic of the name.
            self._stamped[topic] = Stamped(now_ms, end, end, holds=anew or one is None)
            self._counting[topic] = _Counting(now_ms)
            return
        counting = self._counting[topic]
        if anew and not one.holds:
            counting = self._counting[topic] = _Counting(now_ms)
        one.holds = anew
        if not anew or not counting.is_based:
            counting.is_based = anew and polled_ms > counting.from_ms
            counting.polls.clear()
            one.first_end += end - one.end  # it may have come when it was not stamped anew
            one.end = end
            return
        if not counting.polls or counting.polls[-1][0] < polled_ms:
            counting.polls.append(poll)
        sure = [known for at_ms, known in counting.polls if at_ms <= self._read_ms.get(topic, -1)]
        if sure:
            one.grown_ms = now_ms if sure[-1] > one.end else one.grown_ms
            one.end = max(one.end, sure[-1])
            del counting.polls[: len(sure)]

    def _is_another(self, topic: str, one: Stamped, end: int) -> bool:
        """Tell whether a copy ends before it did, so that it is another topic of the name."""
        counting = self._counting[topic]
        if end >= one.end:
            counting.kept_end = -1
        return end < (one.end if counting.kept_end < 0 else counting.kept_end)

    def _finding(
        self, topic: str, remote: str, one: Stamped, now_ms: int, *, with_markers: bool
    ) -> MirrorFinding:
        records = one.end - one.first_end
        records = -(-records // 2) if with_markers else records  # a marker ends a record at least
        seen = f"since {instant_text(one.since_ms)} at the latest" if one.holds else "until lately"
        said = f"{remote} stamps records anew ({_TYPE}={_ANEW}, {seen}), {topic} has them as they were made"
        have = "have" if records > 1 else "has"
        came = f"at least {records:,} {have} come since and {have} lost their own time"
        return MirrorFinding(
            code=Cause.RETIMED,
            topic=topic,
            partition=None,
            at_ms=one.grown_ms if records else now_ms,
            records=records,
            side="target",
            proved=records > 0,
            sentence=f"{said} ({_OWN}): {came if records else 'none is known to have come since'}.",
        )


def retention_of(settings: Mapping[str, str]) -> int | None:
    """Return how long a topic keeps its records in ms, -1 for no limit, None where that is not told."""
    if "delete" not in settings.get("cleanup.policy", "delete"):
        return -1
    text = settings.get("retention.ms", "")
    return int(text) if text.removeprefix("-").isdecimal() and len(text) <= 20 else None


def _poll(cluster: ClusterLag, topic: str) -> tuple[int, int]:
    """Return when all ends of a topic had been polled at the earliest, and their sum; -1 for not known."""
    places = cluster.places.listed_of(topic)
    ends = cluster.heads.end[places]
    if not len(ends) or (ends < 0).any():
        return -1, -1
    return int(cluster.heads.sampled_ms[places].min()), int(ends.sum())
