"""What a flow's target lacks, by lists of topics that are read once a minute, of each cluster at its own time."""

from __future__ import annotations

import pytest

from fleet.quantity import duration_text
from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.mirrors.flow import LIST_AGAIN_MS
from tests.lagmon.mirror_flows import NOW, Mirrored, S, told


class Listing(Mirrored):
    """A flow with a new topic, whose topics are listed when a test says so."""

    def __init__(self, *, refresh_s=2.0):
        super().__init__({"orders": 1, "new": 1}, refresh_topics_interval_s=refresh_s)
        self.a.note_topics({"orders": 1}, NOW)
        self.b.note_topics({"A.orders": 1}, NOW)
        self.poll()

    def poll(self, *, starts=True):
        """Look at the logs that are listed; no topics are."""
        listed_ms, ends, target_ends = self.b.listed_ms, self.ends, self.target_ends
        self.ends = {name: end for name, end in ends.items() if name[0] in self.a.topics}
        self.target_ends = {name: end for name, end in target_ends.items() if name[0] in self.b.topics}
        super().poll(starts=starts)
        self.ends, self.target_ends, self.b.listed_ms = ends, target_ends, listed_ms

    def list_source(self):
        self.a.note_topics({"orders": 1, "new": 1}, self.now)

    def list_target(self, *, lacks):
        self.b.note_topics({"A.orders": 1} | ({} if lacks else {"A.new": 1}), self.now)

    def busy(self):
        for topic in ("orders", "new"):
            self.write(10, topic)
            self.commit(topic)

    def frozen(self):
        for topic in ("orders", "new"):
            self.write(10, topic, copied=False)

    def lacking(self):
        return [one for one in self.snapshot().missing if one.code == Cause.TOPIC_MISSING]


@pytest.fixture
def flow():
    one = Listing()
    one.go(30, each=one.busy)
    return one


def test_a_list_of_the_target_that_is_older_than_the_topic_does_not_show_that_its_target_is_missing(flow):
    flow.list_target(lacks=True)
    flow.now += S
    flow.list_source()  # and the mirror makes the copy after that
    flow.go(5, each=flow.busy, poll=1)
    flow.go(90, each=flow.frozen)
    assert told(flow) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    assert flow.snapshot().missing == ()
    assert flow.b.list_awaited == {"A->B"}
    flow.list_target(lacks=False)
    assert flow.snapshot().missing == ()
    assert flow.b.list_awaited == set()


def test_a_target_that_was_made_after_the_newest_list_does_not_explain_why_the_mirror_is_stalled(flow):
    flow.list_source()
    flow.now += S
    flow.list_target(lacks=True)
    flow.go(5, each=flow.busy, poll=1)
    flow.go(90, each=flow.frozen)
    assert told(flow) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    assert "Target topic" not in flow.verdict().sentence
    assert flow.b.list_awaited == {"A->B"}
    flow.list_target(lacks=True)
    assert told(flow) == (Verdict.STALLED, Cause.TOPIC_MISSING)
    assert flow.b.list_awaited == set()


def test_a_target_is_missing_from_the_first_list_that_can_show_up_to_the_newest(flow):
    flow.list_target(lacks=True)
    flow.now += S
    flow.list_source()
    assert flow.lacking() == []
    flow.now += 10 * S
    flow.list_target(lacks=True)
    since_ms = flow.now
    for number in range(1, 10):
        flow.now += 10 * S
        flow.list_source()
        (found,) = flow.lacking()
        assert (found.since_ms, found.seen_ms, found.due) == (since_ms, since_ms, False)
        assert found.sentence.endswith(f"is missing on B, as of {duration_text(10 * number)} ago.")
    flow.list_target(lacks=True)
    (found,) = flow.lacking()
    assert (found.since_ms, found.due) == (since_ms, True)
    assert found.sentence.endswith("for 1 min 30 s.")
    flow.now += 119 * S
    assert flow.lacking()[0].sentence.endswith("for 1 min 30 s.")
    flow.now += 2 * S  # the target is away
    assert flow.lacking()[0].sentence.endswith("for 1 min 30 s, as of 2 min 1 s ago.")


def test_the_next_list_is_read_soon_where_it_is_the_one_that_makes_it_due_and_no_more_often(flow):
    flow.list_source()
    flow.list_target(lacks=True)
    flow.snapshot()
    listed = 0
    for _ in range(300):
        flow.go(1, each=lambda: [flow.write(10), flow.commit()], poll=1)
        if flow.b.list_awaited:
            assert flow.now - flow.b.listed_ms >= LIST_AGAIN_MS
            flow.list_target(lacks=True)
            listed += 1
    assert listed == 1
    assert flow.lacking()[0].due


def test_a_clock_that_was_set_back_leaves_nothing_to_be_waited_for(flow):
    flow.list_source()
    flow.snapshot()
    flow.now -= 3600 * S
    flow.list_source()
    flow.list_target(lacks=True)
    (found,) = flow.lacking()
    assert (found.since_ms, found.due) == (flow.now, False)


def test_what_explains_a_stall_is_listed_again_before_that_is_reported(flow):
    flow.list_source()
    flow.go(30, each=flow.busy, poll=5)
    flow.now += S
    flow.list_target(lacks=True)  # it was deleted just now, and with that the mirror stands
    for _ in range(60):
        flow.go(1, each=flow.frozen)
        if flow.now % (5 * S) == 0:
            flow.poll()
        if flow.b.list_awaited and flow.now % (10 * S) == 0:
            flow.list_target(lacks=True)
        assert told(flow)[1] in (None, Cause.TOPIC_MISSING)
    assert told(flow) == (Verdict.STALLED, Cause.TOPIC_MISSING)


def test_what_is_lacking_before_offsets_are_read_asks_for_no_list(flow):
    flow.list_source()
    assert flow.snapshot().missing == ()
    flow.now += 10 * S
    flow.snapshot()
    assert flow.b.list_awaited == {"A->B"}
    flow.flow.read_to_ms = -1
    flow.snapshot()
    assert flow.b.list_awaited == set()
