"""One objective of one flow: the good share over a period. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

DAY_S = 86_400.0
DEFAULT_PERIOD_S = 28 * DAY_S


class ObjectiveKind(StrEnum):
    """Kinds of objectives."""

    AVAILABILITY = "availability"  # probes delivered / concluded
    FRESHNESS = "freshness"  # probes good / settled
    REPLICATION_LAG = "replication_lag"  # time with the worst topic's lag within the limit
    RECOVERY_POINT = "recovery_point"  # time with the recovery point within the limit
    AUDIT_AGE = "audit_age"  # time with the last complete audit of every topic within the limit
    LOSS = "loss"  # no canary record is lost: every single one counts

    @property
    def counts_probes(self) -> bool:
        """Return whether it counts probes; the others count time."""
        return self in (ObjectiveKind.AVAILABILITY, ObjectiveKind.FRESHNESS, ObjectiveKind.LOSS)

    @property
    def has_limit(self) -> bool:
        """Return whether it has a limit in seconds."""
        return not self.counts_probes

    @property
    def needs_canary(self) -> bool:
        """Return whether it needs a canary."""
        return self.counts_probes

    @property
    def default_limit_s(self) -> float | None:
        """Return the default limit; None for kinds without one."""
        return _LIMITS_S.get(self)


_LIMITS_S = {
    ObjectiveKind.REPLICATION_LAG: 300.0,
    ObjectiveKind.RECOVERY_POINT: 300.0,
    ObjectiveKind.AUDIT_AGE: 26 * 3600.0,  # a nightly audit, and two hours for it
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Objective:
    """One objective of one flow. `target_ratio` is the required good share, from 0 to below 1.

    With `slice_ratio` minutes count instead of probes: a minute is good if at least this share of its probes
    is. `limit_s` is for kinds with a limit. A loss objective has target 1: each lost record breaks it.

    `minutes_per_probe` is the time between two probes of the flow, with as few partitions as possible; 1 if
    every minute has one.
    """

    flow: str
    source: str
    target: str
    kind: ObjectiveKind
    target_ratio: float
    period_s: float = DEFAULT_PERIOD_S
    limit_s: float | None = None
    slice_ratio: float | None = None
    minutes_per_probe: float = 1.0

    @property
    def budget_ratio(self) -> float:
        """Return the share that may be bad."""
        return 1.0 - self.target_ratio


def defaults_of(flow: str, source: str, target: str, *, has_canary: bool) -> tuple[Objective, ...]:
    """Return the default objectives of a flow."""
    targets = {ObjectiveKind.REPLICATION_LAG: 0.99}
    if has_canary:
        targets = {
            ObjectiveKind.AVAILABILITY: 0.999,
            ObjectiveKind.FRESHNESS: 0.99,
            ObjectiveKind.LOSS: 1.0,
            ObjectiveKind.RECOVERY_POINT: 0.99,
        }
    return tuple(
        Objective(
            flow=flow,
            source=source,
            target=target,
            kind=kind,
            target_ratio=ratio,
            limit_s=kind.default_limit_s,
        )
        for kind, ratio in targets.items()
    )
