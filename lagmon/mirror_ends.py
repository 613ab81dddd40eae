"""What a flow's topics on the target held at the last few looks, by their names on the source. Pure.

The logs of a cluster forget a topic as soon as it is another one, and a look at the new one may come before
its id is read. So the last looks are kept here, and those before the old id was read last are surely of it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fleet.quantity import count_text
from fleet.vocabulary import Cause
from lagmon.mirror_findings import MirrorFinding
from lagmon.rules_sentences import instant_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lagmon.cluster import ClusterLag

    Longs = NDArray[np.int64]

LOOKS = 6
EVERY_MS = 4_000  # ends are read each ten seconds: no look is left out


@dataclass(frozen=True, slots=True)
class Held:
    """Where the logs of a topic's partitions began and ended at a look, -1 for what was not known."""

    at_ms: int
    starts: Longs
    ends: Longs


class TargetEnds:
    """Keeps the last looks at each topic."""

    def __init__(self) -> None:
        self._held: dict[str, deque[Held]] = {}
        self._noted_ms = -EVERY_MS

    def note(self, remote: Mapping[str, str], target: ClusterLag, now_ms: int) -> None:
        """Take note of what is known now; `remote` has the target's name of each topic."""
        if 0 <= now_ms - self._noted_ms < EVERY_MS:
            return
        self._noted_ms = now_ms
        heads, sampled_ms = target.heads, target.heads.sampled_ms
        for topic, name in remote.items():
            places = target.places.of(name)
            if not places or name not in target.topics:
                continue  # what it held stays, until it is there again
            at_ms = int(sampled_ms[places].max())
            looks = self._held.setdefault(topic, deque(maxlen=LOOKS))
            if at_ms >= 0 and (not looks or looks[-1].at_ms < at_ms):
                looks.append(Held(at_ms, heads.start[places], heads.end[places]))
        for topic in self._held.keys() - remote.keys():
            del self._held[topic]

    def made_anew(self, topic: str, known_ms: int) -> Held | None:
        """Return the last look that surely was at the old topic, and forget all; None where there is none."""
        looks = self._held.pop(topic, deque())
        return next((held for held in reversed(looks) if held.at_ms <= known_ms), None)

    def looks(self) -> dict[str, deque[Held]]:
        """Return the last looks at each topic, oldest first, as they are: to be read and nothing else."""
        return dict(self._held)

    def take_up(self, held: Mapping[str, Held]) -> None:
        """Know again what an earlier process saw last; what was seen since is newer."""
        for topic, one in held.items():
            self._held[topic] = deque([one, *self._held.get(topic, ())], maxlen=LOOKS)


def lost_copies(topic: str, remote: str, target: str, held: Held, *, now_ms: int) -> list[MirrorFinding]:
    """Return what was lost with a topic of the target that was made anew, by partition."""
    starts = np.maximum(held.starts, 0).tolist()
    return [
        MirrorFinding(
            code=Cause.TOPIC_RECREATED,
            topic=topic,
            partition=partition,
            at_ms=now_ms,
            records=end - start,
            first_offset=start,
            last_offset=end - 1,
            side="target",
            sentence=(
                f"{remote} on {target} was made anew (seen at {instant_text(now_ms)}): the "
                f"{count_text(end - start, 'record')} that its partition {partition} held at "
                f"{instant_text(held.at_ms)}, offsets {start} to {end - 1} there, "
                f"{'is' if end - start == 1 else 'are'} gone, and the mirror goes on behind: it sends none "
                "of that again."
            ),
        )
        for partition, (start, end) in enumerate(zip(starts, held.ends.tolist(), strict=True))
        if end > start
    ]
