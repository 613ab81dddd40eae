"""The labels that series of several parts of the product share."""

from __future__ import annotations

from fleet.series.kinds import Label

SIDES = ("source", "target")
"""The two clusters of a flow."""

FLOW_LABELS = (
    Label("flow", "The flow, written `A->B`."),
    Label("source_cluster", "The alias of the source cluster."),
    Label("target_cluster", "The alias of the target cluster."),
)
CLUSTER_LABEL = Label("kafka_cluster", "The alias of the cluster.")
PARTITION_LABEL = Label("partition", "The partition, from 0.")
SIDE_LABEL = Label("side", "The cluster of the flow.", SIDES)
