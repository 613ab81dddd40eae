"""The settings of the audit's process: one JSON object, written by the service."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fleet.mm2.filters import PatternList
from lagmon.ingest.orders import lets_through
from lagmon.mirrors.answers.orders import MirrorOrder, read_mirror, write_mirror
from mirrorwatch.lag.orders import met_secrets, mirror_orders
from runtime.kafka.properties.client_settings import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mirrorwatch.configuration.configuration import Configuration


@dataclass(frozen=True, slots=True)
class AuditOrders:
    """Flows with their clusters, and the groups to audit; `secrets` are never logged."""

    socket: Path
    clients: Mapping[str, ClientSettings] = field(repr=False)
    mirrors: tuple[MirrorOrder, ...]
    groups: PatternList
    groups_exclude: PatternList
    interval_s: float
    max_series: int
    log_level: str
    log_format: Literal["text", "json"]
    secrets: tuple[str, ...] = field(repr=False)

    def wanted(self, group: str) -> bool:
        """Return whether a group is audited."""
        return lets_through(self.groups, group) and not self.groups_exclude.matches(group)


def write_orders(config: Configuration, *, log_level: str, log_format: str) -> dict[str, Any] | None:
    """Return the settings as a JSON object, without the socket; None if the audit is off."""
    if not config.audits_failover:
        return None
    mirrors = mirror_orders(config)
    aliases = frozenset().union(*(one.clusters for one in mirrors))
    told: dict[str, Any] = {
        "clients": {alias: dict(one.librdkafka) for alias, one in config.clients.items() if alias in aliases},
        "mirrors": [write_mirror(one) for one in mirrors],
        "groups": config.lag.groups,
        "groups_exclude": config.lag.groups_exclude,
        "interval_s": config.failover.interval,
        "max_series": config.lag.max_series,
        "log_level": log_level,
        "log_format": log_format,
    }
    return {**told, "secrets": sorted(met_secrets(config, told))}


def read_orders(told: Mapping[str, Any]) -> AuditOrders:
    """Return the settings from the JSON object of `write_orders`."""
    return AuditOrders(
        socket=Path(told["socket"]),
        clients={alias: ClientSettings(one) for alias, one in told["clients"].items()},
        mirrors=tuple(map(read_mirror, told["mirrors"])),
        groups=PatternList(told["groups"]),
        groups_exclude=PatternList(told["groups_exclude"]),
        interval_s=told["interval_s"],
        max_series=told["max_series"],
        log_level=told["log_level"],
        log_format=told["log_format"],
        secrets=tuple(told["secrets"]),
    )
