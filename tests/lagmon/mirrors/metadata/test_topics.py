"""What ids, ends and settings of a flow's topics prove: re-created on either side, skipped whole, retimed."""

from __future__ import annotations

import numpy as np
import pytest

from fleet.mm2.handling import Handling
from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.exposition.mirrors import MirrorSeries
from lagmon.mirrors.answers.findings import HELD_MS, MirrorFinding, listed
from lagmon.mirrors.detectors.recreated.losses import MOST_GONE
from lagmon.mirrors.detectors.recreated.outcome import Base, PartitionPoll, StartOutcome, judge_start
from lagmon.mirrors.metadata.topics import MOST_IDS_GONE, MirrorTopics
from lagmon.mirrors.target_ends.ends import TargetEnds
from tests.lagmon.mirror_flows import NOW, Mirrored, S, told


def lost(one):
    return [
        (str(each.code), each.topic, each.partition, each.records, each.first_offset, each.last_offset)
        for each in one.snapshot().findings
        if each.proved
    ]


DROPS = Handling(drops=("fault",))  # of a mirror with a transform that may leave records out


class Watched(Mirrored):
    """A flow with two topics; ids are read with each look, and topics are made anew as operators do."""

    def __init__(self, topics=None, **settings):
        super().__init__(topics or {"orders": 2, "other": 1}, **{"handling": DROPS, **settings})
        self.ids = {"A": {}, "B": {}}
        for topic in topics or {"orders": 2, "other": 1}:
            self.ids["A"][topic] = self.ids["B"][f"A.{topic}"] = "first"
        self.goes = {"orders", "other"}
        self.copies = True
        self.each = 100
        self.poll()

    def stand(self):
        """Move for a minute and stand for five, with records of the topic that does not go to copy."""
        self.goes = {"other"}
        self.run(60)
        self.copies = False
        self.write(10, copied=False)
        self.run(300)

    def poll(self, *, starts=True):
        super().poll(starts=starts)
        self.ask()

    def ask(self):
        for alias, lag in (("A", self.a), ("B", self.b)):
            self.flow.note_ids(alias, self.ids[alias], self.now)
            for topic, topic_id in self.ids[alias].items():
                if lag.note_id(topic, topic_id, self.now):
                    super().poll()

    def busy(self):
        for topic, partition in [one for one in self.ends if one[0] in self.goes]:
            self.write(self.each, topic, partition, copied=self.copies)
            if self.copies:
                self.commit(topic, partition)

    def run(self, seconds, *, poll=10):
        return self.go(seconds, each=self.busy, poll=poll)

    def remake_source(self, topic="orders", *, records=0):
        for name, partition in self.ends:
            if name == topic:
                self.ends[name, partition] = records
        self.ids["A"][topic] += "again"

    def remake_target(self, topic="orders"):
        for name, partition in self.target_ends:
            if name == f"A.{topic}":
                self.target_ends[name, partition] = 0
        self.ids["B"][f"A.{topic}"] += "again"


@pytest.fixture
def flow():
    return Watched().run(60)


