"""Cost of the canary: records, bytes on disk, bytes between sites. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from canary.site import control
from canary.site.record_sizes import control_probe_bytes, probe_bytes
from canary.tracker.plan import CONTROL_SETTINGS, PROBES_SETTINGS, even_interval_s, partitions_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from canary.config import CanaryConfig
    from canary.flows import CanaryFlow

DAY_S = 86_400.0
CANARY_RETENTION_S = int(PROBES_SETTINGS["retention.ms"]) / 1000
CANARY_SEGMENT_S = int(PROBES_SETTINGS["segment.ms"]) / 1000
CONTROL_RETENTION_S = int(CONTROL_SETTINGS["retention.ms"]) / 1000
CONTROL_SEGMENT_S = int(CONTROL_SETTINGS["segment.ms"]) / 1000


@dataclass(frozen=True, slots=True)
class SourceCost:
    """Cost of the probes of one source. `at_least`: the brokers of some clusters are unknown.

    `interval_s` applies to all sources; canary.max_rate may have increased it.
    """

    source: str
    partitions: int
    planned: int
    exists: bool
    at_least: bool
    interval_s: float
    records_per_s: float
    bytes_per_day: float

    def kept_bytes(self, *, longest: bool) -> float:
        """Return the bytes that one replica keeps: of a day, or until Kafka deletes a whole segment."""
        kept_s = CANARY_RETENTION_S + (CANARY_SEGMENT_S if longest else 0.0)
        return self.bytes_per_day * kept_s / DAY_S


def costs(
    flows: Sequence[CanaryFlow],
    canary: CanaryConfig,
    *,
    brokers: Mapping[str, int],
    existing: Mapping[str, int],
) -> tuple[SourceCost, ...]:
    """Return the cost for each probed source, in the order of the flows.

    `brokers` are the known numbers of brokers by cluster, `existing` the partitions of canary topics that
    exist.
    """
    probed: dict[str, list[CanaryFlow]] = {}
    for flow in flows:
        if not flow.off:
            probed.setdefault(flow.source, []).append(flow)
    planned = {
        source: partitions_for(
            source_brokers=brokers.get(source, 1),
            target_brokers=max(brokers.get(flow.target, 1) for flow in out),
            tasks_max=max(flow.tasks_max for flow in out),
            at_most=canary.max_partitions,
        )
        for source, out in probed.items()
    }
    partitions = {source: existing.get(source, planned[source]) for source in probed}
    interval_s = even_interval_s(
        canary.interval, partitions=sum(partitions.values()), max_rate=canary.max_rate
    )
    found = []
    for source, out in probed.items():
        asked = {source, *(flow.target for flow in out)}
        unsure = not asked <= set(brokers) and planned[source] < canary.max_partitions
        records_per_s = partitions[source] / interval_s
        per_day = records_per_s * DAY_S * probe_bytes(canary.topic, partitions[source])
        found.append(
            SourceCost(
                source=source,
                partitions=partitions[source],
                planned=planned[source],
                exists=source in existing,
                at_least=source not in existing and unsure,
                interval_s=interval_s,
                records_per_s=records_per_s,
                bytes_per_day=per_day,
            )
        )
    return tuple(found)


def control_bytes_per_day() -> float:
    """Return the bytes per day that control probes write to one cluster."""
    return DAY_S / control.INTERVAL_S * control_probe_bytes()


def control_kept_bytes() -> float:
    """Return the bytes of the control topic on one replica before Kafka deletes a segment."""
    return control_bytes_per_day() * (CONTROL_RETENTION_S + CONTROL_SEGMENT_S) / DAY_S
