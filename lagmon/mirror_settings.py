"""What the settings of a flow's topics say on both sides: how long they keep records, who stamps them. Pure.

Records on a target with LogAppendTime have the target's time and not their own: they are retimed. What was
copied before that was first seen may have its own, so what comes from then on is counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fleet.vocabulary import Cause
from lagmon.mirror_findings import HELD_MS, MirrorFinding
from lagmon.rules_sentences import instant_text

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from lagmon.cluster import ClusterLag

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
class MirrorSettings:
    """Settings of the topics of one flow, by their names on the source."""

    compacted: set[str] = field(default_factory=set)  # on the source
    _types: dict[tuple[str, str], str] = field(default_factory=dict)  # by topic and side
    _stamped: dict[str, Stamped] = field(default_factory=dict)

    def note(self, topic: str, side: str, settings: Mapping[str, str]) -> None:
        """Take note of a topic's settings on one side."""
        if side == "source":
            compacted = "compact" in settings.get("cleanup.policy", "")
            (self.compacted.add if compacted else self.compacted.discard)(topic)
        if _TYPE in settings:
            self._types[topic, side] = settings[_TYPE]

    def forget_others(self, topics: Collection[str]) -> None:
        """Forget the settings of all topics but these."""
        self.compacted = {topic for topic in self.compacted if topic in topics}
        self._types = {key: one for key, one in self._types.items() if key[0] in topics}

    def look(self, remote: Mapping[str, str], target: ClusterLag, now_ms: int) -> list[MirrorFinding]:
        """Return what is stamped anew by the target; `remote` has the target's name of each topic."""
        for topic in {name for name, side in self._types if side == "target"} & remote.keys():
            anew = self._types[topic, "target"] == _ANEW and self._types.get((topic, "source")) == _OWN
            if anew or topic in self._stamped:
                self._follow(topic, _sum_of_ends(target, remote[topic]), now_ms, anew=anew)
        for topic in list(self._stamped):
            one = self._stamped[topic]
            if topic not in remote or not (one.holds or now_ms - one.grown_ms <= HELD_MS):
                del self._stamped[topic]
        return [
            self._finding(topic, remote[topic], one, now_ms) for topic, one in sorted(self._stamped.items())
        ]

    def kept(self) -> dict[str, Stamped]:
        """Return what is to be kept over a restart."""
        return {topic: replace(one) for topic, one in self._stamped.items()}

    def take_up(self, kept: Mapping[str, Stamped], remote: Mapping[str, str], target: ClusterLag) -> None:
        """Know again what an earlier process knew.

        Ends are kept apart from it and a moment before: one that is lower by that is of the same topic.
        """
        for topic, one in kept.items():
            end = _sum_of_ends(target, remote.get(topic, ""))
            self._stamped[topic] = replace(one, end=end if one.first_end <= end < one.end else one.end)

    def _follow(self, topic: str, end: int, now_ms: int, *, anew: bool) -> None:
        one = self._stamped.get(topic)
        if end < 0:
            return
        if one is None:
            self._stamped[topic] = Stamped(now_ms, end, end)
            return
        if end < one.end or (anew and not one.holds and now_ms - one.grown_ms > HELD_MS):
            self._stamped[topic] = Stamped(now_ms, end, end, holds=anew)  # another topic of the name
            return
        if anew and end > one.end:
            one.grown_ms = now_ms
        elif not anew:
            one.first_end += end - one.end  # what came since is not stamped anew
        one.end, one.holds = end, anew

    def _finding(self, topic: str, remote: str, one: Stamped, now_ms: int) -> MirrorFinding:
        records = one.end - one.first_end
        seen = f"since {instant_text(one.since_ms)} at the latest" if one.holds else "until lately"
        said = f"{remote} stamps records anew ({_TYPE}={_ANEW}, {seen}), {topic} has them as they were made"
        came = f"{records} have come since and have lost their own time" if records else "none has come since"
        return MirrorFinding(
            code=Cause.RETIMED,
            topic=topic,
            partition=None,
            at_ms=one.grown_ms if records else now_ms,
            records=records,
            side="target",
            proved=records > 0,
            sentence=f"{said} ({_OWN}): {came}.",
        )


def retention_of(settings: Mapping[str, str]) -> int | None:
    """Return how long a topic keeps its records in ms, -1 for no limit, None where that is not told."""
    if "delete" not in settings.get("cleanup.policy", "delete"):
        return -1
    text = settings.get("retention.ms", "")
    return int(text) if text.removeprefix("-").isdecimal() and len(text) <= 20 else None


def _sum_of_ends(cluster: ClusterLag, topic: str) -> int:
    ends = cluster.heads.end[cluster.places.listed_of(topic)]
    return int(ends.sum()) if len(ends) and (ends >= 0).all() else -1
