"""The new mirror of a flow and the file of the old one's positions, for `plan` and `verify`. Blocks."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from fleet.errors import ConfigurationError, Problem
from lagmon.mirrors.answers.orders import CONNECT_OFFSETS
from mirrorwatch.failover.asking import orders_named
from mirrorwatch.migration.mirror import read_mirror
from mirrorwatch.migration.positions import read_positions
from mirrorwatch.trace.clusters import Clusters
from runtime.process.clock import SystemClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lagmon.mirrors.answers.orders import MirrorOrder
    from mirrorwatch.configuration.configuration import Configuration
    from mirrorwatch.migration.mirror import MirrorState
    from mirrorwatch.migration.positions import MirrorPositions


@contextmanager
def opened(
    config: Configuration, path: Path, flow: str | None
) -> Iterator[tuple[MirrorPositions, MirrorState, Clusters]]:
    """Yield the file, the state of the new mirror, and its clusters.

    Raises ConfigurationError if they do not belong together, MirrorwatchError if a cluster or Kafka Connect
    does not answer.
    """
    file = read_positions(path)
    order = _new_order(config, file, flow)
    clock = SystemClock()
    with Clusters(config.clients, clock) as clusters:
        mirror = read_mirror(config, order, clusters, now_ms=round(clock.wall_s() * 1000))
        _refuse_other_clusters(file, order, clusters, path=path)
        yield file, mirror, clusters


def _new_order(config: Configuration, file: MirrorPositions, flow: str | None) -> MirrorOrder:
    """Return the flow of the new mirror, by default the one of the file's name.

    Raises ConfigurationError if it is unknown, or does not continue at offsets that can be written.
    """
    (order,) = orders_named(config, flow or file.flow)
    if order.lag_from != CONNECT_OFFSETS:
        sentence = (
            "the new mirror must be MirrorMaker 2, whose offsets can be written (lag_from: connect-offsets)"
        )
        raise ConfigurationError([Problem(str(config.path), f"flows.{order.name}", sentence)])
    return order


def _refuse_other_clusters(
    file: MirrorPositions, order: MirrorOrder, clusters: Clusters, *, path: Path
) -> None:
    """Raise ConfigurationError if the file is of other clusters."""
    problems = []
    for key, expected, alias in (
        ("source_cluster_id", file.source_cluster_id, order.flow.source),
        ("target_cluster_id", file.target_cluster_id, order.flow.target),
    ):
        found = clusters[alias].reader.cluster_id
        if found != expected:
            sentence = f"the file is of cluster {expected}, and {alias} is {found}; check the configuration"
            problems.append(Problem(str(path), key, sentence))
    if problems:
        raise ConfigurationError(problems)