def test_what_the_target_held_before_it_was_recreated_is_lost_by_partition(flow):
    flow.remake_target()
    flow.run(10)
    assert told(flow) == (Verdict.HEALTHY, None)  # it moves; the loss stands beside that
    found = [one for one in flow.snapshot().findings if one.proved]
    assert [(one.code, one.partition, one.records) for one in found] == [
        (Cause.TOPIC_RECREATED, 0, 6000),
        (Cause.TOPIC_RECREATED, 1, 6000),
    ]
    assert (found[0].side, found[0].first_offset, found[0].last_offset) == ("target", 0, 5999)
    assert found[0].verdict is Verdict.LOSING
    assert "A.orders on B was re-created" not in flow.verdict().sentence  # it is told among the findings
    flow.run(HELD_MS // S + 10)
    assert lost(flow) == []


def test_a_target_that_was_empty_when_it_was_recreated_lost_nothing():
    flow = Watched()
    flow.goes = {"other"}
    flow.run(60)
    flow.remake_target()
    flow.run(30)
    assert lost(flow) == []
    assert "A.orders on B was re-created" in flow.verdict().sentence
    assert "no loss is known" in flow.verdict().sentence


@pytest.mark.parametrize("is_told_before", [True, False])
def test_a_log_that_was_filled_and_recreated_between_two_polls_leaves_no_stall(is_told_before):
    """The mirror's only offset may be one of the new log, which it has copied whole: it stands for nothing."""
    flow = Watched({"late": 1, "other": 1})
    flow.run(60)
    flow.write(100, "late")
    if is_told_before:
        flow.commit("late")
    flow.run(3)
    flow.remake_source("late")
    flow.write(40, "late")
    flow.run(2)
    flow.commit("late", to=40)
    flow.run(300)
    assert told(flow) == (Verdict.HEALTHY, None), flow.verdict().sentence
    assert lost(flow) == []


@pytest.mark.parametrize(("copied", "is_suspected"), [(500, True), (899, True), (900, False)])
def test_an_offset_of_which_it_is_not_known_whether_it_is_of_the_old_log_is_a_suspicion(copied, is_suspected):
    """A log that was filled, copied and made anew, longer, before its id was read a second time."""
    flow = Watched({"late": 1, "other": 1})
    flow.run(60)
    flow.write(400, "late")
    flow.run(3)
    flow.commit("late", to=400)  # in an orderly stop
    flow.goes = {"other"}
    flow.remake_source("late", records=900)
    flow.run(12)
    flow.target_ends["A.late", 0] += copied  # to where the mirror went on at 400, or at the start
    flow.commit("late", to=900)
    flow.run(120)
    assert told(flow) == (Verdict.HEALTHY, None), flow.verdict().sentence
    assert lost(flow) == []
    found = [(one.code, one.topic, one.records, one.last_offset) for one in flow.snapshot().findings]
    assert found == ([(Cause.TOPIC_RECREATED, "late", 400, 399)] if is_suspected else [])


def test_both_recreated_while_the_target_was_not_listed_lose_what_was_skipped_and_stand_for_nothing(flow):
    """The mirror's last offset was written before the new id was read, and there is no traffic since."""
    flow.goes = {"other"}
    flow.run(20)
    flow.b.note_topics({"A.other": 1})
    flow.remake_target()
    copies = {name: flow.target_ends.pop(name) for name in list(flow.target_ends) if name[0] == "A.orders"}
    flow.run(10)
    flow.run(3)
    flow.remake_source(records=6000)
    for partition in (0, 1):
        flow.write(15, partition=partition, copied=False)
        flow.commit(partition=partition)
    for _ in range(6):
        flow.run(10)
        assert flow.verdict().verdict is not Verdict.STALLED, flow.verdict().sentence
    flow.b.note_topics({"A.other": 1, "A.orders": 2})
    flow.target_ends |= dict.fromkeys(copies, 15)
    flow.run(60)
    assert told(flow) == (Verdict.HEALTHY, None), flow.verdict().sentence
    found = sorted((one.side, one.partition, one.records) for one in flow.snapshot().findings if one.proved)
    assert found == [(side, partition, 6000) for side in ("source", "target") for partition in (0, 1)]


def test_targets_that_are_sent_again_are_not_lost(flow):
    flow.remake_target()
    flow.run(10)
    assert len(lost(flow)) == 2
    # Its offsets are reset: it begins at the start again.
    for partition in (0, 1):
        flow.commit(partition=partition, to=50)
    assert lost(flow) == []


def test_a_log_that_was_deleted_from_before_counts_from_its_start(flow):
    place = flow.b.places.of("A.orders")
    flow.b.heads._start[place] = 1000
    flow.run(10)
    flow.remake_target()
    flow.run(10)
    assert [one[3] for one in lost(flow)] == [6000, 6000]


def test_a_poll_at_the_new_topic_before_its_id_is_read_does_not_count():
    ends, flow = TargetEnds(), Watched().run(30)
    ends.note(flow.flow, flow.snapshot().partitions)
    known_ms = flow.now
    flow.remake_target()
    flow.now += 10 * S
    Mirrored.poll(flow)
    ends.note(flow.flow, flow.snapshot().partitions)
    held = ends.recreated("orders", known_ms)
    assert held.ends.tolist() == [3000, 3000]
    assert ends.recreated("orders", known_ms) is None


@pytest.mark.parametrize("after", [1, 10, 25])
def test_a_source_recreated_under_a_running_mirror_stays_silent(flow, after):
    # All of it is copied: N falls and begins anew, whether or not the id is read before that shows.
    flow.remake_source()
    flow.run(after, poll=100)
    seen = {told(flow)}  # N has fallen, and the id is not read yet
    for _ in range(24):
        flow.run(5, poll=5)
        seen.add(told(flow))
        assert lost(flow) == []
    assert seen <= {(Verdict.HEALTHY, None), (Verdict.UNKNOWN, Cause.TOPIC_RECREATED)}
    assert told(flow) == (Verdict.HEALTHY, None)
    assert "orders on A was re-created" in flow.verdict().sentence


@pytest.mark.parametrize("records", [40, 9000])
def test_a_new_log_that_is_replicated_before_its_id_is_read_and_then_left_alone_stays_silent(flow, records):
    # The offset that N has is one of the new log, though it was written before anybody knew of that.
    flow.goes = {"other"}
    flow.run(20)
    flow.now += 2 * S
    flow.remake_source()
    for partition in (0, 1):
        flow.write(records, partition=partition)
        flow.commit(partition=partition)
    flow.now += 3 * S
    seen = {told(flow.run(5, poll=5)) for _ in range(40)}
    assert seen <= {(Verdict.HEALTHY, None), (Verdict.UNKNOWN, Cause.TOPIC_RECREATED)}
    assert (told(flow), lost(flow)) == ((Verdict.HEALTHY, None), [])
    assert {row["reason"] for row in flow.flow_rows()} == {"caught_up"}


def test_an_offset_past_all_that_a_quiet_old_log_held_is_of_the_new_one_at_once():
    # The mirror goes on just before the new id is read, and nothing is written after that.
    flow = Watched().run(60)
    flow.goes = {"other"}
    flow.run(40)
    flow.remake_source(records=6040)
    flow.now += 8 * S
    for partition in (0, 1):
        flow.target_ends["A.orders", partition] += 40
        flow.commit(partition=partition)
    flow.now += S
    flow.poll()
    flow.run(20)
    assert [one[3:] for one in lost(flow)] == [(6000, 0, 5999)] * 2


@pytest.mark.parametrize("records", [0, 30_000])
def test_the_last_offset_of_the_old_log_may_be_written_once_the_new_one_is_there(records):
    # Offsets each 60 s: what the mirror had copied of the old log by then is told with the next of them.
    flow = Watched(flush_s=60.0)
    flow.copies = False

    def second():
        flow.busy()
        for topic, partition in flow.ends:
            flow.target_ends[f"A.{topic}", partition] += 100
        if flow.now // S % 60 == 0:
            for topic, partition in flow.ends:
                flow.commit(topic, partition)

    flow.go(310, each=second)
    flow.goes = {"other"}
    last = flow.ends["orders", 0]
    flow.remake_source(records=records)
    seen, wrote = set(), False
    for _ in range(300):
        flow.now += S
        if flow.now // S % 60 == 0 and not wrote:
            wrote = True
            for partition in (0, 1):
                flow.commit(partition=partition, to=last)
        flow.write(100, "other")
        if flow.now // S % 60 == 0:
            flow.commit("other")
        if flow.now // S % 10 == 0:
            flow.poll()
            seen.add(told(flow)[0])
            assert lost(flow) == []
    assert wrote
    assert Verdict.LOSING not in seen


def test_a_source_recreated_and_left_empty_is_reported_and_nothing_else(flow):
    flow.goes = {"other"}
    flow.remake_source()
    flow.run(60)
    assert told(flow) == (Verdict.HEALTHY, None)
    flow.goes = {"other", "orders"}
    flow.run(60)
    assert (told(flow), lost(flow)) == ((Verdict.HEALTHY, None), [])


def stand_and_remake(flow, *, records, s=20):
    """Stop the mirror in order, make the topic anew with so many records, and let ids be read."""
    flow.goes = set()
    flow.run(20)
    flow.remake_source(records=records)
    flow.run(s)


@pytest.mark.parametrize("poll", [1, 10])
@pytest.mark.parametrize("more", [1, 500, 30_000])
def test_a_source_recreated_and_longer_while_the_mirror_was_stalled_loses_all_up_to_n(flow, more, poll):
    stand_and_remake(flow, records=6000 + more)
    # It goes on at N + 1 of the new log.
    for partition in (0, 1):
        flow.target_ends["A.orders", partition] += more
        flow.commit(partition=partition)
    flow.run(30, poll=poll)
    assert lost(flow) == [("topic_recreated", "orders", number, 6000, 0, 5999) for number in (0, 1)]
    assert told(flow) == (Verdict.HEALTHY, None)
    flow.goes = {"orders", "other"}
    flow.run(HELD_MS // S + 30)
    assert lost(flow) == []


@pytest.mark.parametrize("records", [10, 5999])
def test_a_source_recreated_and_shorter_while_the_mirror_was_stalled_loses_nothing(flow, records):
    stand_and_remake(flow, records=records)
    for partition in (0, 1):
        flow.target_ends["A.orders", partition] += records
        flow.commit(partition=partition)
    flow.goes = {"orders", "other"}
    flow.run(60)
    assert (told(flow), lost(flow)) == ((Verdict.HEALTHY, None), [])


def test_all_of_a_new_log_between_two_offsets_is_reported_by_the_targets_growth():
    # Offsets each 60 s: the new log grew past N within one of them, and the mirror ran all the time.
    flow = Watched(flush_s=60.0)
    beat = {"n": 0}

    def minute(commits=True):
        for topic, partition in list(flow.ends):
            flow.write(100, topic, partition)
        beat["n"] += 1
        if commits and beat["n"] % 60 == 0:
            for topic, partition in list(flow.ends):
                flow.commit(topic, partition)

    flow.go(130, each=minute)  # N is 12,000 - its newest is 10 s old
    flow.remake_source()
    for partition in (0, 1):
        flow.write(20_000, partition=partition)  # quickly, and copied as quickly
    seen = set()
    for _ in range(60):
        flow.go(10, each=minute)
        seen.add(told(flow))
    assert lost(flow) == []
    assert seen <= {(Verdict.HEALTHY, None), (Verdict.UNKNOWN, Cause.TOPIC_RECREATED)}
    assert told(flow) == (Verdict.HEALTHY, None)


def test_it_is_not_known_for_two_cadences_and_a_poll_and_then_it_is_stalled(flow):
    stand_and_remake(flow, records=9000, s=10)
    assert told(flow) == (Verdict.UNKNOWN, Cause.TOPIC_RECREATED)
    assert "skips its start" in flow.verdict().sentence
    flow.run(40)
    assert told(flow) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    assert "lag 18,000 records" in flow.verdict().sentence


def test_a_topic_that_was_away_for_long_before_it_was_recreated(flow):
    flow.goes = {"other"}
    flow.run(10)
    flow.a.note_topics({"other": 1}, flow.now)
    ends = dict(flow.ends)
    flow.ends = {("other", 0): ends["other", 0]}
    flow.ids["A"].pop("orders")
    flow.run(60)
    assert {row["topic"] for row in flow.flow_rows()} == {"other"}
    flow.a.note_topics({"orders": 2, "other": 1})
    flow.ends |= {("orders", 0): 6100, ("orders", 1): 6100}
    flow.ids["A"]["orders"] = "another"
    flow.run(30)
    for partition in (0, 1):
        flow.target_ends["A.orders", partition] += 100
        flow.commit(partition=partition)
    flow.run(30)
    assert [one[3] for one in lost(flow)] == [6000, 6000]


def leave_out(flow, seconds):
    """Leave `orders` out of the source's lists of topics for so long."""
    away = {name: end for name, end in flow.ends.items() if name[0] == "orders"}
    flow.a.note_topics({"other": 1}, flow.now)
    flow.ends = {("other", 0): flow.ends["other", 0]}
    topic_id = flow.ids["A"].pop("orders")
    flow.poll()
    flow.goes = {"other"}
    flow.run(seconds, poll=5)
    flow.a.note_topics({"orders": 2, "other": 1})
    flow.ends |= away
    return topic_id


@pytest.mark.parametrize("seconds", [10, 300])
def test_a_topic_that_was_missing_from_a_list_for_a_moment_is_the_same_as_before(flow, seconds):
    topic_id = leave_out(flow, seconds)
    flow.ids["A"]["orders"] = topic_id
    seen = set()
    for _ in range(130):  # idle all the time: no offset of it comes again
        flow.run(10)
        seen.add(told(flow))
    assert seen == {(Verdict.HEALTHY, None)}
    assert [row["next_offset"] for row in flow.flow_rows() if row["topic"] == "orders"] == [6000, 6000]
    assert flow.flow.detectors.recreated._gone == {}


def test_a_topic_that_is_back_says_nothing_before_its_id_is_read_and_is_dropped_where_none_comes(flow):
    leave_out(flow, 20)
    flow.poll()
    assert {row["topic"] for row in flow.flow_rows() if row["reason"] != "no_offset"} == {"other"}
    flow.run(80)
    assert flow.slot() is None


def test_of_a_compacted_topic_it_is_a_suspicion(flow):
    flow.flow.note_settings("A", "orders", {"cleanup.policy": "compact"})
    stand_and_remake(flow, records=6500)
    for partition in (0, 1):
        flow.target_ends["A.orders", partition] += 500
        flow.commit(partition=partition)
    flow.run(30)
    assert lost(flow) == []
    assert [one.records for one in flow.snapshot().findings] == [6000, 6000]


@pytest.mark.parametrize(
    ("seen", "outcome"),
    [
        (PartitionPoll(0, 1100, 1100, 2100, 1), StartOutcome.REPLICATED),
        (PartitionPoll(0, 1100, 1100, 1100, 1), StartOutcome.SKIPPED),
        (PartitionPoll(0, 1100, 1900, 1400, 1), StartOutcome.SKIPPED),
        (PartitionPoll(0, 1100, 1900, 2400, 1), StartOutcome.REPLICATED),
        (PartitionPoll(0, 1100, 2100, 2100, 1), None),  # both would fit
        (PartitionPoll(1000, 1100, 1100, 1100, 1), StartOutcome.REPLICATED),  # there is nothing before N
        (PartitionPoll(0, 1100, 1100, 1103, 1), StartOutcome.SKIPPED),  # three came twice
    ],
)
def test_the_targets_growth_shows_what_became_of_the_start(seen, outcome):
    base = Base(next_offset=1000, at_ms=0, target_end=1000, sure=True)
    assert judge_start(base, seen) is outcome


def test_a_topic_that_is_skipped_whole_is_lost_by_partition():
    flow = Watched(refresh_topics_interval_s=2.0)
    flow.goes = {"other"}
    flow.run(60)
    began = flow.now
    while not lost(flow):
        flow.write(10, copied=False)
        flow.go(10, each=flow.busy)
        assert flow.now - began < 100 * S
    assert lost(flow) == [("filtered", "orders", 0, flow.ends["orders", 0], 0, flow.ends["orders", 0] - 1)]
    assert [one.code for one in flow.snapshot().missing] == []
    (finding,) = flow.snapshot().findings
    assert "never had a record" in finding.sentence
    assert finding.sentence.endswith("It applies fault, which may drop records.")


def test_a_topic_of_aborted_transactions_alone_is_not_lost_to_a_mirror_that_leaves_those_out():
    flow = Watched(refresh_topics_interval_s=2.0, isolation_level="read_committed")
    flow.goes = {"other"}
    seen = set()
    for _ in range(200):
        flow.write(10, copied=False)  # and no offset is written: nothing of it is ever copied
        flow.go(10, each=flow.busy)
        seen.add(told(flow))
    assert seen == {(Verdict.HEALTHY, None)}
    assert lost(flow) == []
    (one,) = flow.snapshot().findings
    assert one.code is Cause.FILTERED
    assert one.sentence.endswith("They may all be of aborted transactions, which it does not replicate.")


def test_more_topics_recreated_at_once_than_are_listed_are_all_known():
    topics = {f"t{number:03}": 1 for number in range(150)}
    flow = Mirrored(topics)
    flow.poll()
    for _ in range(6):
        flow.now += 10 * S
        for topic in topics:
            flow.write(100, topic)
            flow.commit(topic)
        flow.poll()
    flow.snapshot()
    for topic_id in ("first", "second"):
        flow.now += S
        flow.flow.note_ids("A", dict.fromkeys(topics, topic_id), flow.now)
    flow.ends = dict.fromkeys(flow.ends, 5000)
    flow.poll()
    assert {row["reason"] for row in flow.flow_rows()} == {"recreated"}
    assert len(flow.flow.topics.recreations) == 100
    told_of = MirrorSeries([flow.flow], per_partition=False, max_series=1000)
    values = told_of.values({"A->B": (flow.snapshot(), flow.verdict())})
    (counts,) = [column for family, column in values.items() if "recreated" in family.series.name]
    assert counts.tolist() == [1] * 150


def test_a_topic_that_the_mirror_has_yet_to_find_is_not_skipped():
    flow = Watched(refresh_topics_interval_s=600.0)
    flow.goes = {"other"}
    flow.write(10, copied=False)
    flow.run(500)
    assert lost(flow) == []
    assert [one.code for one in flow.snapshot().missing] == ["not_mirrored"]
    flow.run(300)
    assert [one[0] for one in lost(flow)] == ["filtered"]


def test_nothing_is_skipped_while_the_mirror_is_stalled():
    flow = Watched(refresh_topics_interval_s=2.0)
    flow.stand()
    assert lost(flow) == []
    assert told(flow)[0] is Verdict.STALLED


CREATE = {"message.timestamp.type": "CreateTime"}
APPEND = {"message.timestamp.type": "LogAppendTime"}


def stamped(flow, seconds, settings):
    """Let time pass with the copy's settings read every ten seconds."""
    for _ in range(0, seconds, 10):
        flow.flow.note_settings("B", "A.orders", settings, asked_ms=flow.now)
        flow.run(10)


def test_a_target_that_restamps_records_alters_what_comes_from_then_on(flow):
    flow.flow.note_settings("A", "orders", CREATE)
    stamped(flow, 10, CREATE)
    assert flow.snapshot().findings == ()
    flow.goes = {"other"}
    stamped(flow, 20, APPEND)
    assert [one.proved for one in flow.snapshot().findings] == [False]
    flow.goes = {"orders", "other"}
    stamped(flow, 20, APPEND)
    (found,) = flow.snapshot().findings
    assert (found.code, found.partition, found.records, found.proved) == (Cause.RETIMED, None, 2000, True)
    assert (found.verdict, found.records_most) == (Verdict.ALTERED, None)
    newest = found.at_ms
    stamped(flow, 10, APPEND)
    assert flow.snapshot().findings[0].records == 4000
    assert flow.snapshot().findings[0].at_ms > newest
    # It is switched back, nobody knows when since the last time: what came since that does not count.
    stamped(flow, 30, CREATE)
    assert [one.records for one in flow.snapshot().findings] == [4000]
    flow.run(HELD_MS // S)
    assert flow.snapshot().findings == ()


@pytest.mark.parametrize(("source", "target"), [(APPEND, APPEND), (CREATE, CREATE), ({}, APPEND)])
def test_other_settings_alter_nothing(flow, source, target):
    flow.flow.note_settings("A", "orders", source)
    flow.flow.note_settings("B", "A.orders", target)
    flow.run(60)
    assert flow.snapshot().findings == ()


def test_new_partitions_that_wait_are_a_fact_until_they_are_due():
    flow = Watched(refresh_topics_interval_s=600.0).run(60)
    flow.a.note_topics({"orders": 3, "other": 1})
    flow.ends["orders", 2] = 0
    flow.goes = {"other"}
    flow.run(20)
    (found,) = flow.snapshot().missing
    assert (found.code, found.due) == ("partition_missing", False)
    assert "A.orders on B has only 2 of the 3 partitions of orders, for" in found.sentence
    assert told(flow) == (Verdict.HEALTHY, None)


def wait_for_partition(records):
    flow = Watched(refresh_topics_interval_s=600.0).run(60)
    flow.a.note_topics({"orders": 3, "other": 1})
    flow.ends["orders", 2] = records
    flow.go(720, each=lambda: [flow.write(9, "orders", one) or flow.commit("orders", one) for one in (0, 1)])
    return flow


def test_new_partitions_with_records_are_a_stall_once_they_are_due():
    flow = wait_for_partition(7)
    assert told(flow) == (Verdict.STALLED, Cause.PARTITION_MISSING)


@pytest.mark.parametrize(
    ("waiting", "due"),
    [([2], {"partition_missing", "not_mirrored"}), ([0, 2], {"not_mirrored"}), ([], set())],
    ids=["only there", "elsewhere too", "nothing"],
)
def test_why_records_wait_is_not_reported_later_than_that_they_do_though_lists_are_older(waiting, due):
    topics = MirrorTopics(Watched().flow.order.flow)
    topics.note_source({"orders": 3})
    for at_ms in (NOW, NOW + 301 * S):
        found = topics.missing(
            {"orders": 3},
            {"A.orders": 2},
            listed_ms=(NOW, NOW),
            with_offset={"orders": 2},
            waiting=[("orders", number) for number in waiting],
            now_ms=at_ms,
            patience_ms=300 * S,
        )
        assert {one.code for one in found if one.due} == (set() if at_ms == NOW else due)
    assert topics.awaits_list(found, now_ms=at_ms, patience_ms=300 * S, moved_ms=-1)


def test_new_partitions_without_a_record_keep_nothing_waiting():
    flow = wait_for_partition(0)
    assert told(flow) == (Verdict.HEALTHY, None)
    assert [(one.code, one.due) for one in flow.snapshot().missing] == [("partition_missing", True)]


def one(code, at_ms, *, proved=True):
    return MirrorFinding(
        code=code, topic="t", partition=0, at_ms=at_ms, sentence="Said.", records=1, proved=proved
    )


def test_a_list_that_is_too_long_leaves_no_cause_out():
    many = [one(Cause.OVERTAKEN, at_ms) for at_ms in range(150)]
    doubts = [one(Cause.FILTERED, at_ms, proved=False) for at_ms in range(150)]
    told = listed([*doubts, *many, one(Cause.RETIMED, 1)], most=100)
    assert len(told) == 100
    assert [each.code for each in told[:3]] == [Cause.OVERTAKEN, Cause.RETIMED, Cause.OVERTAKEN]
    assert all(each.proved for each in told)
    assert listed(doubts[:2], most=100) == doubts[:2]


def test_partitions_that_wait_one_after_another_are_no_stall():
    # Two tasks write their offsets each minute, and every 15 s a partition gets its first record.
    one = Mirrored({"orders": 90}, flush_s=60.0)
    one.poll()
    seconds = iter(range(1, 10_000))

    def each():
        second = next(seconds)
        if second % 15 == 0 and second // 15 < 90:
            one.write(1, partition=second // 15)
        if second % 30 == 7:
            for partition in range(second // 30 % 2, 90, 2):
                if one.ends["orders", partition]:
                    one.commit(partition=partition)

    waited = 0
    for _ in range(120):
        one.go(10, each=each)
        assert one.verdict().verdict is not Verdict.STALLED
        waited += bool(one.snapshot().missing)
    assert waited > 100


@pytest.mark.parametrize("isolation_level", ["read_committed", "read_uncommitted"])
def test_records_of_a_transaction_that_is_open_wait_for_nobody_who_reads_committed_ones(isolation_level):
    one = Mirrored({"orders": 1, "held": 1}, isolation_level=isolation_level)
    one.write(50, "held", copied=False)

    def each():
        one.write(10)
        one.commit()

    for _ in range(150):
        one.go(10, each=each, poll=100)
        one.poll()
        one.a.heads.note_stable(np.array(one.a.places.of("held"), np.int32), np.array([0]))
        one.snapshot()
    committed = isolation_level == "read_committed"
    assert [found.code for found in one.snapshot().findings] == ([] if committed else [Cause.FILTERED])


def test_of_topics_that_went_the_last_are_remembered():
    one = Mirrored({"orders": 1})
    one.poll()
    for number in range(MOST_GONE + 10):
        one.flow.detectors.recreated.note_gone(one.flow, f"t{number}", gone_ms=one.now)
        one.flow.topics.note_id(f"t{number}", "source", "id", NOW + number)
        one.flow.topics.note_id(f"t{number}", "target", "id", NOW + number)
    one.flow.topics.note_source({"orders": 1, "new": 1})
    assert list(one.flow.detectors.recreated._gone)[:1] == ["t10"]
    assert len(one.flow.detectors.recreated._gone) == MOST_GONE
    assert min(one.flow.topics.ids_at_ms.values()) == NOW + 10
    assert len(one.flow.topics.ids) == len(one.flow.topics.ids_at_ms) == MOST_IDS_GONE


def test_of_a_log_whose_end_is_not_known_nothing_is_reported_to_wait():
    one = Mirrored({"orders": 1})
    one.flow.topics.note_source(one.a.topics)
    (row,) = one.flow_rows()
    assert row["sentence"].endswith("where the source's log ends is not known yet.")


def test_sentences_about_one_say_one():
    one = Mirrored({"orders": 1, "more": 1, "new": 2})
    one.poll()

    def each():
        for topic in ("orders", "more", "new"):
            one.write(10, topic)
            one.commit(topic)

    one.go(60, each=each)
    one.write(5, "new", partition=1)
    one.snapshot()
    for topic in ("orders", "more"):
        for topic_id in ("before", "after"):
            one.flow.note_ids("A", {topic: topic_id}, one.now)
    one.go(60, each=each)
    assert "No offset of the mirror for 1 partition of new," in one.snapshot().missing[0].sentence
    assert sorted(finding.topic for finding in one.snapshot().findings) == ["more", "orders"]
    empty = Mirrored({"orders": 1, "more": 1})
    empty.poll()
    empty.snapshot()
    for topic_id in ("before", "after"):
        empty.flow.note_ids("A", {"orders": topic_id, "more": topic_id}, empty.now)
    assert "and 1 more topic lately)" in empty.verdict().sentence
    alone = Mirrored({"orders": 1})
    alone.poll()
    alone.go(60, each=lambda: (alone.write(10), alone.commit()))
    assert alone.verdict().sentence.startswith("Lag 0 records on 1 partition when ")
    alone.go(60, each=lambda: alone.write(10))
    assert "No offset stored for orders-0 since" in alone.verdict().sentence


def test_where_the_mirror_was_when_targets_went_is_kept_for_as_long_as_they_are_reported(flow):
    flow.remake_target()
    flow.run(10)
    assert len(flow.flow.detectors.recreated.kept()[2]) == 2
    flow.run(HELD_MS // S + 10)
    assert flow.flow.detectors.recreated.kept()[2] == {}


def test_a_recreated_topic_that_went_for_good_is_not_followed_for_ever(flow):
    flow.goes = {"other"}
    flow.remake_source(records=5)
    flow.run(20)
    assert flow.flow.detectors.recreated.recreated["orders"].open
    flow.a.note_topics({"other": 1})
    flow.ends = {("other", 0): flow.ends["other", 0]}
    flow.ids["A"].pop("orders")
    flow.run(HELD_MS // S + 10)
    assert flow.flow.detectors.recreated.recreated  # it may have been left out of a list
    names = {f"t{number}": 1 for number in range(MOST_IDS_GONE + 1)}
    flow.a.note_topics({"other": 1, **names})
    flow.flow.topics.note_source(flow.a.topics)
    flow.flow.note_ids("A", dict.fromkeys(names, "first"), flow.now)
    flow.a.note_topics({"other": 1})
    flow.run(20)
    assert flow.flow.detectors.recreated.recreated == {}


OWN = "billing.internal"  # internal to MirrorMaker 3.x, a topic as any other to 4.x


def of_unknown_version(*, copy="A.billing.internal", **settings):
    one = Mirrored({"orders": 1, OWN: 1}, target={"A.orders": 1, copy: 1}, mirror_version=None, **settings)
    one.poll()
    one.snapshot()
    return one


def test_a_topic_of_which_the_mirrors_version_would_show_counts_once_it_is_seen_to_be_replicated():
    one = of_unknown_version(copy="A.more", refresh_topics_interval_s=2.0)

    def each():
        one.write(10)
        one.write(10, OWN, copied=False)
        one.commit()

    one.go(300, each=each)
    assert told(one) == (Verdict.HEALTHY, None)
    assert one.snapshot().missing == ()
    one.commit(OWN, to=5)
    one.snapshot()
    assert one.flow.topics.remote == {"orders": "A.orders", OWN: "A.billing.internal"}
    one.go(300, each=each)
    assert told(one) == (Verdict.STALLED, Cause.TOPIC_MISSING)


def test_a_target_shows_that_it_is_replicated_but_for_one_that_has_its_topics_own_name():
    assert OWN in of_unknown_version().flow.topics.remote
    identity = ReplicationPolicy(PolicyKind.IDENTITY)
    one = of_unknown_version(copy=OWN, policy=identity)
    assert OWN not in one.flow.topics.remote
    one.flow.windows.take(OWN, 0, 3, one.now, live=True)
    one.snapshot()
    assert one.flow.topics.remote[OWN] == OWN
    another = of_unknown_version(copy=OWN, policy=identity, lag_from="equal-offsets")
    assert OWN in another.flow.topics.remote  # it is no MirrorMaker


def test_settings_of_topics_that_went_are_forgotten_with_their_ids():
    one = Mirrored({"orders": 1})
    settings = {"retention.ms": "3600000", "cleanup.policy": "compact,delete"} | CREATE

    def note(names):
        one.a.note_topics({"orders": 1} | dict.fromkeys(names, 1))
        one.snapshot()
        for name in names:
            one.flow.note_settings("A", name, settings)
            one.flow.note_settings("B", f"A.{name}", CREATE)

    note(["orders", "kept"])
    one.flow.topics.note_id("kept", "source", "id", one.now)
    for number in range(3):
        note([f"job-{number}"])
    one.a.note_topics({"orders": 1})
    one.snapshot()
    # One of which the id is known may come again, and what is lost of it depends on whether it is compacted.
    assert one.flow.retention_ms.keys() == one.flow.settings.compacted == {"orders", "kept"}
    assert {topic for topic, _ in one.flow.settings.types} == {"orders", "kept"}
