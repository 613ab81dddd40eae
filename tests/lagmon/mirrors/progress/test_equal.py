"""A mirror judged by equal offsets: the target's end against the source's, and a target with too much."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.mm2.replication import PolicyKind, ReplicationPolicy
from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.groups.rules.words import Reason, Status
from lagmon.mirrors.partitions.window import MirrorWindows
from lagmon.mirrors.progress.equal import EqualProgress
from tests.lagmon.mirror_flows import Mirrored, S, told


class Linked(Mirrored):
    """A mirror that keeps offsets and names; the target is looked at `lead_ms` before the source."""

    def __init__(self, topics=None, *, target=None, lead_ms=0):
        topics = topics or {"orders": 2}
        super().__init__(
            topics,
            target=dict(topics) if target is None else target,
            lag_from="equal-offsets",
            policy=ReplicationPolicy(PolicyKind.IDENTITY),
        )
        self.lead_ms = lead_ms
        self.progress = EqualProgress(self.flow)

    def write(self, count, topic="orders", partition=0, *, copied=True):
        self.ends[topic, partition] += count
        if copied:
            self.target_ends[topic, partition] = self.ends[topic, partition]

    def poll(self, *, sides="ba"):
        """Look at the logs of these sides, and follow."""
        for side in sides:
            lag, ends = (self.a, self.ends) if side == "a" else (self.b, self.target_ends)
            places = [lag.places.of(topic)[number] for topic, number in ends]
            at = np.array(places, np.int32)
            at_ms = self.now - (self.lead_ms if side == "b" else 0)
            lag.heads.note(at, np.array(list(ends.values())), at_ms)
            lag.heads.note_stable(at, np.array(list(ends.values())))
            starts = [(self.starts if side == "a" else {}).get(one, 0) for one in ends]
            lag.heads.note_starts(at, np.array(starts))
        self.progress.follow(self.now)

    def row(self, partition=0):
        return next(row for row in self.flow_rows() if row["partition"] == partition)


@pytest.fixture
def linked():
    """Give a mirror that has kept up for a minute with 100 records a second in each of two partitions."""
    one = Linked()
    one.poll()
    return one.go(60, each=lambda: busy(one))


def busy(one, *, partitions=(0, 1), copied=(0, 1)):
    for partition in partitions:
        one.write(100, partition=partition, copied=partition in copied)


def test_a_target_that_ends_where_its_source_does_has_no_lag(linked):
    assert told(linked) == (Verdict.HEALTHY, None)
    assert linked.verdict().lag == 0
    assert linked.verdict().sentence == (
        "Lag 0 records on 2 partitions when B was last polled (every 12 s, 0 s ago)."
    )


def test_lag_is_the_difference_of_the_ends_at_the_same_time():
    # The target is looked at 4 s before the source, which grows by 400 in that time: that is no lag.
    one = Linked(lead_ms=4 * S)
    one.poll()
    for _ in range(12):
        before = dict(one.ends)
        one.go(6, each=lambda: busy(one), poll=100)
        there = dict(one.ends)
        one.go(4, each=lambda: busy(one), poll=100)
        # Its copy was 250 behind at the time of the look at it.
        one.target_ends = {key: max(0, end - 250) for key, end in there.items()}
        one.poll()
        one.snapshot()
        assert there != before
    verdict = one.verdict()
    assert verdict.verdict is Verdict.HEALTHY
    assert verdict.lag == pytest.approx(500, abs=4)
    assert verdict.lag_s == pytest.approx(2.5, abs=0.1)


def test_a_stalled_mirror_is_stalled_and_never_called_one_that_does_not_commit(linked):
    causes = set()
    for _ in range(20):
        linked.go(5, each=lambda: busy(linked, copied=()), poll=5)
        causes.add(told(linked))
    assert causes == {(Verdict.HEALTHY, None), (Verdict.STALLED, Cause.MIRROR_DOWN)}
    assert linked.verdict().lag == 20_000
    linked.go(30, each=lambda: busy(linked))
    assert told(linked) == (Verdict.HEALTHY, None)


def test_one_partition_that_is_stalled_is_no_quiet_tail_though_nothing_more_is_written_to_it(linked):
    linked.write(50, partition=0, copied=False)
    linked.go(120, each=lambda: busy(linked, partitions=(1,)))
    assert told(linked) == (Verdict.STALLED, Cause.TASK_STUCK)
    assert linked.verdict().lag == 50
    assert linked.row()["reason"] == "stalled"
    assert "polls of the target still return the same end" in linked.row()["sentence"]


def test_a_target_that_has_more_than_its_source_is_not_without_lag(linked):
    linked.target_ends["orders", 0] += 7
    seen = set()
    for second in range(60):
        linked.go(1, poll=100)
        # The two clusters are looked at in turn, never at once.
        if second % 10 in (2, 7):
            linked.poll(sides="b" if second % 10 == 2 else "a")
        if second > 10:
            verdict = linked.verdict()
            seen.add((verdict.status, verdict.verdict))
    assert seen == {(Status.UNKNOWN, Verdict.UNKNOWN)}
    assert linked.row()["reason"] == Reason.BEYOND_END.name.lower()
    assert linked.row()["lag_records"] is None
    assert linked.verdict().sentence == (
        "orders-0: The log on B has 7 records more than the source: it ends at 6007, and the log on A ended at"
        " 6000 when it was polled afterwards. The source lost its end or was re-created, or another producer"
        " writes to the target topic, or offsets are not equal here (then set another lag_from)."
    )


def test_a_target_that_runs_ahead_of_a_poll_at_a_busy_source_is_no_divergence():
    one = Linked()
    for second in range(100):
        one.go(1, each=lambda: busy(one), poll=100)
        if second % 10 in (3, 8):
            one.poll(sides="a" if second % 10 == 3 else "b")
        if second > 30:
            assert told(one) == (Verdict.HEALTHY, None)
            assert one.verdict().lag == 0


def test_a_target_that_lost_its_end_or_is_replicated_again_repeats(linked):
    linked.target_ends["orders", 0] = 100
    linked.go(10, each=lambda: busy(linked, copied=(1,)))
    assert told(linked) == (Verdict.REPEATING, Cause.DUPLICATING)
    assert "went back from offset 6000 to 100" in linked.verdict().sentence


def test_what_retention_took_before_a_stalled_target_had_it_is_reported_and_counted(linked):
    stood = linked.ends["orders", 0]
    linked.go(100, each=lambda: busy(linked, copied=()))
    linked.starts = {("orders", 0): stood + 500, ("orders", 1): stood + 700}
    linked.go(30, each=lambda: busy(linked, copied=()))
    assert told(linked) == (Verdict.STALLED, Cause.OVERTAKEN)
    lost = [(one.partition, one.records, one.first_offset) for one in linked.snapshot().findings]
    assert lost == [(0, 500, stood), (1, 700, stood)]
    assert linked.snapshot().findings[0].sentence.endswith("its log on B ended at 6000.")
    linked.go(60, each=lambda: busy(linked))
    assert told(linked) == (Verdict.HEALTHY, None)
    assert linked.flow.detectors.retention.total["orders"] == 1200


@pytest.mark.parametrize("pause_s", [0, 300])
def test_a_target_that_keeps_up_with_a_short_log_lost_nothing(linked, pause_s):
    linked.go(pause_s)
    for _ in range(30):
        linked.poll(sides="b")
        busy(linked)
        linked.starts = {name: end - 5 for name, end in linked.ends.items()}
        linked.now += S
        linked.poll(sides="a")
        assert told(linked) == (Verdict.HEALTHY, None)
        assert linked.snapshot().findings == ()
        linked.now += 9 * S


def test_an_empty_target_of_a_log_that_does_not_start_at_0_shows_nothing():
    one = Linked({"orders": 1})
    one.ends["orders", 0], one.starts["orders", 0] = 900, 500
    one.poll()
    verdict = one.go(30).verdict()
    assert (verdict.verdict, verdict.cause) == (Verdict.UNKNOWN, None)
    assert not one.snapshot().overtaken
    one.target_ends["orders", 0] = 900
    assert told(one.go(30)) == (Verdict.HEALTHY, None)


def test_an_empty_target_of_a_log_from_0_lags_by_all_of_it():
    one = Linked({"orders": 1})
    one.ends["orders", 0] = 300
    one.poll()
    assert one.go(20).verdict().lag == 300


def test_without_targets_it_is_reported_that_there_are_none():
    one = Linked({"orders": 1}, target={"else": 1})
    one.target_ends = {("else", 0): 5}
    one.poll()
    verdict = one.go(30).verdict()
    assert verdict.verdict is Verdict.UNKNOWN
    assert verdict.sentence.startswith("No target topic of the flow has records on B")


def test_polls_that_fail_on_either_side_are_not_known_and_never_a_stall(linked):
    linked.write(500, copied=False)
    linked.poll()
    for side in ("a", "b"):
        seen = set()
        for _ in range(30):
            linked.go(5, each=lambda: busy(linked, partitions=(1,)), poll=100)
            linked.poll(sides=side)
            verdict = linked.verdict()
            seen.add(verdict.verdict)
        assert Verdict.STALLED not in seen, side
        assert verdict.verdict is Verdict.UNKNOWN, side
        linked.target_ends = dict(linked.ends)
        linked.poll()
        linked.go(60, each=lambda: busy(linked))
        assert told(linked) == (Verdict.HEALTHY, None)
        linked.write(500, copied=False)
        linked.poll()


def test_a_partition_whose_target_does_not_answer_is_not_known_while_the_others_are(linked):
    linked.write(500, copied=False)
    del linked.target_ends["orders", 0]
    linked.go(120, each=lambda: busy(linked, partitions=(1,)))
    assert linked.row(0)["reason"] == "commits_stale"
    assert linked.row(1)["status"] == "OK"
    assert told(linked) == (Verdict.UNKNOWN, None)
    assert linked.verdict().sentence.startswith("orders-0: Lag unknown: the target was last polled")


def test_topics_come_and_go(linked):
    linked.a.note_topics({"orders": 2, "bills": 1})
    linked.b.note_topics({"orders": 2, "bills": 1})
    linked.ends["bills", 0] = linked.target_ends["bills", 0] = 5
    linked.go(20, each=lambda: busy(linked))
    assert {row["topic"] for row in linked.flow_rows()} == {"orders", "bills"}
    for ends in (linked.ends, linked.target_ends):
        del ends["bills", 0]
    linked.b.note_topics({"orders": 2})
    linked.go(10, each=lambda: busy(linked))
    assert linked.flow.windows.slot("bills", 0) is None
    assert linked.flow.windows.slot("orders", 1) is not None
    linked.a.note_topics({"orders": 2})
    linked.go(10, each=lambda: busy(linked))
    assert told(linked) == (Verdict.HEALTHY, None)


def test_nothing_is_reported_before_both_clusters_were_polled():
    one = Linked()
    one.poll(sides="b")
    verdict = one.verdict()
    assert (verdict.verdict, verdict.sentence) == (
        Verdict.UNKNOWN,
        "The logs of A and B are not polled yet.",
    )


@given(
    st.lists(
        st.tuples(st.integers(1, 8), st.lists(st.integers(0, 30), min_size=3, max_size=3), st.booleans()),
        max_size=20,
    )
)
def test_many_polls_at_once_are_what_each_is_alone(polls):
    together, alone = MirrorWindows(), MirrorWindows()
    now = 1_000_000
    for wait_s, offsets, settles in polls:
        now += wait_s * S
        slots = np.array([together.ensure_slot("t", number) for number in range(3)])
        at_ms = np.array([now, now - 1, now + 1])
        together.take_polls(slots[::-1], np.array(offsets)[::-1], at_ms[::-1])
        for number in range(3):
            alone.take("t", number, offsets[number] - 1, int(at_ms[number]), live=True)
        for windows in (together, alone):
            if settles:
                windows.settle(np.array([1]), np.array([40]))
                windows.note_recreated({"t"})
        for name in ("next_offset", "committed_ms", "moved_ms", "rest"):
            assert getattr(together, name)[:3].tolist() == getattr(alone, name)[:3].tolist()
        for name in ("offset", "committed_ms", "lag", "filled", "live"):
            assert getattr(together.rings, name)[:3].tolist() == getattr(alone.rings, name)[:3].tolist()


def test_a_target_that_is_no_longer_polled_has_lost_nothing_and_commits_nothing(linked):
    seen = set()
    for _ in range(12):
        linked.go(10, each=lambda: busy(linked), poll=100)
        linked.starts = dict(linked.ends)
        linked.poll(sides="a")
        seen.add(told(linked))
        assert linked.snapshot().findings == ()
    assert seen <= {(Verdict.HEALTHY, None), (Verdict.UNKNOWN, None)}
