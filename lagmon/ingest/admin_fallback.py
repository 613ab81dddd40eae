"""What is said where the commits may not be read, and how it is found out that they may after all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.errors import MirrorwatchError
from fleet.quantity import duration_text
from lagmon.ingest.commits import TOPIC
from runtime.kafka.bulk import Bulk

if TYPE_CHECKING:
    from runtime.kafka.properties.client_settings import ClientSettings
    from runtime.process.clock import Clock

RETRY_S = 600.0  # between two tries to read the commits after all
TRY_S = 15.0


def refusal_sentence(cluster: str, retry_s: float) -> str:
    """Return what is refused, what is done instead, and which right to grant."""
    return (
        f"cluster {cluster}: the principal may not read {TOPIC}, so where groups stand is asked for by the "
        "Admin API instead, which does not tell when they committed; grant the principal the right Read on "
        f"the topic {TOPIC}, which is tried again every {duration_text(retry_s)}, or set "
        "`lag: {commits: admin}`"
    )


def hidden_sentence(cluster: str) -> str:
    """Return that no group is shown, and which right to grant."""
    return (
        f"cluster {cluster}: the Admin API shows no group, because the principal may not describe any: grant "
        "it the right Describe on groups (on the cluster it shows them, and does not tell where they stand)"
    )


def all_denied_sentence(why: str) -> str:
    """Return that no group tells where it stands, `why` one of them does not, and which right to grant."""
    return (
        "none of the groups that the Admin API shows tells where it stands, for which the principal needs "
        f"the right Describe on groups; of one: {why}"
    )


def commits_readable(settings: ClientSettings, *, cluster: str, clock: Clock) -> bool:
    """Return whether the commits may be read, by beginning to; False where that is not seen within TRY_S."""
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
