"""The sizes and sums of the canary's cost, on their own."""

from __future__ import annotations

import pytest

from canary.config import CanaryConfig
from canary.flows import CanaryFlow
from canary.site.record_sizes import batch_bytes, largest_probe_bytes, probe_bytes
from canary.tracker.plan import CONTROL_SETTINGS, PROBES_SETTINGS, settings_text
from mirrorwatch.check import cost as check_cost
from mirrorwatch.check.cost import DAY_S, costs


def flow(source, target, *, tasks_max=1, off=""):
    return CanaryFlow(
        name=f"{source}->{target}",
        source=source,
        target=target,
        source_topic="mirrorwatch-canary",
        target_topic=f"{source}.mirrorwatch-canary",
        threshold_s=5.0,
        warmup_s=600.0,
        tasks_max=tasks_max,
        exactly_once=False,
        off=off,
    )


@pytest.mark.parametrize(
    ("key", "value", "headers", "size"),
    [
        (None, b"", (), 61 + 1 + 6),  # length; attributes, two distances, no key, no value, no header
        (b"k", b"v", (), 61 + 1 + 8),
        (b"k" * 63, b"v", (), 61 + 2 + 8 + 62),  # a record of 70 bytes needs a length of two
        (b"k" * 64, b"v", (), 61 + 2 + 8 + 64),  # a key of 64 bytes as well
        (b"k", b"v", (("h", b"x"),), 61 + 1 + 8 + 4),
    ],
)
def test_the_size_of_a_batch_with_one_record(key, value, headers, size):
    assert batch_bytes(key, value, headers) == size


def test_retention_is_that_of_the_topics_that_are_made():
    kept = (check_cost.CANARY_RETENTION_S, check_cost.CANARY_SEGMENT_S)
    assert kept == (86_400, 21_600)
    assert settings_text(PROBES_SETTINGS) == (
        "cleanup.policy=delete, retention.ms=86400000, segment.ms=21600000"
    )
    control_kept = (check_cost.CONTROL_RETENTION_S, check_cost.CONTROL_SEGMENT_S)
    assert control_kept == (3600, 600)
    assert settings_text(CONTROL_SETTINGS) == (
        "cleanup.policy=delete, retention.ms=3600000, segment.ms=600000, message.timestamp.type=LogAppendTime"
    )


def test_a_source_is_paid_for_once_and_each_flow_carries_it():
    flows = [flow("A", "B"), flow("A", "C", tasks_max=6), flow("B", "A"), flow("C", "A", off="filtered")]
    found = costs(flows, CanaryConfig(interval="500ms"), brokers={"A": 3, "B": 4, "C": 1}, existing={"B": 2})
    assert [(cost.source, cost.partitions, cost.planned, cost.exists) for cost in found] == [
        ("A", 6, 6, False),  # the most of 3 brokers, 4 brokers and 6 tasks
        ("B", 2, 4, True),
    ]
    assert [cost.records_per_s for cost in found] == [12.0, 4.0]
    assert found[0].bytes_per_day == 12 * DAY_S * probe_bytes("mirrorwatch-canary", 6)
    assert found[0].kept_bytes(longest=False) == found[0].bytes_per_day
    assert found[0].kept_bytes(longest=True) == 1.25 * found[0].bytes_per_day


@pytest.mark.parametrize(
    ("brokers", "existing", "at_most", "at_least"),
    [
        ({"A": 1, "B": 1}, {}, 64, False),
        ({"A": 1}, {}, 64, True),
        ({}, {"A": 1}, 64, False),  # it is there, so its partitions are known
        ({"A": 9}, {}, 9, False),  # it has as many as it may have
    ],
)
def test_partitions_are_a_lower_bound_where_a_cluster_is_silent(brokers, existing, at_most, at_least):
    config = CanaryConfig(max_partitions=at_most)
    (cost,) = costs([flow("A", "B")], config, brokers=brokers, existing=existing)
    assert cost.at_least is at_least


def test_more_than_the_greatest_rate_stretches_the_interval_of_all():
    flows = [flow("A", "B"), flow("B", "A")]
    config = CanaryConfig(interval="100ms", max_rate=50)
    found = costs(flows, config, brokers={"A": 4, "B": 4}, existing={"B": 6})
    assert [cost.interval_s for cost in found] == [0.2, 0.2]  # 10 partitions, 100 probes a second wished
    assert [cost.records_per_s for cost in found] == [20.0, 30.0]
    assert found[1].bytes_per_day == 30 * DAY_S * probe_bytes("mirrorwatch-canary", 6)


def test_the_largest_probe_is_larger_by_the_digits_of_its_number():
    # Nine digits more in the key and in the value.
    assert largest_probe_bytes("t", 1) - probe_bytes("t", 1) in (17, 18, 19)


def test_nothing_is_paid_for_flows_without_a_canary():
    assert costs([flow("A", "B", off="filtered")], CanaryConfig(), brokers={}, existing={}) == ()
