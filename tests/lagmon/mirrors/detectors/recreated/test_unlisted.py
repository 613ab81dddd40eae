"""Offsets of topics that the source's list, read once a minute, lacks: new, deleted or re-created ones."""

from __future__ import annotations

import numpy as np
import pytest

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.mirrors.detectors.recreated.losses import RecreatedTopics
from lagmon.mirrors.detectors.recreated.unlisted import LISTED_WITHIN_MS
from lagmon.mirrors.metadata import topics as mirror_topics
from lagmon.mirrors.metadata.topics import IDS_WITHIN_MS, ids_every_s
from lagmon.mirrors.partitions.window import MirrorWindows
from tests.lagmon.mirror_flows import NOW, Mirrored, S, told

LIST_S = 60


class Listed(Mirrored):
    """A busy topic `orders`, and others of one partition that are made, deleted, filled and copied.

    Both sides' topics are listed once a minute, their ids read with each look at what is listed.
    """

    def __init__(self, lag_from="connect-offsets", *, reads_ids=True):
        super().__init__({"orders": 1}, refresh_topics_interval_s=1.0, lag_from=lag_from)
        self.there = {"orders": "first"}  # ids on the source
        self.copies = {"A.orders"}
        self._reads_ids = reads_ids
        self.list_topics()
        self.poll()

    def make(self, topic, topic_id="first"):
        self.there[topic] = topic_id
        self.ends[topic, 0] = 0
        self.copies.add(f"A.{topic}")
        self.target_ends.setdefault((f"A.{topic}", 0), 0)

    def delete(self, topic):
        del self.there[topic], self.ends[topic, 0]

    def fill(self, topic, count):
        self.write(count, topic)
        self.commit(topic)

    def list_topics(self):
        self.a.note_topics(dict.fromkeys(self.there, 1), self.now)
        self.b.note_topics(dict.fromkeys(self.copies, 1), self.now)

    def poll(self, *, starts=True):
        if self.now % (LIST_S * S) == 0:
            self.list_topics()
        ends, target_ends = dict(self.ends), dict(self.target_ends)
        self.ends = {name: end for name, end in ends.items() if name[0] in self.a.topics}
        self.target_ends = {name: end for name, end in target_ends.items() if name[0] in self.b.topics}
        super().poll(starts=starts)
        self.ends, self.target_ends = ends, target_ends
        ids = {topic: one for topic, one in self.there.items() if topic in self.a.topics}
        if self._reads_ids:
            self.flow.note_ids("A", ids, self.now)
            for topic, topic_id in ids.items():
                self.a.note_id(topic, topic_id, self.now)

    def run(self, seconds):
        for _ in range(seconds):
            self.now += S
            self.fill("orders", 10)
            if self.now % (10 * S) == 0:
                self.poll()
                self.snapshot()
        return self

    def until_listed(self, *, after_s=5):
        """Let time pass to so many seconds after the next list."""
        return self.run(LIST_S + after_s - (self.now // S) % LIST_S)

    def seen(self, seconds):
        """Return every verdict and cause of so long a time."""
        return {told(self.run(10)) for _ in range(seconds // 10)}


WELL = {(Verdict.HEALTHY, None)}


@pytest.mark.parametrize("lag_from", ["connect-offsets", "offset-syncs"])
@pytest.mark.parametrize("before_s", [3, 30, 55])
def test_what_was_replicated_before_the_topic_was_listed_counts_when_it_is(before_s, lag_from):
    one = Listed(lag_from).until_listed(after_s=LIST_S - before_s)
    one.make("brief")
    one.fill("brief", 10)
    assert one.seen(1000) == WELL
    (row,) = [row for row in one.flow_rows() if row["topic"] == "brief"]
    assert (row["next_offset"], row["lag_records"], row["reason"]) == (10, 0, "caught_up")


def test_a_new_topic_that_is_not_replicated_is_still_missed():
    one = Listed().until_listed()
    one.make("brief")
    one.write(10, "brief", copied=False)
    one.target_ends["A.brief", 0] = 1  # another's
    one.run(300)
    assert told(one) == (Verdict.STALLED, Cause.NOT_MIRRORED)


def test_one_list_that_lacks_it_is_not_believed():
    """A broker that has just begun knows less than the one that the mirror asked."""
    one = Listed().until_listed(after_s=50)
    one.make("brief")
    one.fill("brief", 10)
    one.a.note_topics({"orders": 1}, one.now + 5 * S)
    assert one.seen(600) == WELL


def test_what_a_compacted_topic_of_offsets_shows_topics_long_gone_is_forgotten():
    one = Listed()
    for number in range(500):
        one.flow.windows.take(f"gone{number}", 0, 99, one.now - 86_400 * S, live=False)
    one.flow.windows.take("brief", 0, 5_000, one.now - 3_600 * S, live=False)
    one.snapshot()
    assert [topic for topic, _, _ in one.flow.windows.slots()] == []
    one.run(30)
    one.make("brief")  # again
    one.fill("brief", 10)
    assert one.seen(600) == WELL


def test_topics_that_come_and_go_between_two_lists_are_forgotten_in_time():
    one = Listed()
    most = 0
    for number in range(300):
        one.make(f"t{number}")
        one.fill(f"t{number}", 10)
        one.run(1)
        one.delete(f"t{number}")
        one.poll()
        one.snapshot()
        most = max(most, len(list(one.flow.windows.slots())))
    assert most <= (LISTED_WITHIN_MS // S + LIST_S) + 2
    one.run(LISTED_WITHIN_MS // S + LIST_S + 10)
    assert [topic for topic, _, _ in one.flow.windows.slots()] == ["orders"]


def test_a_topic_of_which_no_id_was_read_is_forgotten_once_a_list_shows():
    one = Listed(reads_ids=False)
    one.make("brief")
    one.fill("brief", 10)
    one.until_listed()
    assert one.slot("brief") is not None
    one.delete("brief")
    one.until_listed()
    one.until_listed()
    assert one.slot("brief") is None


def test_a_topic_that_was_made_twice_before_it_was_listed_repeats_nothing():
    one = Listed().until_listed()
    one.make("brief")
    one.fill("brief", 100)
    one.run(10)
    one.delete("brief")
    one.run(10)
    one.make("brief")
    one.fill("brief", 10)
    assert one.seen(600) == WELL


@pytest.mark.parametrize("records", [10, 100])
@pytest.mark.parametrize("had", [0, 100])
def test_a_topic_that_was_gone_and_is_filled_before_it_is_listed_again_stands_for_nothing(had, records):
    one = Listed().until_listed()
    one.make("brief")
    if had:
        one.fill("brief", had)
    one.until_listed(after_s=15)  # its id is read
    one.delete("brief")
    one.until_listed(after_s=30)
    one.make("brief", "second")
    one.fill("brief", records)
    seen = one.seen(600)
    assert seen <= {*WELL, (Verdict.UNKNOWN, Cause.TOPIC_RECREATED)}
    assert told(one) == (Verdict.HEALTHY, None), one.verdict().sentence
    assert one.snapshot().findings == ()
    (row,) = [row for row in one.flow_rows() if row["topic"] == "brief"]
    assert (row["next_offset"], row["reason"]) == (records, "caught_up")


def test_what_is_skipped_of_a_topic_recreated_before_it_is_listed_again_is_found():
    one = Listed().until_listed()
    one.make("brief")
    one.fill("brief", 100)
    one.until_listed(after_s=15)  # its id is read
    one.delete("brief")
    one.until_listed(after_s=30)
    one.make("brief", "second")
    one.write(100, "brief", copied=False)
    one.fill("brief", 10)  # from N + 1 on
    one.run(200)
    assert told(one) == (Verdict.HEALTHY, None)
    found = [(each.code, each.topic, each.records) for each in one.snapshot().findings if each.proved]
    assert found == [(Cause.TOPIC_RECREATED, "brief", 100)]


def test_of_a_topic_that_is_back_without_an_id_only_what_was_written_since_counts():
    one = Listed().until_listed()
    for topic in ("brief", "quiet"):
        one.make(topic)
        one.fill(topic, 100)
    one.until_listed(after_s=15)  # their ids are read
    for topic in ("brief", "quiet"):
        one.delete(topic)
    one.until_listed(after_s=30)
    one._reads_ids = False
    one.make("brief")
    one.make("quiet")
    one.fill("brief", 10)
    one.until_listed()
    one.run(IDS_WITHIN_MS // S + 20)
    assert one.slot("quiet") is None
    assert one.flow.detectors.recreated._gone == RecreatedTopics()._gone == {}
    assert one.seen(300) == WELL
    assert [row["next_offset"] for row in one.flow_rows() if row["topic"] == "brief"] == [10]


@pytest.mark.parametrize(("topics", "every_s"), [(0, 10), (1000, 10), (6000, 60), (12_000, 120)])
def test_ids_of_many_topics_are_asked_for_more_rarely(topics, every_s):
    assert ids_every_s(topics) == pytest.approx(every_s)


def test_of_many_topics_one_that_is_back_waits_for_as_long_as_a_round_of_ids_takes(monkeypatch):
    monkeypatch.setattr(mirror_topics, "IDS_EVERY_S", 120.0)  # as for 12,000 topics
    one = Listed().until_listed()
    one.make("quiet")
    one.fill("quiet", 100)
    one.until_listed(after_s=15)  # its id is read
    one._reads_ids = False
    there = one.there
    one.there = {"orders": "first"}  # a broker that has just begun
    one.until_listed(after_s=5)
    one.there = there
    one.until_listed(after_s=55)
    seen = one.seen(120)
    one._reads_ids = True
    assert seen | one.seen(900) == WELL
    assert [row["next_offset"] for row in one.flow_rows() if row["topic"] == "quiet"] == [100]


def held(windows, topic="t"):
    rings, slot = windows.rings, windows.slot(topic, 0)
    return rings.offset[slot, rings.length - int(rings.filled[slot]) :].tolist()


def written(*offsets):
    """Return windows of one partition with these next offsets, five seconds apart."""
    windows = MirrorWindows()
    for number, offset in enumerate(offsets):
        windows.take("t", 0, offset - 1, NOW + number * 5 * S, live=True)
    return windows


def test_what_was_written_up_to_an_instant_is_forgotten_and_no_reset():
    windows = written(10, 20, 30)
    windows.settle(np.array([0]), np.array([35]))
    windows.forget_until([("t", 0), ("no such", 0)], NOW + 5 * S)
    assert (held(windows), int(windows.next_offset[0]), int(windows.rest[0])) == ([30], 30, -1)
    windows.forget_until([("t", 0)], NOW - 1)
    assert held(windows) == [30]
    windows.forget_until([("t", 0)], NOW + 10 * S)
    assert (windows.slot("t", 0), windows.resets) == (None, 0)
