"""What the canary costs: records, bytes on disk and bytes between sites. Pure: settings in, numbers out.

The size of a probe is that of an encoded one. A probe goes out by itself, so each pays for a record batch:
61 bytes of header (KIP-98, message format 2), and a few bytes for the record within it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from canary import control, probing
from canary.plan import partitions_for
from canary.stamp import Stamp, encode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from canary.config import CanaryConfig
    from canary.flows import CanaryFlow

DAY_S = 86_400.0
BATCH_HEADER_BYTES = 61
CANARY_RETENTION_S = int(probing.TOPIC_CONFIG["retention.ms"]) / 1000
CANARY_SEGMENT_S = int(probing.TOPIC_CONFIG["segment.ms"]) / 1000
CONTROL_RETENTION_S = int(control.TOPIC_CONFIG["retention.ms"]) / 1000
CONTROL_SEGMENT_S = int(control.TOPIC_CONFIG["segment.ms"]) / 1000
_MILLION = 10**6  # a sequence of seven digits, as after some days at one probe a second


@dataclass(frozen=True, slots=True)
class SourceCost:
    """What the probes of one source come to. `at_least` where a cluster did not tell its brokers."""

    source: str
    partitions: int
    planned: int
    exists: bool
    at_least: bool
    records_per_s: float
    bytes_per_day: float

    def kept_bytes(self, *, longest: bool) -> float:
        """Return what one replica keeps: of a day, or until Kafka deletes a whole segment."""
        kept_s = CANARY_RETENTION_S + (CANARY_SEGMENT_S if longest else 0.0)
        return self.bytes_per_day * kept_s / DAY_S


def costs(
    flows: Sequence[CanaryFlow],
    canary: CanaryConfig,
    *,
    brokers: Mapping[str, int],
    existing: Mapping[str, int],
) -> tuple[SourceCost, ...]:
    """Return the cost for each source that is probed, in the order of the flows.

    `brokers` are those of each cluster that told them, `existing` the partitions of the canary's topic where
    it is there already.
    """
    probed: dict[str, list[CanaryFlow]] = {}
    for flow in flows:
        if not flow.off:
            probed.setdefault(flow.source, []).append(flow)
    found = []
    for source, out in probed.items():
        planned = partitions_for(
            source_brokers=brokers.get(source, 1),
            target_brokers=max(brokers.get(flow.target, 1) for flow in out),
            tasks_max=max(flow.tasks_max for flow in out),
            at_most=canary.max_partitions,
        )
        asked = {source, *(flow.target for flow in out)}
        partitions = existing.get(source, planned)
        records_per_s = partitions / canary.interval
        found.append(
            SourceCost(
                source=source,
                partitions=partitions,
                planned=planned,
                exists=source in existing,
                at_least=source not in existing
                and not asked <= set(brokers)
                and planned < canary.max_partitions,
                records_per_s=records_per_s,
                bytes_per_day=records_per_s * DAY_S * probe_bytes(canary.topic, partitions),
            )
        )
    return tuple(found)


def probe_bytes(topic: str, partitions: int) -> int:
    """Return what one probe takes in a partition's log, uncompressed."""
    probe = encode(
        Stamp(
            installation="0" * 32,
            incarnation="0" * 16,
            sequence=_MILLION,
            topic_id="A" * 22,
            topic=topic,
            partition=partitions - 1,
            sent_at_ms=10**12,
        )
    )
    return batch_bytes(probe.key, probe.value, probe.headers)


def control_bytes_per_day() -> float:
    """Return what the control probes of one cluster take in its log a day."""
    return DAY_S / control.INTERVAL_S * batch_bytes(None, b"0" * 16 + b":" + str(_MILLION).encode(), ())


def control_kept_bytes() -> float:
    """Return what one replica of the control topic keeps before Kafka deletes a segment."""
    return control_bytes_per_day() * (CONTROL_RETENTION_S + CONTROL_SEGMENT_S) / DAY_S


def batch_bytes(key: bytes | None, value: bytes, headers: Sequence[tuple[str, bytes]]) -> int:
    """Return the bytes of a record batch that holds this one record."""
    record = 3  # attributes, and the distances in time and offset from the batch's, which are 0
    record += _counted(key) + _counted(value) + _varint_bytes(len(headers))
    record += sum(_counted(name.encode()) + _counted(content) for name, content in headers)
    return BATCH_HEADER_BYTES + _varint_bytes(record) + record


def _counted(content: bytes | None) -> int:
    return _varint_bytes(-1) if content is None else _varint_bytes(len(content)) + len(content)


def _varint_bytes(number: int) -> int:
    """Return the bytes of a zigzag varint, seven bits in each."""
    zigzag = number << 1 if number >= 0 else (-number << 1) - 1
    return max(1, (zigzag.bit_length() + 6) // 7)
