"""All of one cluster together: commits and looks handed in, verdicts out."""

from __future__ import annotations

import numpy as np
import pytest

from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.cluster.marks import NEVER, TopicMarks
from lagmon.cluster.names import Places
from lagmon.cluster.state import ClusterLag
from lagmon.groups.rules.words import Reason, Status
from lagmon.logs.time_lag import LagKind

NOW = 1_790_000_000_000
S = 1000
MIN = 60 * S


class Desk:
    """A cluster with the topic t of two partitions, and what is read of it."""

    def __init__(self):
        self.lag = ClusterLag(wanted=lambda _group, _topic: True)
        self.lag.note_topics({"t": 2, "u": 1})
        self.lag.begin_commits(50)
        self.places = np.array(sorted(self.lag.places.of("t")), np.int32)

    def commit(self, group, partition, offset, *, ago_s, topic="t", live=True):
        at_ms = NOW - ago_s * S
        key, value = encode_commit_key(group, topic, partition), encode_commit_value(offset, at_ms)
        self.lag.intake.take([key], [value], read_ms=at_ms, live=live)

    def look(self, *ends, ago_s=0, stables=None):
        """Read the ends of both partitions of t."""
        values = np.array(ends, np.int64)
        self.lag.note_polled(
            self.places, values, values if stables is None else np.array(stables, np.int64), NOW - ago_s * S
        )

    def read_all(self, *, ago_s=0):
        """Have every commit read up to an instant."""
        for partition in range(50):
            self.lag.note_read(partition, NOW - ago_s * S)

    def reasons(self, group, *, now_ms=NOW):
        """Return the reason of each of the group's partitions."""
        view = self.lag.see(now_ms)
        found = {}
        for slot in self.lag.slots.of(group).tolist():
            name = self.lag.places.name(int(self.lag.slots.place[slot]))
            found[name] = Reason(int(view.rows.reason[slot]))
        return found

    def group(self, name):
        """Return the verdict on a group."""
        number = self.lag.slots.number(name)
        return self.lag.see(NOW).groups.row(number)


