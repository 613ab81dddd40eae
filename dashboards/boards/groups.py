"""Consumer groups of every cluster."""

from __future__ import annotations

from dashboards.panel import Board, Form, Panel, Query, Variable
from dashboards.promql import CLUSTER, largest, of
from fleet.series import catalogue as series
from fleet.series import lag as series_lag

_LABELS = "kafka_cluster, group"
_NAME = "{{kafka_cluster}} {{group}}"
_LAG = (
    Panel(
        title="Groups that are not OK",
        description="0 not found, 1 OK, 2 warning, 3 error, 4 stopped, 5 stalled, 6 rewound, 7 unknown."
        " Empty means none.",
        form=Form.TABLE,
        width=24,
        queries=(Query(f"max by ({_LABELS}) ({of(series_lag.GROUP_STATUS, CLUSTER)}) > 1"),),
        columns=("status",),
        may_be_empty=True,
    ),
    Panel(
        title="Lag",
        description="Records not read yet by each group; the twenty groups with most.",
        queries=(Query(largest(20, _LABELS, of(series_lag.GROUP_LAG_RECORDS, CLUSTER)), _NAME),),
    ),
    Panel(
        title="Lag in time",
        description="Age of the oldest record not read yet by each group; the twenty oldest.",
        unit="s",
        queries=(Query(largest(20, _LABELS, of(series_lag.GROUP_LAG_SECONDS, CLUSTER)), _NAME),),
    ),
)

GROUPS = Board(
    uid="mirrorwatch-groups",
    title="Mirrorwatch / Consumer groups",
    description="Consumer groups of all clusters: their lag, and those that are not OK.",
    variables=(
        Variable(name="cluster", label="Cluster", series=of(series.KAFKA_CLUSTER_UP), of="kafka_cluster"),
    ),
    page="/groups",
    rows=(("Lag", _LAG),),
)
