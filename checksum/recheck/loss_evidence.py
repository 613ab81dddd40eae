"""Read topic limits of the target and sizes of lost records on the source."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING

from checksum.recheck.loss_causes import (
    limits_of,
    lost_records,
    size_matters,
    with_causes,
    with_recreation_cause,
)
from fleet.errors import MirrorwatchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checksum.anchors.reading import Place, Reader
    from checksum.compare.findings import Finding
    from checksum.inventory.connections import BothSides
    from checksum.inventory.inventory import Admin
    from checksum.plan.shape import Plan
    from checksum.recheck.loss_causes import Record
    from fleet.verdicts.flow import Flow

MOST_TOPICS = 100  # whose settings are read
MOST_SIZES = 200  # records that are read for their size
MOST_EACH = 20  # of one partition: each is one request to the source
MOST_BYTES = 64 << 20  # of all these
AT_ONCE = 16  # partitions in one request


async def with_loss_causes(
    findings: Sequence[Finding], flow: Flow, plan: Plan, sides: BothSides
) -> tuple[Finding, ...]:
    """Return the findings with causes of lost records, from settings and sizes.

    If a request fails, the records stay unexplained; no finding is dropped.
    """
    findings = with_recreation_cause(findings, plan)
    unexplained = [one for one in findings if one.cause is None]
    lost = lost_records(unexplained) if size_matters(flow.handling) else []
    if not lost:
        return with_causes(findings, flow.handling, {}, {})
    names = {one.topic: one.target_topic for one in plan.topics}
    asked = islice(dict.fromkeys(names[topic] for topic, _, _ in lost), MOST_TOPICS)
    settings = {name: await _settings_of(sides.target.admin, name) for name in asked}
    limits = limits_of(flow, plan, settings)
    sizes = await asyncio.to_thread(sizes_of, sides.readers.source, lost) if limits else {}
    return with_causes(findings, flow.handling, limits, sizes)


async def _settings_of(admin: Admin, name: str) -> dict[str, str]:
    try:
        return await admin.describe_topic_config(name)
    except MirrorwatchError:
        return {}


def sizes_of(reader: Reader, records: Iterable[Record]) -> dict[Record, int]:
    """Return the sizes of records in bytes, as far as they can be read; some of each partition."""
    waiting: dict[Place, list[int]] = {}
    for topic, partition, offset in records:
        of_place = waiting.setdefault((topic, partition), [])
        if len(of_place) < MOST_EACH:
            of_place.append(offset)
    found: dict[Record, int] = {}
    read, size_bytes = 0, 0
    while waiting and read < MOST_SIZES and size_bytes < MOST_BYTES:
        some = islice(waiting, min(AT_ONCE, MOST_SIZES - read))
        asked = {place: waiting.pop(place) for place in list(some)}
        read += len(asked)
        try:
            answers = reader.pick({place: (offsets[0], 1) for place, offsets in asked.items()})
        except MirrorwatchError:
            return found
        for place, offsets in asked.items():
            for one in answers[place].records[:1]:
                headers = sum(len(name.encode()) + len(value or b"") for name, value in one.headers)
                size = len(one.key or b"") + len(one.value or b"") + headers
                size_bytes += size
                if one.offset == offsets[0]:
                    found[*place, one.offset] = size
            if offsets[1:]:  # after those of other partitions
                waiting[place] = offsets[1:]
    return found
