"""The series of mirrors, and the documents of a flow."""

from __future__ import annotations

import json

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from fleet.series import lag as series_lag
from lagmon.exposition.families import Exposition
from lagmon.exposition.format import Form
from lagmon.exposition.mirrors import MirrorSeries
from lagmon.mirrors.answers.pages import partition_page
from lagmon.mirrors.answers.rows import flow_document, row_document
from tests.lagmon.mirror_flows import Mirrored

LABELS = {"flow": "A->B", "source_cluster": "A", "target_cluster": "B"}


@pytest.fixture
def flow():
    one = Mirrored({"orders": 2, "new": 1})
    one.poll()

    def write():
        one.write(100), one.write(50, partition=1)
        one.commit(), one.commit(partition=1)

    one.write(100, partition=1), one.commit(partition=1)
    one.rest(partitions=(0,))
    one.go(58, each=write)
    one.write(300, copied=False)
    one.go(31)
    return one


def samples(one, *, per_partition=True):
    telling = MirrorSeries([one.flow], per_partition=per_partition, max_series=1000)
    exposition = Exposition(telling.families)
    values = telling.values({"A->B": (one.snapshot(), one.verdict())})
    text = b"".join(exposition.render(values, Form.PLAIN)).decode()
    return {
        (sample.name.removeprefix("mirrorwatch_"), frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_topics_made_anew_are_counted_from_0_once_an_id_is_known(flow):
    def told():
        found = {}
        for (name, labels), value in samples(flow).items():
            if name == "topic_recreated_total":
                of = dict(labels)
                found[of["topic"], of["side"]] = value
        return found

    assert told() == {}
    flow.flow.topics.note_id("orders", "source", "one", flow.now)
    flow.flow.topics.note_id("orders", "target", "two", flow.now)
    assert told() == {("orders", "source"): 0, ("orders", "target"): 0}
    flow.flow.topics.note_id("orders", "source", "three", flow.now)
    assert told() == {("orders", "source"): 1, ("orders", "target"): 0}


def test_series_of_a_flow_tell_what_its_partitions_are(flow):
    flow.starts = {("orders", 0): 6010}
    flow.flow.note_retention("orders", {"retention.ms": "100000"})
    flow.poll()
    told = samples(flow)

    def value(name, **labels):
        return told.get((name, frozenset({**LABELS, **labels}.items())))

    assert value("replication_status") == 3
    assert value("replication_topic_lag_records", topic="orders") == 290
    assert value("replication_topic_lag_seconds", topic="orders") == pytest.approx(31, abs=11)
    assert value("replication_topic_lag_records", topic="new") is None
    assert value("replication_topic_retention_headroom_seconds", topic="orders") == 0
    assert value("replication_source_end_offset", topic="orders") == 6300 + 3000
    assert value("replication_target_end_offset", topic="orders") == 6000 + 3000
    assert value("overtaken_records_total", topic="orders") == 0
    assert value("replication_partition_lag_records", topic="orders", partition="0") == 290
    assert value("replication_partition_lag_records", topic="orders", partition="1") == 0
    assert value("replication_partition_headroom_records", topic="orders", partition="0") == 0
    assert value("replication_partition_headroom_records", topic="orders", partition="1") == 3000
    flow.commit()
    flow.go(30)
    assert samples(flow)["overtaken_records_total", frozenset({**LABELS, "topic": "orders"}.items())] == 10
    assert not [name for name, _ in samples(flow, per_partition=False) if "partition" in name]


def test_every_series_of_mirrors_in_the_catalogue_is_told(flow):
    families = MirrorSeries([flow.flow], per_partition=True, max_series=10).families
    told = {family.series.name for family in families}
    wanted = {one.name for one in series_lag.LAG_CATALOGUE if one.label_names[:1] == ("flow",)}
    assert told == wanted


def test_retention_headroom_is_what_is_left_of_the_oldest_uncopied_record(flow):
    flow.flow.note_retention("orders", {"retention.ms": "100000", "cleanup.policy": "delete"})
    key = "replication_topic_retention_headroom_seconds", frozenset({**LABELS, "topic": "orders"}.items())
    assert samples(flow)[key] == pytest.approx(100 - 31, abs=11)
    flow.flow.note_retention("orders", {"retention.ms": "100000", "cleanup.policy": "compact"})
    assert key not in samples(flow)


HEADROOM = "replication_topic_retention_headroom_seconds", frozenset({**LABELS, "topic": "orders"}.items())


@pytest.fixture
def late():
    """Give a mirror that stands at the first of 5,000 records which were there at the first look, a minute ago."""
    one = Mirrored({"orders": 1})
    one.write(5000, copied=False)
    one.poll()
    one.go(60)
    one.commit(to=1)
    one.flow.note_retention("orders", {"retention.ms": "3600000"})
    return one


def headroom(one):
    row = row_document(one.flow, one.snapshot(), one.slot())
    return row["headroom_s"], row["headroom_from"]


def found(one, *, first, age_s):
    """Let the record at an offset be read that was written so long ago."""
    at = np.array(one.a.places.of("orders"), np.int32)
    first, at_ms = np.array([first]), np.array([one.now - age_s * 1000])
    one.a.heads.note_records(at, first, first, at_ms)


def test_what_was_there_at_the_first_look_is_not_told_as_written_then(late):
    """The record may be of any age: a minute of the hour is gone at least, and perhaps all of it."""
    assert headroom(late) == (3540.0, "by retention.ms, at most")
    assert HEADROOM not in samples(late)
    found(late, first=1, age_s=3000)
    assert headroom(late) == (600.0, "by retention.ms and the record's own time")
    assert samples(late)[HEADROOM] == 600
    found(late, first=1, age_s=4000)
    assert headroom(late) == (0.0, "by retention.ms")
    assert samples(late)[HEADROOM] == 0


def test_a_bound_of_nothing_is_told(late):
    late.go(3600)
    assert headroom(late) == (0.0, "by retention.ms")
    assert samples(late)[HEADROOM] == 0


def test_a_record_that_comes_after_the_one_that_was_read_is_as_old_as_the_line_says(late):
    found(late, first=0, age_s=2060)
    late.commit(to=2500)  # half of the way to the first look, a minute ago
    assert headroom(late) == (pytest.approx(3600 - 1060, abs=1), "by retention.ms and the record's own time")


def test_a_mirror_far_behind_asks_for_the_time_of_its_next_record(late):
    late.snapshot()
    late.go(10)
    assert late.a.records_due(late.now) == [(late.a.places.of("orders")[0], 1)]


def test_the_series_of_what_goes_go(flow):
    telling = MirrorSeries([flow.flow], per_partition=True, max_series=1000)
    exposition = Exposition(telling.families)

    def text():
        values = telling.values({"A->B": (flow.snapshot(), flow.verdict())})
        return b"".join(exposition.render(values, Form.PLAIN)).decode()

    assert 'topic="orders"' in text()
    flow.a.note_topics({"new": 1})
    assert 'topic="orders"' not in text()
    assert 'topic="new"' in text()


def test_documents_hold_what_a_person_checks_by_hand(flow):
    found = flow.snapshot()
    told = json.loads(json.dumps(flow_document(flow.flow, found, flow.verdict(), since_ms=1)))
    assert (told["flow"], told["lag_records"], told["unknown_partitions"]) == ("A->B", 300, 0)
    page, count = partition_page(flow.flow, found)
    assert (page[0]["topic"], count) == ("orders", 3)  # the worst first
    rows = json.loads(json.dumps(sorted(page, key=lambda row: (row["topic"], row["partition"]))))
    assert [(row["topic"], row["partition"], row["next_offset"]) for row in rows] == [
        ("new", 0, None),
        ("orders", 0, 6000),
        ("orders", 1, 3000),
    ]
    assert rows[0]["sentence"] == "There has been nothing to copy."
    assert (rows[1]["end_offset"], rows[1]["target_end_offset"], rows[1]["start_offset"]) == (6300, 6000, 0)
    assert rows[1]["headroom_records"] == 6000
    assert rows[1]["commits"][-1]["offset"] == 6000
    assert "group" not in json.dumps(rows)