def test_a_group_that_reads_and_one_that_stopped_are_told_apart():
    desk = Desk()
    desk.look(100, 100, ago_s=200)
    for group in ("reads", "stopped"):
        for ago_s in (160, 155, 150):
            desk.commit(group, 0, 100 - ago_s // 5 + 30, ago_s=ago_s)
    desk.look(150, 100, ago_s=140)
    desk.commit("reads", 0, 150, ago_s=5)
    desk.look(150, 100)
    desk.read_all()
    assert desk.reasons("reads") == {("t", 0): Reason.CAUGHT_UP}
    assert desk.reasons("stopped") == {("t", 0): Reason.STOPPED}
    assert desk.group("stopped").status is Status.STOP
    assert desk.group("stopped").total_lag == 50
    assert desk.group("reads").total_lag == 0


def test_nothing_is_said_before_the_commits_are_read_and_the_ends_are_known():
    desk = Desk()
    desk.commit("g", 0, 10, ago_s=5)
    assert desk.reasons("g") == {("t", 0): Reason.NO_HEAD}
    desk.look(100, 100)
    assert desk.reasons("g") == {("t", 0): Reason.COMMITS_STALE}
    desk.read_all()
    assert desk.reasons("g", now_ms=NOW + 61 * S) == {("t", 0): Reason.HEAD_STALE}


def test_each_group_waits_for_its_own_partition_of_the_commits_only():
    desk = Desk()
    desk.look(100, 100)
    names = [f"group-{number}" for number in range(40)]
    for name in names:
        desk.commit(name, 0, 100, ago_s=1)
    desk.lag.note_read(7, NOW)
    known = [name for name in names if desk.reasons(name) == {("t", 0): Reason.CAUGHT_UP}]
    others = [name for name in names if desk.reasons(name) == {("t", 0): Reason.COMMITS_STALE}]
    assert sorted((*known, *others)) == sorted(names)
    assert len(others) > len(known)


def test_a_topic_made_anew_is_judged_from_its_next_commit_on():
    desk = Desk()
    assert desk.lag.note_id("t", "one", NOW - 100 * S) is False
    desk.look(100, 100, ago_s=90)
    desk.commit("g", 0, 90, ago_s=80)
    desk.commit("g", 1, 90, ago_s=80)
    assert desk.lag.note_id("t", "one", NOW - 70 * S) is False
    assert desk.lag.note_id("t", "two", NOW - 60 * S) is True
    desk.look(5, 5)
    desk.commit("g", 1, 5, ago_s=10)
    desk.read_all()
    assert desk.reasons("g") == {("t", 0): Reason.RECREATED, ("t", 1): Reason.CAUGHT_UP}


@pytest.mark.parametrize("offset", [5, 7, 10], ids=["the same", "a later one", "the end"])
def test_who_committed_before_the_new_id_was_seen_is_judged_by_what_is_committed_since(offset):
    """Which log the first of these commits was about is not known, and the old one's are no step back."""
    desk = Desk()
    desk.lag.note_id("t", "one", NOW - 200 * S)
    desk.look(100, 100, ago_s=190)
    for ago_s in (180, 160, 140, 120):
        desk.commit("g", 0, 280 - ago_s - 90, ago_s=ago_s)
    desk.commit("g", 0, 5, ago_s=70)  # of the new topic, before its id is looked at
    desk.lag.note_id("t", "two", NOW - 60 * S)
    desk.look(10, 10, ago_s=50)
    desk.read_all(ago_s=45)
    assert desk.reasons("g", now_ms=NOW - 45 * S) == {("t", 0): Reason.RECREATED}
    desk.commit("g", 0, offset, ago_s=40)
    desk.look(10, 10, ago_s=35)
    desk.look(12, 12, ago_s=20)
    desk.read_all(ago_s=20)
    assert desk.reasons("g", now_ms=NOW - 20 * S) == {("t", 0): Reason.ONE_COMMIT}
    desk.commit("g", 0, offset + 1, ago_s=15)
    desk.look(12, 12)
    desk.read_all()
    assert desk.reasons("g") == {("t", 0): Reason.MOVING}
    desk.commit("g", 0, offset - 2, ago_s=0)
    desk.look(12, 12)
    assert desk.reasons("g") == {("t", 0): Reason.REWOUND}  # which is one of the new log


def test_an_open_transaction_holds_up_nobody():
    desk = Desk()
    desk.look(100, 100, ago_s=300)
    desk.commit("g", 0, 100, ago_s=290)
    for ago_s in (200, 100, 1):
        desk.look(150, 100, ago_s=ago_s, stables=(100, 100))
    desk.read_all()
    assert desk.reasons("g") == {("t", 0): Reason.CAUGHT_UP}
    desk.look(150, 100)  # it ended just now: only from here on is there anything to read
    assert desk.reasons("g")[("t", 0)] not in {Reason.STOPPED, Reason.STALLED}


@pytest.mark.parametrize(("offset", "beyond"), [(100, 50), (130, 20)], ids=["committed", "uncommitted"])
def test_behind_an_open_transaction_the_time_lag_ends_at_the_last_stable_offset_too(offset, beyond):
    desk = Desk()
    desk.look(100, 100, ago_s=300)
    desk.commit("g", 0, offset, ago_s=199)
    for ago_s in (200, 100, 1):
        desk.look(150, 100, ago_s=ago_s, stables=(100, 100))
    desk.read_all()
    view = desk.lag.see(NOW)
    (slot,) = desk.lag.slots.of("g").tolist()
    assert (view.rows.lag[slot], view.lag_s[slot], view.lag_kind[slot]) == (0, 0.0, LagKind.EXACT)
    assert view.rows.sentence(slot).endswith(
        f"up to the last stable offset 100. {beyond} more offsets wait for an open transaction to end."
    )


class Hanging(Desk):
    """A transaction that is open at offset 100 of partition 0 since 1,000 s, while records come behind it."""

    def __init__(self, *, long_s=1000, alike=None, away_s=0, stops_s=0):
        super().__init__()
        self.look(100, 100, ago_s=long_s + 5)
        self.end = 101
        for ago_s in range(long_s, -1, -10):
            if 300 > ago_s > 300 - away_s:
                continue
            stables = (100, 100) if alike is None or ago_s > 20 else alike
            self.end = 101 + 10 * (long_s - ago_s)
            self.look(self.end, 100, ago_s=ago_s, stables=stables)
            self.commit("committed", 0, 100, ago_s=max(0, ago_s - 4))
            if ago_s >= stops_s:
                self.commit("all", 0, self.end, ago_s=max(1, ago_s - 4))
        self.read_all()


def test_who_reads_committed_records_stalls_where_a_transaction_hangs_and_who_reads_all_does_not():
    desk = Hanging()
    assert desk.reasons("committed") == {("t", 0): Reason.HELD}
    assert desk.reasons("all") == {("t", 0): Reason.CAUGHT_UP}
    assert desk.group("committed").status is Status.STALL
    view = desk.lag.see(NOW)
    (slot,) = desk.lag.slots.of("committed").tolist()
    assert (view.rows.lag[slot], view.lag_s[slot]) == (0, 0.0)  # as before it counted as hanging
    assert view.rows.sentence(slot) == (
        "A transaction has been open at offset 100 for 16 min 40 s (seen since 2026-09-21 13:56:40 UTC), longer"
        " than brokers allow: it hangs. Consumers of committed records cannot pass it: the group is at offset"
        " 100, up to 10,001 records wait behind it. Find and abort the transaction with kafka-transactions.sh."
    )
    desk.look(desk.end, 100)  # it is aborted
    assert desk.reasons("committed")[("t", 0)] not in {Reason.HELD, Reason.CAUGHT_UP}


def test_a_transaction_that_may_still_end_by_itself_holds_nobody():
    assert Hanging(long_s=920).reasons("committed") == {("t", 0): Reason.CAUGHT_UP}


def test_a_look_without_an_answer_about_transactions_does_not_tell_that_one_hangs():
    assert Reason.HELD not in Hanging(alike=(-1, -1)).reasons("committed").values()


@pytest.mark.parametrize("ago_s", [0, 7])
def test_who_reads_all_and_stops_has_stopped_while_a_transaction_hangs(ago_s):
    """Also in between two looks; and as soon as the group moves, it is well."""
    desk = Hanging(long_s=1200, stops_s=300)
    assert desk.reasons("all", now_ms=NOW + ago_s * S) == {("t", 0): Reason.STOPPED}
    desk.commit("all", 0, desk.end - 1500, ago_s=0)
    assert desk.reasons("all", now_ms=NOW + ago_s * S) == {("t", 0): Reason.MOVING}


def test_who_reads_all_and_is_near_the_end_may_have_nothing_to_read():
    """What is behind it may be markers alone, which nobody looks for past the last stable offset."""
    assert Hanging(stops_s=100).reasons("all") == {("t", 0): Reason.CAUGHT_UP}


def test_a_transaction_is_not_said_to_hang_where_brokers_were_away_and_could_not_end_it():
    assert Hanging(long_s=1300, away_s=200).reasons("committed") == {("t", 0): Reason.CAUGHT_UP}
    assert Hanging(long_s=1300, away_s=150).reasons("committed") == {("t", 0): Reason.HELD}


def test_how_long_a_transaction_may_be_open_is_for_the_operator_to_say():
    lag = ClusterLag(wanted=lambda *_: True, longest_transaction_ms=60 * MIN)
    lag.note_topics({"t": 1})
    place = np.array(lag.places.of("t"), np.int32)
    for ago_s in range(3900, -1, -10):
        lag.note_polled(place, np.array([5000 - ago_s]), np.array([100]), NOW - ago_s * S)
        is_over = ago_s < 3900 - 3600 - 30
        assert (lag.hangs_since_ms(place, NOW - ago_s * S)[0] >= 0) == is_over, ago_s


@pytest.mark.parametrize("every", [1, 6])
def test_a_group_that_is_dead_has_stopped_also_where_a_transaction_is_open_at_each_look(every):
    desk = Desk()
    for look in range(40):
        ago_s, end = 400 - 10 * look, 1000 * (look + 1)
        if look < 20:
            desk.commit("g", 0, max(0, end - 1100), ago_s=ago_s + 1)
        desk.look(end, 100, ago_s=ago_s, stables=(end - 50 if look % every == 0 else end, 100))
    desk.look(41_000, 100, stables=(40_950, 100))
    desk.read_all()
    assert desk.reasons("g") == {("t", 0): Reason.STOPPED}


def test_who_waited_for_one_transaction_has_not_stopped_where_the_next_is_open_already():
    desk = Desk()
    desk.look(100, 100, ago_s=400)
    for ago_s in (395, 390, 385):
        desk.commit("g", 0, 485 - ago_s, ago_s=ago_s)
    for ago_s in range(300, 20, -10):
        desk.look(900 - ago_s, 100, ago_s=ago_s, stables=(100, 100))
    for ago_s in (20, 10, 0):
        desk.look(900 - ago_s, 100, ago_s=ago_s, stables=(880 - ago_s, 100))
    desk.read_all()
    assert desk.reasons("g")[("t", 0)] not in {Reason.STOPPED, Reason.STALLED}


def test_nothing_is_said_of_a_group_where_last_stable_offsets_are_not_read_any_more():
    """It would stand at the last of them, with nothing to read, for ever."""
    desk = Desk()
    desk.look(100, 100, ago_s=120)
    desk.commit("g", 0, 100, ago_s=110)
    for ago_s in range(100, 0, -10):
        desk.look(300 - ago_s, 100, ago_s=ago_s, stables=(-1, 100))
    desk.commit("h", 0, 90, ago_s=5)
    desk.commit("i", 1, 100, ago_s=5)
    desk.read_all()
    assert desk.reasons("g") == desk.reasons("h") == {("t", 0): Reason.HEAD_STALE}
    assert desk.reasons("i") == {("t", 1): Reason.CAUGHT_UP}
    desk.look(300, 100, stables=(300, 100))
    assert desk.reasons("g") == {("t", 0): Reason.STOPPED}


def test_where_a_last_stable_offset_was_never_read_nobody_knows_what_can_be_read():
    desk = Desk()
    desk.look(100, 100, stables=(-1, 100))
    desk.commit("g", 0, 90, ago_s=0)
    desk.read_all()
    assert desk.reasons("g") == {("t", 0): Reason.NO_HEAD}
    desk.look(-1, 100, stables=(-1, 100))
    desk.look(110, 100, stables=(100, 100))
    assert desk.reasons("g")[("t", 0)] is not Reason.NO_HEAD


def test_a_topic_that_went_away_takes_its_offsets_with_it():
    desk = Desk()
    desk.look(100, 100)
    desk.commit("g", 0, 90, ago_s=5)
    desk.commit("g", 0, 3, ago_s=5, topic="u")
    assert desk.lag.watched_topics() == ["t", "u"]
    assert desk.lag.note_topics({"u": 1}) == ["t"]
    assert list(desk.reasons("g")) == [("u", 0)]
    assert desk.lag.slots.used == 1


@pytest.mark.parametrize(
    ("before", "after", "lost"), [("one", "one", True), (None, "one", True), ("one", "two", False)]
)
def test_what_was_committed_to_a_topic_that_was_only_hidden_is_to_be_read_again(before, after, lost):
    desk = Desk()
    if before is not None:
        desk.lag.note_id("t", before, NOW)
    desk.commit("g", 0, 90, ago_s=5)
    desk.lag.note_topics({"u": 1})
    desk.lag.note_topics({"t": 2, "u": 1})
    assert desk.lag.watched_topics() == ["t"]
    desk.lag.note_id("t", after, NOW)
    assert desk.lag.positions_lost is lost
    desk.lag.begin_commits(50)
    desk.lag.note_id("t", after, NOW)
    assert desk.lag.positions_lost is False


def test_a_topic_that_nobody_read_is_no_reason_to_read_commits_again():
    desk = Desk()
    desk.lag.note_id("u", "one", NOW)
    desk.commit("g", 0, 90, ago_s=5)
    desk.lag.note_topics({"t": 2})
    desk.lag.note_topics({"t": 2, "u": 1})
    desk.lag.note_id("u", "one", NOW)
    assert desk.lag.positions_lost is False


def test_of_topics_that_went_away_no_more_are_remembered_than_a_few_thousand():
    marks = TopicMarks()
    names = [f"t{number}" for number in range(10_005)]
    marks.forget(names, [], read=set(names))
    assert list(marks.gone_ids) == names[5:]


def test_what_a_clock_that_was_ahead_has_marked_is_taken_up_as_of_now():
    marks = TopicMarks()
    held = [(NOW + S, 7, NOW + 1), (NOW - S, 8, NOW - MIN), NEVER]
    marks.take_up([0, 1, 2], [NOW + S, NOW - S, -1], held, now_ms=NOW)
    assert marks.of([0, 1, 2]) == ([NOW, NOW - S, -1], [(NOW, 7, NOW), *held[1:]])


def test_a_topic_that_one_list_lacks_keeps_all_and_no_room_is_made_for_it():
    desk = Desk()
    desk.commit("g", 0, 90, ago_s=5)
    desk.commit("g", 0, 3, ago_s=5, topic="new")
    assert desk.lag.lacking({"u": 1}) == {"t", "new"}
    assert desk.lag.note_topics({"u": 1}, lacking={"t", "new"}) == []
    assert (desk.lag.slots.used, desk.lag.topics) == (2, {"u": 1, "t": 2})
    assert desk.lag.places.listed == 3
    assert desk.lag.note_topics({"u": 1}) == ["new", "t"]


def test_no_groups_at_all_is_no_trouble():
    desk = Desk()
    view = desk.lag.see(NOW)
    assert (len(view.rows.reason), len(view.groups.status)) == (0, 0)


def test_the_topics_that_groups_read_are_told_once_each_and_without_those_of_nobody():
    claimed = iter(range(1000))
    places = Places(lambda count: np.array([next(claimed) for _ in range(count)], np.int32), lambda _: None)
    of = {name: places.take(name, 1) for name in ("t", "u", "v")}
    assert places.topics_of(np.array([of["v"], -1, of["t"], of["v"]], np.int32)) == {"t", "v"}
    assert places.topics_of(np.array([-1], np.int32)) == set()
    assert places.topics_of(np.zeros(0, np.int32)) == set()


def test_a_group_whose_commits_are_not_read_up_to_now_has_not_stopped_meanwhile():
    """What delays the reading by less than a minute is no reason for an alarm."""
    desk = Desk()
    for ago_s in range(200, 0, -10):
        desk.look(1000 - ago_s, 100, ago_s=ago_s)
    for ago_s in range(190, 60, -10):
        desk.commit("g", 0, 985 - ago_s, ago_s=ago_s)
    desk.read_all(ago_s=58)  # since then it may have committed, unread
    assert desk.reasons("g")[("t", 0)] is Reason.PAUSING
    desk.read_all()
    assert desk.reasons("g")[("t", 0)] is Reason.STOPPED


def test_thousands_of_topics_that_go_at_once_are_forgotten_together(monkeypatch):
    lag, dropped = ClusterLag(wanted=lambda *_: True), []
    lag.note_topics({f"t{number}": 1 for number in range(50)})
    keys = [encode_commit_key("g", f"t{number}", 0) for number in range(50)]
    lag.intake.take(keys, [encode_commit_value(5, NOW)] * 50, read_ms=NOW, live=True)
    clear, drop_places = lag.rings.clear, lag.intake.drop_places
    monkeypatch.setattr(
        type(lag.intake), "drop_places", lambda _, places: dropped.append(drop_places(places))
    )
    monkeypatch.setattr(lag.rings, "clear", lambda slots: (dropped.append("cleared"), clear(slots)))
    assert len(lag.note_topics({"t0": 1})) == 49
    assert dropped == ["cleared", 49]
    assert lag.slots.used == 1
    dropped.clear()
    lag.begin_commits(1)
    assert (dropped, lag.slots.used) == (["cleared"], 0)


def test_commits_for_partitions_that_no_topic_has_take_no_room_without_end():
    """Brokers take them: one client could fill the memory with forty of them."""
    lag = ClusterLag(wanted=lambda *_: True)
    lag.note_topics({"a": 1, "b": 1, "c": 2})
    keys = [encode_commit_key("g", topic, 100_000) for topic in "abc"]
    for _ in range(2):
        lag.intake.take(keys, [encode_commit_value(5, NOW)] * 3, read_ms=NOW, live=True)
    assert (lag.intake.taken.commits, lag.intake.taken.absurd) == (2, 4)
    lag.intake.take([encode_commit_key("g", "c", 1)], [encode_commit_value(5, NOW)], read_ms=NOW, live=True)
    assert lag.intake.taken.commits == 3  # it is there
    lag.note_topics({"b": 1, "c": 2})
    lag.intake.take(keys[1:], [encode_commit_value(5, NOW)] * 2, read_ms=NOW, live=True)
    assert (lag.intake.taken.commits, lag.intake.taken.absurd) == (4, 5)  # room for one again
