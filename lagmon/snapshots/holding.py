"""Lasting findings, and repeated records, as rows for a restart. Pure.

Frames of an earlier program have none of it, and are read as if nothing was known.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError
from lagmon.mirrors.detectors.retimed import Stamped
from lagmon.mirrors.detectors.rewinds.repeats import MOST_KEPT, Repeat
from lagmon.mirrors.detectors.rewinds.steps import Rewound, Step
from lagmon.mirrors.detectors.unreplicated.filtered import KeptFiltered
from lagmon.snapshots.losses import MOST_FINDINGS, finding_of, row_of
from lagmon.snapshots.reading import MOST_LONG, instant, number, numbers, short_text, table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lagmon.mirrors.answers.findings import MirrorFinding
    from lagmon.mirrors.flow import MirrorFlow


@dataclass(frozen=True, slots=True)
class KeptHolding:
    """What is kept; topics by their names on the source."""

    filtered: KeptFiltered = field(default_factory=KeptFiltered)
    stamped: dict[str, Stamped] = field(default_factory=dict)
    again: list[tuple[Step, MirrorFinding]] = field(default_factory=list)
    repeats: list[Repeat] = field(default_factory=list)

    @classmethod
    def of(cls, flow: MirrorFlow) -> KeptHolding:
        """Copy it; call it under the locks of the flow."""
        known = flow.detectors
        return cls(known.filtered.kept(), known.retimed.kept(), known.rewinds.kept(), known.repeats.kept())


def holding_document(kept: KeptHolding) -> dict[str, Any]:
    """Return what is to be kept."""
    filtered = kept.filtered
    return {
        "filtered": [
            (topic, since_ms, int(topic in filtered.reported))
            for topic, since_ms in filtered.since_ms.items()
        ],
        "stamped": [
            (topic, one.since_ms, one.first_end, one.end, one.grown_ms, int(one.holds))
            for topic, one in kept.stamped.items()
        ],
        "again": [(step.at_ms, row_of(one)) for step, one in kept.again[-MOST_FINDINGS:]],
        "repeats": [astuple(one) for one in kept.repeats[-MOST_KEPT:]],
    }


def read_holding(document: Mapping[str, Any]) -> KeptHolding:
    """Return what was kept; raises MalformedError, in words, for anything else."""
    since_ms, told = {}, set()
    for topic, *seen in table(document, "filtered", 3):
        since_ms[short_text(topic)], is_connect = numbers(seen, count=2, least=0, most=MOST_LONG)
        if is_connect:
            told.add(short_text(topic))
    return KeptHolding(
        KeptFiltered(since_ms, frozenset(told)),
        {short_text(topic): _stamped(seen) for topic, *seen in table(document, "stamped", 6)},
        [_again(*row) for row in table(document, "again", 2)],
        [_repeat(*row) for row in table(document, "repeats", 10)] if "repeats" in document else [],
    )


def _stamped(seen: object) -> Stamped:
    since_ms, first_end, end, grown_ms, holds = numbers(seen, count=5, least=-1, most=MOST_LONG)
    return Stamped(instant(since_ms), first_end, end, instant(grown_ms), holds=bool(holds))


def _repeat(topic: object, *told: object) -> Repeat:
    *numbers_told, most, from_start = told
    partition, at_ms, last_ms, from_offset, to_offset, times, records = numbers(
        numbers_told, count=7, least=0, most=MOST_LONG
    )
    if not isinstance(from_start, bool):
        raise MalformedError("snapshot: invalid range of repeated records")
    return Repeat(
        short_text(topic),
        partition,
        instant(at_ms),
        instant(last_ms),
        from_offset,
        to_offset,
        times,
        records,
        None if most is None else number(most, least=0, most=MOST_LONG),
        from_start,
    )


def _again(at_ms: object, row: object) -> tuple[Step, MirrorFinding]:
    one = finding_of(row)
    if one.records is None or one.first_offset is None or one.last_offset is None:
        raise MalformedError("snapshot: invalid range of repeated records")
    back = Step(one.last_offset + 1, one.first_offset, instant(at_ms), Rewound.REPEATED, one.records)
    return back, one
