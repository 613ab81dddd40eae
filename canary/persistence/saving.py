"""The transactions of the canary's memory: when a process begins, for changes, and to delete old rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from canary.persistence import leases, tables
from canary.watch.findings import LOOPS
from fleet.errors import UnavailableError
from runtime.process.identity import this_process

CLOSED_S = 86_400.0  # how long the coverage of a closed incarnation stays, for people who look after a fault

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import sqlalchemy as sa

    from canary.persistence.tables import MinuteKey
    from canary.tracker.events import Coverage
    from canary.watch.findings import Row
    from fleet.verdicts.evidence import Finding


class TakenOverError(UnavailableError):
    """Another process has taken over this one's probes: what this one went on counting would count twice."""


@dataclass(slots=True)
class Waiting:
    """What is to be written, by what it replaces in the store."""

    carried: set[tuple[str, str, int]] = field(default_factory=set)
    rows: dict[MinuteKey, tuple[int, ...]] = field(default_factory=dict)
    coverages: dict[tuple[str, str, str, int], tuple[str, str, Coverage]] = field(default_factory=dict)
    findings: dict[tuple[str, Row], tuple[str, Finding]] = field(default_factory=dict)
    arrivals: dict[str, float] = field(default_factory=dict)  # epoch s by flow
    unlooped: set[str] = field(default_factory=set)  # flows whose earlier findings of loops are deleted
    flows_of: dict[str, frozenset[str]] = field(default_factory=dict)  # of what was taken over: unfinished

    def followed_by(self, newer: Waiting) -> Waiting:
        """Return both; newer values replace older ones."""
        for flow in newer.unlooped:
            self.forget_loops(flow)
        return Waiting(
            self.carried | newer.carried,
            self.rows | newer.rows,
            self.coverages | newer.coverages,
            self.findings | newer.findings,
            self.arrivals | newer.arrivals,
            self.unlooped | newer.unlooped,
            self.flows_of | newer.flows_of,
        )

    def forget_loops(self, flow: str) -> None:
        """Delete the loop findings of this flow, waiting or written."""
        self.unlooped.add(flow)
        for key in [key for key in self.findings if key[0] == flow and key[1][0] in LOOPS]:
            del self.findings[key]


def start(
    connection: sa.Connection,
    *,
    incarnation: str,
    replica: str,
    flows: Collection[str],
    silent: Mapping[str, float],
    others: Collection[str],
    now_at: float,
) -> list[leases.Incarnation]:
    """Write the lease of a process that starts, and return what it takes over."""
    process = this_process().text()
    leases.begin(connection, incarnation, replica=replica, process=process, flows=flows, now_at=now_at)
    return leases.take_over(connection, incarnation, silent=silent, others=others, now_at=now_at)


def save(
    connection: sa.Connection,
    *,
    waiting: Waiting,
    incarnation: str,
    replica: str,
    flows: Collection[str],
    now_at: float,
    ended: bool,
) -> None:
    """Renew the lease and write the waiting changes; writes nothing if it raises TakenOverError."""
    if not leases.renew(connection, incarnation, flows=flows, now_at=now_at, ended=ended):
        raise TakenOverError(
            "another process on this store took over the probes of this one, because its lease was not"
            f" renewed for {leases.LEASE_S:g} s; restart mirrorwatch"
        )
    for flow, topic_id, partition in waiting.carried:
        tables.keep_carried(connection, flow, topic_id, partition, now_at)
    tables.keep_minutes(connection, waiting.rows, replica=replica, incarnation=incarnation)
    tables.keep_coverages(connection, waiting.coverages.values())
    if waiting.unlooped:
        tables.forget_loops(connection, waiting.unlooped, now_at=now_at)
    tables.keep_findings(connection, waiting.findings.values())
    tables.keep_arrivals(connection, waiting.arrivals)
    leases.leave_open(connection, waiting.flows_of)


def tidy(
    connection: sa.Connection, *, after: str, minutes_s: float, findings_s: float, now_at: float
) -> str | None:
    """Delete rows of one flow past their retention (s), the first after `after`; "" to begin.

    Return after which to continue, None at the end.
    """
    if not after:
        leases.delete_old(connection, closed_before=now_at - CLOSED_S, ended_before=now_at - minutes_s)
    return tables.delete_old(
        connection,
        after=after,
        minutes_before=int((now_at - minutes_s) // 60),
        findings_before=now_at - findings_s,
    )
