"""What the ingest process is told to do: one JSON object, made by the service, read by the process."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from fleet.filters import PatternList
from lagmon.mirror_orders import MirrorOrder, read_mirror, write_mirror
from runtime.kafka.translation import ClientSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


@dataclass(frozen=True, slots=True)
class Orders:
    """Clusters with their clients, and which groups and topics to keep; `secrets` are never logged."""

    socket: Path
    clients: Mapping[str, ClientSettings] = field(repr=False)
    burrow_names: Mapping[str, str]  # by alias
    groups: PatternList
    groups_exclude: PatternList
    per_partition: bool
    max_series: int
    log_level: str
    log_format: Literal["text", "json"]
    mirrors: tuple[MirrorOrder, ...] = ()
    secrets: tuple[str, ...] = field(default=(), repr=False)

    def wanted(self, _alias: str, group: str, _topic: str) -> bool:
        """Tell whether to keep the offsets of a group."""
        return self.groups.matches(group) and not self.groups_exclude.matches(group)


def write_orders(
    clients: Mapping[str, ClientSettings],
    *,
    burrow_names: Mapping[str, str],
    groups: str,
    groups_exclude: str,
    per_partition: bool,
    max_series: int,
    log_level: str,
    log_format: str,
    secrets: frozenset[str],
    mirrors: Iterable[MirrorOrder] = (),
) -> dict[str, Any]:
    """Return the orders as JSON has them; the worker adds its socket."""
    return {
        "clients": {alias: dict(one.librdkafka) for alias, one in clients.items()},
        "burrow_names": dict(burrow_names),
        "groups": groups,
        "groups_exclude": groups_exclude,
        "per_partition": per_partition,
        "max_series": max_series,
        "log_level": log_level,
        "log_format": log_format,
        "mirrors": [write_mirror(one) for one in mirrors],
        "secrets": sorted(secrets),
    }


def read_orders(told: Mapping[str, Any]) -> Orders:
    """Return the orders that `write_orders` has written."""
    return Orders(
        socket=Path(told["socket"]),
        clients={alias: ClientSettings(one) for alias, one in told["clients"].items()},
        burrow_names=told["burrow_names"],
        groups=PatternList(told["groups"]),
        groups_exclude=PatternList(told["groups_exclude"]),
        per_partition=told["per_partition"],
        max_series=told["max_series"],
        log_level=told["log_level"],
        log_format=told["log_format"],
        mirrors=tuple(read_mirror(one) for one in told.get("mirrors", ())),
        secrets=tuple(told["secrets"]),
    )
