"""A flow as an order to the ingest process: all that this process reads of a flow is in the order."""

from __future__ import annotations

import json
from dataclasses import fields, replace

from fleet.mm2.filters import GroupFilter, TopicFilter
from fleet.mm2.handling import Handling
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.mm2.topic_sync import TopicSync
from fleet.verdicts.flow import Flow
from lagmon.mirrors.answers.orders import order_of, read_mirror, write_mirror

FLOW = Flow(
    source="A",
    target="B",
    policy=ReplicationPolicy(PolicyKind.DEFAULT, "-"),
    topic_filter=TopicFilter(include="orders"),
    group_filter=GroupFilter(include="payments"),
    mirror_version="4.3",
    heartbeats_replicated=False,
    refresh_topics_interval_s=7.0,
    offset_lag_max=100_000,
    offset_syncs_location="target",
    offset_flush_interval_s=5.0,
    emit_checkpoints_interval_s=9.0,
    sync_group_offsets=True,
    exactly_once=True,
    isolation_level="read_committed",
    offset_reset="latest",
    status_storage_topic="states",
    handling=Handling(drops=("one",)),
    topic_sync=TopicSync(exclude="retention.ms"),
    connector="mirror",
    source_alias="a",
    target_alias="b",
)
OF_THE_SERVICE = {  # fields that the service reads, and no code of lagmon but `order_of`
    "heartbeats_enabled",
    "heartbeats_interval_s",
    "tasks_max",
    "emit_offset_syncs",
    "sync_group_offsets_interval_s",
    "offset_storage_topic",
    "offset_storage_cluster",
    "config_storage_topic",
    "on_connect",
}


def test_an_order_has_every_property_of_the_flow_that_the_lag_process_reads():
    default = Flow("", "")
    changed = {one.name for one in fields(Flow) if getattr(FLOW, one.name) != getattr(default, one.name)}
    assert changed == {one.name for one in fields(Flow) if one.compare} - OF_THE_SERVICE
    order = order_of(FLOW)
    again = read_mirror(json.loads(json.dumps(write_mirror(order))))
    assert again == order
    assert again.flow == FLOW
    assert read_mirror(write_mirror(order_of(replace(FLOW, offset_lag_max=0)))).flow.offset_lag_max == 0
