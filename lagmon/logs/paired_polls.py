"""Polls of target topics after a mirror wrote its offsets, and of the source right after those.

What was replicated between these two polls is the uncertainty of the distance between the target's log end
and the mirror's offset (`lagmon/mirrors/distance.py`). Independent polls every ten seconds, with offsets
every minute, would leave that many seconds of records uncertain.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lagmon.mirrors.progress.connect import MirrorOffsets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lagmon.ingest.watching import ClusterWatch
    from lagmon.mirrors.flow import MirrorFlow
    from lagmon.mirrors.progress.sources import Source


def pair_polls(
    flows: Iterable[MirrorFlow],
    watches: Sequence[ClusterWatch],
    readers: Iterable[Source],
    *,
    on_loop: Callable[..., object],
) -> None:
    """Let polls of targets trigger those of their sources; `on_loop` calls a function on the loop's thread.

    If two clusters mirror from each other, one of them leads.
    """
    watched = {watch.alias: watch for watch in watches}
    leads: set[tuple[str, str]] = set()
    for flow in sorted(flows, key=lambda one: one.order.name):
        pair = flow.order.flow.target, flow.order.flow.source
        if pair[::-1] not in leads:
            leads.add(pair)
    for alias, watch in watched.items():
        led = [watched[source] for target, source in sorted(leads) if target == alias]
        if led:
            watch.on_polled = partial(_look_at, led)
        watch.leaders = tuple(watched[target] for target, source in sorted(leads) if source == alias)
    for reader in readers:
        if isinstance(reader, MirrorOffsets):
            targets = [watched[alias] for alias in sorted(reader.targets)]
            reader.on_flush = partial(on_loop, partial(_poll_after_flush, targets))


def _look_at(watches: Iterable[ClusterWatch], after_flush: bool) -> None:
    for watch in watches:
        watch.poll_soon(in_any_case=after_flush)


def _poll_after_flush(watches: Iterable[ClusterWatch]) -> None:
    for watch in watches:
        watch.poll_after_flush()
