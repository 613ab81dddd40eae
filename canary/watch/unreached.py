"""Brokers that no probe passes through: they lead no partition of the canary's topics."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Side(StrEnum):
    """End of a flow."""

    SOURCE = "source"
    TARGET = "target"


@dataclass(frozen=True, slots=True, order=True)
class UnreachedBroker:
    """A broker that no probe of a flow passes through."""

    kafka_cluster: str
    broker_id: int
    side: Side


def unreached_brokers(
    kafka_cluster: str, brokers: Iterable[int], leaders: Iterable[int | None], *, side: Side
) -> tuple[UnreachedBroker, ...]:
    """Return the brokers that lead none of these partitions, in order."""
    leading = set(leaders)
    return tuple(UnreachedBroker(kafka_cluster, one, side) for one in sorted(set(brokers) - leading))
