"""Which permissions the lag monitor asks for: by how commits are read, and from what each flow is followed."""

from __future__ import annotations

import pytest

from mirrorwatch.check.permissions import (
    acl_command,
    drift_permissions,
    lag_permissions,
    optional_lag_permissions,
    optional_task_permissions,
)
from mirrorwatch.configuration.reading import read_configuration

BASE = """\
mirror_version: "4.3"
clusters:
  A: {{bootstrap.servers: "localhost:9092"}}
  B: {{bootstrap.servers: "localhost:9093"}}
flows:
  A->B: {{topics: ".*"{flow}}}
lag: {{commits: {commits}}}
"""
_ENDS = [("A", "topic", "*", ("Describe",)), ("B", "topic", "*", ("Describe",))]
_SYNCS = ("A", "topic", "mm2-offset-syncs.B.internal", ("Read",))


def told(folder, *, commits="topic", flow=""):
    path = folder / "mirrorwatch.yml"
    path.write_text(BASE.format(commits=commits, flow=flow), encoding="utf-8")
    found = lag_permissions(read_configuration(path, environ={}))
    assert all(one.purpose for one in found)
    return {(one.cluster, one.resource, one.name, one.operations) for one in found}


def commits_of(*clusters):
    return {(cluster, "topic", "__consumer_offsets", ("Read",)) for cluster in clusters}


@pytest.mark.parametrize(
    ("flow", "more"),
    [
        ("", {("B", "topic", "mm2-offsets.A.internal", ("Read",)), _SYNCS}),
        (
            ", offsets: {topic: connect-offsets, kafka_cluster: A}",
            {("A", "topic", "connect-offsets", ("Read",)), _SYNCS},
        ),
        (", lag_from: group, group: 'mm1-.*'", set()),
        (", lag_from: equal-offsets", set()),
        (", lag_from: offset-syncs", {_SYNCS}),
    ],
)
def test_by_topic_each_way_of_following_a_flow_has_its_own_permissions(tmp_path, flow, more):
    assert told(tmp_path, flow=flow) == {*_ENDS, *commits_of("A", "B"), *more}


def test_by_the_admin_api_groups_are_described_and_the_offsets_topic_is_left_alone(tmp_path):
    groups = {(cluster, "group", "*", ("Describe",)) for cluster in "AB"}
    assert told(tmp_path, commits="admin", flow=", lag_from: group, group: g") == {*_ENDS, *groups}


def test_without_the_lag_monitor_nothing_is_asked_for(tmp_path):
    assert told(tmp_path, commits="off") == set()
    path = tmp_path / "mirrorwatch.yml"
    assert optional_lag_permissions(read_configuration(path, environ={})) == ()


@pytest.mark.parametrize(
    ("flow", "cluster", "topic"),
    [
        ("", "B", "mm2-status.A.internal"),
        (", offsets: {topic: connect-offsets}", None, None),
        (", offsets: {topic: connect-offsets, status_topic: connect-status}", "B", "connect-status"),
        (
            ", offsets: {topic: connect-offsets, kafka_cluster: A, status_topic: connect-status}",
            "A",
            "connect-status",
        ),
    ],
)
def test_why_a_task_failed_is_read_where_the_worker_reports_it_and_done_without(
    tmp_path, flow, cluster, topic
):
    path = tmp_path / "mirrorwatch.yml"
    path.write_text(BASE.format(commits="topic", flow=flow), encoding="utf-8")
    config = read_configuration(path, environ={})
    found = [one for one in optional_lag_permissions(config) if one.purpose == "errors of tasks of A->B"]
    expected = [] if topic is None else [(cluster, "topic", topic, ("Read",))]
    assert [(one.cluster, one.resource, one.name, one.operations) for one in found] == expected
    assert not any(one.name == topic for one in lag_permissions(config))


def test_a_topic_of_a_worker_that_two_flows_share_is_asked_for_once(tmp_path):
    path = tmp_path / "mirrorwatch.yml"
    worker = "offsets: {topic: connect-offsets, status_topic: connect-status}"
    path.write_text(
        f"""\
mirror_version: "4.3"
clusters: {{A: {{bootstrap.servers: "h:1"}}, B: {{bootstrap.servers: "h:2"}}, C: {{bootstrap.servers: "h:3"}}}}
flows:
  A->B: {{topics: ".*", {worker}}}
  C->B: {{topics: ".*", {worker}}}
""",
        encoding="utf-8",
    )
    config = read_configuration(path, environ={})
    found = [one.purpose for one in optional_lag_permissions(config) if one.name == "connect-status"]
    assert found == ["errors of tasks of A->B, errors of tasks of C->B"]
    assert [one.purpose for one in lag_permissions(config) if one.name == "connect-offsets"] == [
        "committed offsets of A->B, committed offsets of C->B"
    ]


@pytest.mark.parametrize(
    ("commits", "flow", "expected"),
    [
        ("topic", "", [("B", "mm2-configs.A.internal", "tasks of A->B")]),
        ("topic", ", offsets: {topic: connect-offsets, status_topic: connect-status}", []),
        (
            "topic",
            ", offsets: {topic: connect-offsets, kafka_cluster: A, config_topic: connect-configs}",
            [("A", "connect-configs", "tasks of A->B")],
        ),
        ("topic", ", lag_from: offset-syncs", []),
        ("off", "", []),
    ],
)
def test_which_task_carries_what_is_read_where_it_is_known_and_done_without(
    tmp_path, commits, flow, expected
):
    path = tmp_path / "mirrorwatch.yml"
    path.write_text(BASE.format(commits=commits, flow=flow), encoding="utf-8")
    config = read_configuration(path, environ={})
    found = [(one.cluster, one.name, one.purpose) for one in optional_task_permissions(config)]
    assert found == expected
    assert not {name for _, name, _ in found} & {one.name for one in lag_permissions(config)}


def test_a_right_on_groups_is_granted_on_groups(tmp_path):
    path = tmp_path / "mirrorwatch.yml"
    path.write_text(BASE.format(commits="admin", flow=""), encoding="utf-8")
    found = lag_permissions(read_configuration(path, environ={}))
    group = next(one for one in found if one.resource == "group")
    assert "  --group '*' \\" in acl_command("a:1", "User:x", group)


def test_drift_reads_topics_their_settings_and_acls_on_both_sides(tmp_path):
    path = tmp_path / "mirrorwatch.yml"
    path.write_text(BASE.format(commits="topic", flow=""), encoding="utf-8")
    found = drift_permissions(read_configuration(path, environ={}))
    both = ("Describe", "DescribeConfigs")
    assert [(one.cluster, one.resource, one.name, one.operations) for one in found] == [
        (alias, *resource, both)
        for alias in "AB"
        for resource in (("topic", "*"), ("cluster", "kafka-cluster"))
    ]
    lines = acl_command("a:9092", "User:m", found[1])
    assert lines[3] == "  --cluster \\"
