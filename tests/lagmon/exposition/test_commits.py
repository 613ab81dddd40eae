"""Where commits come from and how far they are read, as `/metrics` tells it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from lagmon.cluster.readiness import share_read
from lagmon.cluster.state import ClusterLag
from lagmon.exposition.commits import CommitMetrics
from lagmon.exposition.format import Form
from lagmon.exposition.lag_metrics import LagMetrics
from lagmon.ingest.commits import Progress


def told(**watches):
    clusters = {alias: ClusterLag(wanted=lambda *_: True) for alias in watches}
    telling = LagMetrics(clusters, per_partition=False, max_series=10, commits=CommitMetrics(watches))
    sights = {alias: lag.see(1_790_000_000_000) for alias, lag in clusters.items()}
    text = b"".join(telling.tell(sights, Form.PLAIN)).decode()
    return {
        (sample.name.removeprefix("mirrorwatch_"), *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def watch(commits_from, progress, ready_s=None):
    return SimpleNamespace(commits_from=commits_from, progress=progress, ready_s=ready_s)


def test_source_share_and_time_to_readiness_of_each_cluster():
    found = told(
        A=watch("topic", Progress(total_records=200, read_records=50, began_at=1.0)),
        B=watch("admin", Progress(began_at=1.0, ready_after_s=2.0, total_groups=0), ready_s=3.25),
    )
    assert found["commits_source", "A", "topic"] == 1
    assert found["commits_source", "A", "admin"] == 0
    assert found["commits_source", "B", "topic"] == 0
    assert found["commits_source", "B", "admin"] == 1
    assert found["commits_backfill_ratio", "A"] == 0.25
    assert found["commits_backfill_ratio", "B"] == 1
    assert ("lag_ready_seconds", "A") not in found
    assert found["lag_ready_seconds", "B"] == 3.25


def test_a_fallback_moves_the_one_to_the_other_source():
    one = watch("topic", None)
    telling = CommitMetrics({"A": one})
    source = telling.families[0]
    assert telling.values()[source].tolist() == [1, 0]
    one.commits_from = "admin"
    assert telling.values()[source].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("progress", "share"),
    [
        (None, 0),
        (Progress(), 0),
        (Progress(began_at=1.0), 0),
        (Progress(began_at=1.0, total_records=10, read_records=5), 0.5),
        (Progress(began_at=1.0, total_records=10, read_records=30), 0.999),  # more has come meanwhile
        (Progress(began_at=1.0, total_groups=0), 0),
        (Progress(began_at=1.0, total_groups=8, asked_groups=2), 0.25),
        (Progress(began_at=1.0, total_groups=8, asked_groups=8), 0.999),  # the list is not whole
        (Progress(began_at=1.0, ready_after_s=1.0), 1),
    ],
)
def test_the_share_is_whole_only_where_all_is_known(progress, share):
    assert share_read(progress) == share
