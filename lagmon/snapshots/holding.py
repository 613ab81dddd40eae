"""Lasting findings, repeated records, and logs that lost their end, as rows for a restart. Pure.

Frames of an earlier program have none of it, and are read as if nothing was known.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from fleet.errors import MalformedError
from lagmon.mirrors.detectors.lost_ends.cut import Cut
from lagmon.mirrors.detectors.lost_ends.cuts import KeptCuts
from lagmon.mirrors.detectors.retimed import Stamped
from lagmon.mirrors.detectors.rewinds.repeats import MOST_KEPT, Repeat
from lagmon.mirrors.detectors.rewinds.steps import Rewound, Step
from lagmon.mirrors.detectors.unreplicated.filtered import KeptFiltered
from lagmon.snapshots.losses import MOST_FINDINGS, finding_of, row_of
from lagmon.snapshots.reading import MOST_LONG, MOST_ROWS, instant, number, numbers, rows, short_text, table

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
    cuts: KeptCuts = field(default_factory=KeptCuts)

    @classmethod
    def of(cls, flow: MirrorFlow) -> KeptHolding:
        """Copy it; call it under the locks of the flow."""
        known = flow.detectors
        return cls(
            known.filtered.kept(),
            known.retimed.kept(),
            known.rewinds.kept(),
            known.repeats.kept(),
            known.cuts.kept(flow),
        )


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
        "cuts": [(*name, *_cut_row(cut)) for name, cut in list(kept.cuts.cuts.items())[-MOST_FINDINGS:]],
        "complete": _by_topic(kept.cuts.complete_ms),
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
        KeptCuts(_cuts(document), _complete_ms(document)) if "cuts" in document else KeptCuts(),
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


def _cut_row(cut: Cut) -> tuple[object, ...]:
    *known, found = (getattr(cut, one.name) for one in fields(cut))
    return (*map(int, known), None if found is None else row_of(found))


def _cuts(document: Mapping[str, Any]) -> dict[tuple[str, int], Cut]:
    cuts = {}
    for topic, partition, *told, found in table(document, "cuts", 2 + len(fields(Cut))):
        next_offset, written_ms, complete_ms, lowest, lowest_ms, target_end, between, start, *since = numbers(
            told, count=len(fields(Cut)) - 1, least=-1, most=MOST_LONG
        )
        grows, moved_ms, first_low, is_decided = since
        cuts[short_text(topic), number(partition, least=0, most=MOST_ROWS)] = Cut(
            next_offset,
            instant(written_ms),
            instant(complete_ms),
            lowest,
            instant(lowest_ms),
            target_end,
            between,
            start,
            bool(grows),
            instant(moved_ms),
            first_low,
            bool(is_decided),
            None if found is None else finding_of(found),
        )
    return cuts


def _by_topic(complete_ms: Mapping[tuple[str, int], int]) -> list[tuple[str, list[int], list[int]]]:
    """Return for each topic its partitions, and when the log of each was last seen complete."""
    found: dict[str, tuple[list[int], list[int]]] = {}
    for (topic, partition), at_ms in complete_ms.items():
        if at_ms >= 0:
            partitions, times = found.setdefault(topic, ([], []))
            partitions.append(partition)
            times.append(at_ms)
    return [(topic, *columns) for topic, columns in found.items()]


def _complete_ms(document: Mapping[str, Any]) -> dict[tuple[str, int], int]:
    found = {}
    for topic, of_partitions, times in table(document, "complete", 3):
        name, count = short_text(topic), len(rows(of_partitions, most=MOST_ROWS))
        partitions = numbers(of_partitions, count=count, least=0, most=MOST_ROWS)
        for partition, at_ms in zip(partitions, rows(times, least=count, most=count), strict=True):
            found[name, partition] = instant(at_ms)
    return found
