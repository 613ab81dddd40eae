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
        f"cluster {cluster}: no permission to read {TOPIC}; polling offsets with the Admin API instead, "
        f"without times of commits. Grant the principal Read on the topic {TOPIC} (checked every "
        f"{duration_text(retry_s)}), or set `lag: {{commits: admin}}`"
    )


def hidden_sentence(cluster: str) -> str:
    """Return which permission is missing if the Admin API lists no group."""
    return (
        f"cluster {cluster}: no permission to describe any group; grant the principal Describe on its groups "
        "(Describe on the cluster lists them, but returns no offsets)"
    )


def all_denied_sentence(why: str) -> str:
    """Return which permission is missing if no group returns its offsets; `why` is one error."""
    return (
        "the Admin API returns offsets of no group; grant the principal Describe on groups (first error: "
        f"{why})"
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
