"""What is told of clusters that no flow touches: the lag monitor alone reads them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mirrorwatch.service.numbers import ClusterNumbers
from mirrorwatch.service.view import ClusterView

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mirrorwatch.lag.collected import Standing
    from runtime.kafka.properties.client_settings import ClientSettings

    Collected = Mapping[str, Mapping[str, float]]

UNTOLD = "the lag monitor, which alone reads it, tells nothing of it at present"
UNPROBED = "no flow touches this cluster"


def lone_view(alias: str, client: Mapping[str, str], standing: Standing | None, now_at: float) -> ClusterView:
    """Return what the page shows of one; without a `standing` nothing is known of it, not yet or no more."""
    state, since_at, sentence = standing or ("connecting", now_at, UNTOLD)
    return ClusterView(
        alias=alias,
        bootstrap=client.get("bootstrap.servers", ""),
        state=state,
        since_at=since_at,
        sentence=sentence,
        control_last_ok_at=None,
        flows_from=(),
        flows_to=(),
        control_sentence=UNPROBED,
    )


def lone_numbers(
    alias: str, collected: Collected, standing: Standing | None, client: ClientSettings
) -> ClusterNumbers:
    """Return its numbers: nothing is sent to it, so there is nothing to count of that."""
    return ClusterNumbers(
        alias,
        standing is not None and standing.state == "up",
        collected.get("last_success_at", {}),
        errors_of(collected),
        control={},
        throttled_s={},
        strangers=0,
        certificate_expires_at=client.certificate_expires_at,
    )


def errors_of(collected: Collected) -> dict[str, int]:
    """Return how often the lag monitor failed, by collector."""
    return {name: int(count) for name, count in collected.get("errors", {}).items()}
