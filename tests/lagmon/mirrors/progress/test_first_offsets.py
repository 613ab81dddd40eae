"""What a mirror has to replicate that starts at the log end (auto.offset.reset=latest)."""

from __future__ import annotations

import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from tests.lagmon.mirror_flows import Mirrored, told


class Late(Mirrored):
    """A mirror that moves in `other`, and finds 5,000 records in `orders`, of which none is copied."""

    def __init__(self, offset_reset="latest"):
        super().__init__({"orders": 1, "other": 1}, offset_reset=offset_reset, refresh_topics_interval_s=60.0)
        self.target_ends["A.orders", 0] = 1  # of another time: it is not one of which all is left out
        self.write(5000, copied=False)
        self.poll()

    def busy(self):
        self.write(10, "other")
        self.commit("other")


@pytest.mark.parametrize(("offset_reset", "waits"), [("earliest", True), ("latest", False), ("none", False)])
def test_what_was_there_before_a_mirror_that_starts_late_is_not_waited_for(offset_reset, waits):
    one = Late(offset_reset)
    one.go(400, each=one.busy)
    assert told(one) == ((Verdict.STALLED, Cause.NOT_MIRRORED) if waits else (Verdict.HEALTHY, None))
    (row,) = (row for row in one.flow_rows() if row["topic"] == "orders")
    assert row["status"] == ("UNKNOWN" if waits else "OK")
    assert ("auto.offset.reset" in row["sentence"]) is not waits


def test_what_comes_before_the_mirror_has_had_its_time_to_find_the_topic_is_not_waited_for():
    one = Late()
    one.go(60, each=lambda: [one.busy(), one.write(1, copied=False)])
    one.go(400, each=one.busy)
    assert told(one) == (Verdict.HEALTHY, None)


def test_what_comes_later_is_waited_for():
    one = Late()
    one.go(150, each=one.busy)
    one.write(3, copied=False)
    one.go(150, each=one.busy)
    assert one.flow.partitions_without() == [("orders", 0, 3)]
    assert told(one) == (Verdict.STALLED, Cause.NOT_MIRRORED)


def test_a_recreated_log_is_waited_for_from_its_end_on():
    one = Late()
    one.go(150, each=one.busy)
    one.ends["orders", 0] = 7
    one.go(10, each=one.busy)
    one.write(5, copied=False)
    one.go(10, each=one.busy)
    assert one.flow.partitions_without() == [("orders", 0, 5)]


def test_a_topic_that_it_skips_whole_is_a_suspicion_by_what_came_since():
    one = Late()
    one.target_ends["A.orders", 0] = 0
    one.poll()
    one.go(400, each=one.busy)
    assert one.snapshot().findings == ()
    one.go(400, each=lambda: [one.busy(), one.write(1, copied=False)])
    (found,) = one.snapshot().findings
    assert (found.code, found.records, found.first_offset, found.proved) == (Cause.FILTERED, 400, 5000, False)
    assert found.sentence.endswith(
        "With auto.offset.reset=latest it skips what was written before it started to read."
    )
    assert told(one) == (Verdict.HEALTHY, None)
