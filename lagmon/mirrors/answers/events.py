"""Events of a flow: what an operator should know, whatever the verdict; one for each topic. Pure.

Repeats of partitions of one topic that began within a minute are one event. It has the sum of their records
and the partitions with the most. The newest `LISTED` are listed, for a day.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from fleet.quantity import count_text
from lagmon.groups.rules.sentences import instant_text
from lagmon.mirrors.detectors.rewinds.repeats import QUIET_MS, repeated_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lagmon.mirrors.detectors.rewinds.repeats import Repeat

LISTED = 50
WORST = 5  # partitions of an event
WENT_BACK, REPLAYED = "went_back", "replayed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorEvent:
    """Records of one topic that were replicated again; `worst` are the partitions with the most."""

    kind: str  # went_back | replayed (from the log start)
    topic: str
    at_ms: int
    last_ms: int
    partitions: int
    records: int  # at least
    records_most: int | None  # None if unknown
    sentence: str
    worst: tuple[Repeat, ...]

    def document(self) -> dict[str, Any]:
        """Return the event as JSON."""
        worst = [
            {
                "partition": one.partition,
                "from_offset": one.from_offset,
                "to_offset": one.to_offset,
                "times": one.times,
                "records": one.records,
                "records_most": one.most,
            }
            for one in self.worst
        ]
        return {**asdict(self), "worst": worst}


def events_of(repeats: Iterable[Repeat], *, source: str, target: str) -> list[MirrorEvent]:
    """Return the newest events, newest first."""
    groups: list[list[Repeat]] = []
    newest: dict[str, list[Repeat]] = {}  # group of each topic
    for one in sorted(repeats, key=lambda one: one.at_ms):
        group = newest.get(one.topic)
        if group is None or one.at_ms - group[0].at_ms > QUIET_MS:
            group = newest[one.topic] = []
            groups.append(group)
        group.append(one)
    return [_event(group, source, target) for group in reversed(groups[-LISTED:])]


def _event(repeats: Sequence[Repeat], source: str, target: str) -> MirrorEvent:
    worst = sorted(repeats, key=lambda one: (-one.records, one.partition))
    most = [one.most for one in repeats]
    known = [one for one in most if one is not None]
    records = sum(one.records for one in repeats)
    records_most = sum(known) if len(known) == len(most) else None
    kind = REPLAYED if all(one.from_start for one in repeats) else WENT_BACK
    return MirrorEvent(
        kind=kind,
        topic=repeats[0].topic,
        at_ms=repeats[0].at_ms,
        last_ms=max(one.last_ms for one in repeats),
        partitions=len(repeats),
        records=records,
        records_most=records_most,
        sentence=_sentence(worst, records, records_most, kind, source=source, target=target),
        worst=tuple(worst[:WORST]),
    )


def _sentence(
    worst: Sequence[Repeat], records: int, most: int | None, kind: str, *, source: str, target: str
) -> str:
    """Return what was repeated, from where to where the mirror went back, and how often."""
    one = worst[0]
    where = one.topic if len(worst) > 1 else f"{one.topic}-{one.partition}"
    of = f", in {count_text(len(worst), 'partition')}" if len(worst) > 1 else ""
    again = " from the start of its log" if kind == REPLAYED else ""
    head = f"{repeated_text(records, most, where, target)}{again}{of}."
    offset = "Its next offset" if len(worst) == 1 else f"The next offset of {one.topic}-{one.partition}"
    steps = max(each.times for each in worst)
    often = f", {steps} times in all: two workers may have copied at once" if steps > 1 else ""
    at = instant_text(min(each.at_ms for each in worst))
    return f"{head} {offset} on {source} went back from {one.from_offset} to {one.to_offset} at {at}{often}."
