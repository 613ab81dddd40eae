"""Brokers that lead no partition of the canary's topic or of its copy: no probe passes through them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class Side(StrEnum):
    """On which end of a flow something is."""

    SOURCE = "source"
    TARGET = "target"


@dataclass(frozen=True, slots=True, order=True)
class UnreachedBroker:
    """A broker through which no probe of a flow passes."""

    kafka_cluster: str
    broker_id: int
    side: Side


def unreached_brokers(
    kafka_cluster: str, brokers: Iterable[int], leaders: Iterable[int | None], *, side: Side
) -> tuple[UnreachedBroker, ...]:
    """Return the brokers that lead none of these partitions, in order; a partition may have no leader."""
    leading = set(leaders)
    return tuple(UnreachedBroker(kafka_cluster, one, side) for one in sorted(set(brokers) - leading))
