"""Views and numbers of clusters that are not part of a flow: only the lag monitor reads them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.series import catalogue as series
from mirrorwatch.service.view import ClusterView

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fleet.series.kinds import Sample
    from mirrorwatch.lag.collected import Standing

UNTOLD = "no data from the lag monitor, which alone reads this cluster"
UNPROBED = "not part of a flow"


def lone_view(alias: str, client: Mapping[str, str], standing: Standing | None, now_at: float) -> ClusterView:
    """Return the view of a cluster; without a `standing` its state is unknown."""
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


def lone_samples(
    alias: str, standing: Standing | None, certificate_expires_at: float | None
) -> Iterator[Sample]:
    """Yield its series: nothing is sent to it, so what counts that is 0."""
    yield series.KAFKA_CLUSTER_UP, (alias,), float(standing is not None and standing.state == "up")
    yield series.CANARY_FOREIGN_RECORDS_TOTAL, (alias,), 0
    for outcome in series.CONTROL_OUTCOMES:
        yield series.CONTROL_PROBES_TOTAL, (alias, outcome), 0
    if certificate_expires_at is not None:
        yield series.CLIENT_CERTIFICATE_EXPIRY_TIMESTAMP_SECONDS, (alias,), certificate_expires_at
