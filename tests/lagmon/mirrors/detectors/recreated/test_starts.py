"""A re-created source topic with transactions: their markers leave gaps like skipped records do."""

from __future__ import annotations

from collections import Counter

import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.logs.heads import Heads
from lagmon.mirrors.detectors.recreated.outcome import Base, PartitionPoll, judge_start, markers_may_explain
from lagmon.mirrors.detectors.unreplicated.missing_by_ends import MissingByPartition
from lagmon.mirrors.detectors.unreplicated.missing_by_syncs import MissingBySyncs
from lagmon.mirrors.partitions.window import MirrorWindows
from lagmon.syncs.runs import SyncRuns
from tests.lagmon.mirror_flows import Mirrored, S, told
from tests.lagmon.mirrors.metadata.test_topics import Watched


class Transactional(Watched):
    """A flow that writes its offsets each minute; of five offsets the fifth is a marker, and is not copied."""

    def __init__(self):
        super().__init__(flush_s=60.0)
        self.batches = 1

    def busy(self):
        for topic, partition in self.ends:
            self.ends[topic, partition] += 5 * self.batches
            self.target_ends[f"A.{topic}", partition] += 4 * self.batches
            if self.now // S % 60 == 0:
                self.commit(topic, partition, to=self.ends[topic, partition] - 1)


def test_a_log_with_transactions_of_which_all_was_replicated_is_no_proved_loss():
    # Within one flush the new log grows past N, so N never falls; a fifth of it are markers.
    flow = Transactional().run(310)
    flow.remake_source()
    flow.batches = 200
    seen = set()
    for _ in range(30):
        flow.run(10)
        seen.add(told(flow)[0])
        assert not any(one.proved for one in flow.snapshot().findings)
    assert Verdict.LOSING not in seen
    assert told(flow) == (Verdict.HEALTHY, None)
    (found, _) = (one for one in flow.snapshot().findings if one.topic == "orders")
    assert found.code is Cause.TOPIC_RECREATED
    assert found.sentence.endswith(" Markers of transactions may have left such a gap too.")


@pytest.mark.parametrize(
    ("grew", "low", "high", "doubted"),
    [
        (1000, 2000, 2000, False),  # N's own growth, to the record
        (1003, 2000, 2100, False),
        (1003, 2000, 2000, True),  # three came twice, or each has its marker
        (600, 2100, 2100, False),  # more than each other offset is lacking
        (80_000, 100_000, 100_000, True),  # less than N's own growth: there are markers
        (100, 1100, 1100, False),
        (103, 1100, 1100, False),
    ],
)
def test_markers_may_show_where_the_target_has_every_other_offset_and_not_what_n_grew_by(
    grew, low, high, doubted
):
    base = Base(next_offset=1000, at_ms=0, target_end=500, sure=True)
    seen = PartitionPoll(0, low, high, 500 + grew, 1)
    assert judge_start(base, seen) is not None
    assert markers_may_explain(base, seen) is doubted


def test_all_that_is_known_is_searched_once_for_however_many_topics_that_were_recreated(monkeypatch):
    topics = {f"t{number}": 3 for number in range(20)}
    flow = Mirrored(topics, flush_s=60.0)
    flow.go(30, each=lambda: [(flow.write(5, *name), flow.commit(*name)) for name in flow.ends], step=10)
    searched = []

    def count(of, name):
        known = getattr(of, name)
        monkeypatch.setattr(of, name, lambda *told: (searched.append(name), known(*told))[1])

    count(MirrorWindows, "note_recreated")
    count(SyncRuns, "forget")
    count(MissingBySyncs, "forget")
    count(MissingByPartition, "forget")
    count(Heads, "end_at")
    for topic_id in ("first", "second"):
        flow.flow.note_ids("A", dict.fromkeys(topics, topic_id), flow.now)
    assert sorted(flow.flow.detectors.recreated.recreated) == sorted(topics)
    assert {len(recreated.open) for recreated in flow.flow.detectors.recreated.recreated.values()} == {3}
    assert Counter(searched) == {"note_recreated": 1, "forget": 3, "end_at": 3 * len(topics)}


def remade_at_rest(*, records):
    """Stop a mirror at 200 of a topic at rest, let a list lack that and make it anew, let the mirror go on."""
    flow = Mirrored({"orders": 1, "other": 1}, flush_s=60.0)
    ids = {"orders": "old", "other": "x"}

    def second():
        flow.write(10, "other")
        if flow.now // S % 60 == 0:
            flow.commit("other")
        if flow.now // S % 10 == 5:
            flow.flow.note_ids("A", {topic: ids[topic] for topic in flow.a.topics}, flow.now)

    flow.poll()
    flow.write(200)
    flow.go(10, each=second)
    flow.commit()
    flow.go(110, each=second)
    flow.a.note_topics({"other": 1}, flow.now)
    flow.snapshot()
    flow.a.note_topics({"orders": 1, "other": 1}, flow.now)
    flow.ends["orders", 0], ids["orders"] = records, "new"
    flow.go(30, each=second)
    if records > 200:
        flow.target_ends["A.orders", 0] += records - 200
        flow.commit()
    return flow, second


@pytest.mark.parametrize(
    ("records", "lost", "grew"),
    [
        # It went on at 200, or the last offset of the old log, 450, was written late.
        (450, "between 200 and 450", "grew by 250 while its offset went from 200 to 450."),
        (200, "200", "grew by 0 while its offset stayed there."),
    ],
)
def test_a_topic_at_rest_that_a_list_lacked_is_unknown_until_the_loss_is_reported(records, lost, grew):
    # The only offset since may be the last one of the old log, of which a list in between has left nothing.
    flow, second = remade_at_rest(records=records)
    seen = []
    while not seen or (len(seen) < 30 and not flow.snapshot().findings):
        seen.append(told(flow))
        flow.go(10, each=second)
    assert set(seen) == {(Verdict.UNKNOWN, Cause.TOPIC_RECREATED)}
    (found,) = flow.snapshot().findings
    assert (found.proved, found.records, found.first_offset, found.last_offset) == (True, 200, 0, 199)
    assert found.records_most == records
    assert f": {lost} records, from offset 0 on, were not replicated." in found.sentence
    assert found.sentence.endswith(grew)


def test_a_mirror_that_runs_as_a_new_log_grows_to_where_it_was_loses_nothing():
    flow, second = remade_at_rest(records=0)
    for _ in range(200):
        flow.write(1)
        flow.go(1, each=second)
        if flow.now // S % 10 == 0:
            flow.poll()
            assert not flow.snapshot().findings
    flow.go(300, each=second)
    assert not flow.snapshot().findings
    flow.commit()
    flow.go(100, each=second)
    assert not flow.snapshot().findings
    assert told(flow) == (Verdict.HEALTHY, None)
