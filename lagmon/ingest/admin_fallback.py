"""Messages about missing permissions on groups' offsets, and a check whether commits are readable again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import MirrorwatchError
from fleet.quantity import duration_text
from lagmon.ingest.commits import TOPIC
from runtime.kafka.bulk import Bulk

if TYPE_CHECKING:
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

RETRY_S = 600.0  # between two attempts to read the commits
TRY_S = 15.0


def refusal_sentence(cluster: str, retry_s: float) -> str:
    """Return which permission is missing on the commits, and what happens instead."""
    return (
        f"cluster {cluster}: the principal may not read {TOPIC}, so where groups stand is asked for by the "
        "Admin API instead, which does not tell when they committed; grant the principal the right Read on "
        f"the topic {TOPIC}, which is tried again every {duration_text(retry_s)}, or set "
        "`lag: {commits: admin}`"
    )


def hidden_sentence(cluster: str) -> str:
    """Return which permission is missing if the Admin API lists no group."""
    return (
        f"cluster {cluster}: the Admin API shows no group, because the principal may not describe any: grant "
        "it the right Describe on groups (on the cluster it shows them, and does not tell where they stand)"
    )


def all_denied_sentence(why: str) -> str:
    """Return which permission is missing if no group returns its offsets; `why` is one error."""
    return (
        "none of the groups that the Admin API shows tells where it stands, for which the principal needs "
        f"the right Describe on groups; of one: {why}"
    )


def commits_readable(settings: ClientSettings, *, cluster: str, clock: Clock) -> bool:
    """Return whether commits can be read, by trying; False if that is not clear within TRY_S."""
    bulk = Bulk(settings, cluster=cluster, topic=TOPIC, name=f"{cluster}-commits-try")
    until_ns = clock.monotonic_ns() + int(TRY_S * 1e9)
    try:
        bulk.open([0])
        while clock.monotonic_ns() < until_ns:
            batch = bulk.take(wait_s=0.5)
            if batch.refused is not None:
                return False
            if batch.keys or batch.ends:
                return True
    except MirrorwatchError:
        return False
    finally:
        bulk.close()
    return False
