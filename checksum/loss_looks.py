"""Ask the target for its topics' limits and the source for the sizes of lost records."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from checksum.loss_causes import limits_of, lost_records, with_causes
from fleet.errors import MirrorwatchError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from checksum.anchor_reading import Place, Reader
    from checksum.connections import BothSides
    from checksum.findings import Finding
    from checksum.loss_causes import Record
    from checksum.plan_shape import Plan
    from fleet.flow import Flow

MOST_TOPICS = 100  # whose settings are asked for
MOST_SIZES = 200  # records that are read for their size: each is a question to the source
MOST_BYTES = 64 << 20  # of all these


async def explained(
    findings: Sequence[Finding], flow: Flow, plan: Plan, sides: BothSides
) -> tuple[Finding, ...]:
    """Return the findings with what settings and sizes say of lost records.

    What cannot be asked leaves them unexplained: no finding is dropped for that.
    """
    lost = lost_records(findings)
    names = {one.topic: one.target_topic for one in plan.topics}
    asked = list(dict.fromkeys(names[topic] for topic, _, _ in lost))[:MOST_TOPICS]
    settings: dict[str, dict[str, str]] = {}
    sizes: dict[Record, int] = {}
    try:
        for name in asked:
            settings[name] = await sides.target.admin.describe_topic_config(name)
        sizes = await asyncio.to_thread(sizes_of, sides.readers.source, lost)
    except MirrorwatchError:
        pass
    return with_causes(findings, flow, limits_of(flow, plan, settings), sizes)


def sizes_of(reader: Reader, records: Iterable[Record]) -> dict[Record, int]:
    """Return the bytes of records, as far as they are there: some of each partition."""
    waiting: dict[Place, list[int]] = {}
    for topic, partition, offset in records:
        waiting.setdefault((topic, partition), []).append(offset)
    found: dict[Record, int] = {}
    looked, size_bytes = 0, 0
    while waiting and looked < MOST_SIZES and size_bytes < MOST_BYTES:
        asked = {place: (offsets.pop(0), 1) for place, offsets in waiting.items()}
        looked += len(asked)
        for (topic, partition), picked in reader.pick(asked).items():
            for one in picked.records[:1]:
                headers = sum(len(name.encode()) + len(value or b"") for name, value in one.headers)
                size = len(one.key or b"") + len(one.value or b"") + headers
                size_bytes += size
                if one.offset == asked[topic, partition][0]:
                    found[topic, partition, one.offset] = size
        waiting = {place: offsets for place, offsets in waiting.items() if offsets}
    return found
