"""One answer of /metrics: whether it adds up, and what it must never show. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX = "mirrorwatch_"
CONCLUDED = ("good", "late", "overdue", "lost")
NEVER = ("corrupted", "misrouted", "looped", "returned", "confirmed", "foreign")  # flags
OK = 1.0  # of a group's status
COUNTERS = ("expected", "settled", "concluded", "in_flight")


@dataclass(slots=True)
class Scrape:
    """What is read of an answer."""

    leads: bool = False
    series: int = 0
    counters: dict[str, dict[str, float]] = field(default_factory=dict)  # by flow
    outcomes: dict[str, dict[str, float]] = field(default_factory=dict)
    flags: dict[str, dict[str, float]] = field(default_factory=dict)
    groups: dict[str, float] = field(default_factory=dict)  # status by cluster and group
    audit_at: dict[str, float] = field(default_factory=dict)  # by flow

    def note_canary(self, name: str, labels: Mapping[str, str], value: float) -> None:
        """Note a sample of the canary of a flow."""
        flow = labels["flow"]
        if name == "probes":
            self.outcomes.setdefault(flow, {})[labels["outcome"]] = value
        elif name == "probe_flags":
            self.flags.setdefault(flow, {})[labels["flag"]] = value
        elif name in COUNTERS:
            self.counters.setdefault(flow, {})[name] = value

    def note(self, name: str, labels: Mapping[str, str], value: float) -> None:
        """Note another sample."""
        match name:
            case "replica_leader":
                self.leads |= value == 1.0
            case "group_status":
                self.groups[f"{labels['kafka_cluster']}/{labels['group']}"] = value
            case "failover_last_success_timestamp_seconds":
                self.audit_at[labels["flow"]] = value

    def wrong(self) -> list[str]:
        """Return what does not add up, and counters that must be 0."""
        found = []
        for flow, counters in self.counters.items():
            outcomes = self.outcomes.get(flow, {})
            expected, settled = counters.get("expected", 0.0), counters.get("settled", 0.0)
            concluded = sum(outcomes.get(name, 0.0) for name in CONCLUDED)
            counted = sum(outcomes.values()) + counters.get("in_flight", 0.0)
            if expected != counted:
                found.append(f"{flow}: {expected:g} expected, {counted:g} with outcome or in flight")
            if counters.get("concluded") != concluded:
                found.append(f"{flow}: {counters.get('concluded')} concluded, the outcomes are {concluded:g}")
            if not concluded <= settled <= expected:
                found.append(f"{flow}: {settled:g} settled, {concluded:g} concluded, {expected:g} expected")
            if outcomes.get("lost"):
                found.append(f"{flow}: {outcomes['lost']:g} lost")
            flags = self.flags.get(flow, {})
            found += [f"{flow}: {flags[name]:g} {name}" for name in NEVER if flags.get(name)]
        return found


def read_scrape(text: str) -> Scrape:
    """Return what an answer says. Raises ValueError if Prometheus could not read it."""
    found = Scrape()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.series += 1
            name = sample.name.removeprefix(PREFIX).removesuffix("_total")
            if name.startswith("canary_") and "flow" in sample.labels:
                found.note_canary(name.removeprefix("canary_"), sample.labels, sample.value)
            else:
                found.note(name, sample.labels, sample.value)
    return found
