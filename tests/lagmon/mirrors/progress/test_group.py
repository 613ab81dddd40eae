"""A mirror judged by the commits of its consumer group: of which group, how fresh, and the sentence if none."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.mm2.filters import PatternList
from fleet.verdicts.flow import Flow
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.wire.commit_records import GroupDescribed, Member
from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.burrow.documents import listed_groups, status_document
from lagmon.cluster.state import ClusterLag
from lagmon.exposition.format import Form
from lagmon.exposition.lag_metrics import LagMetrics
from lagmon.groups.rows import partition_rows
from lagmon.groups.rules.words import Status
from lagmon.ingest.admin_intake import AdminIntake
from lagmon.ingest.orders import Orders, read_orders, write_orders
from lagmon.mirrors.answers.orders import order_of
from lagmon.mirrors.progress.group import HOLD_MS, GroupProgress
from lagmon.mirrors.progress.group_sentences import close_to, none_of_topics
from tests.lagmon.mirror_flows import NOW, Mirrored, S, told

HOMES = 50  # partitions of __consumer_offsets


class Grouped(Mirrored):
    """A mirror that reads as groups of a pattern; the broker's clock is `skew_ms` before ours."""

    def __init__(self, topics=None, *, group="mm1-.*", skew_ms=0, **other):
        super().__init__(topics, lag_from="group", group=group, **other)
        self.skew_ms = skew_ms
        self.progress = GroupProgress(self.flow)
        self.a.note_topics({**self.a.topics, "__consumer_offsets": HOMES})
        self.a.begin_commits(HOMES)
        self.read()

    def read(self):
        """Have read every commit up to now."""
        for home in range(HOMES):
            self.a.note_read(home, self.now)

    def commit(self, group="mm1-a", topic="orders", partition=0, *, to=None, live=True):
        """Let a group commit up to, and not including, `to`, or to the end."""
        to = self.ends[topic, partition] if to is None else to
        self.put(group, topic, partition, encode_commit_value(to, self.now - self.skew_ms), live=live)

    def put(self, group, topic, partition, value, *, live=True):
        self.a.intake.take([encode_commit_key(group, topic, partition)], [value], read_ms=self.now, live=live)

    def members(self, group, *ids):
        """Let a group have these members and no others."""
        members = tuple(Member(one, None, one, "/192.0.2.1", {}, ()) for one in ids)
        self.a.membership.take(GroupDescribed(group, "consumer", 1, None, None, None, members))

    def poll(self, *, starts=True):
        super().poll(starts=starts)
        self.flow.read_to_ms = -1
        self.read()
        self.progress.follow(self.now)

    def snapshot(self):
        self.progress.follow(self.now)
        return super().snapshot()


@pytest.fixture
def mm1():
    """Give a mirror with one group that has kept up for a minute in two partitions."""
    one = Grouped()
    one.poll()
    return one.go(60, each=lambda: busy(one))


def busy(one, *, partitions=(0, 1), commits=(0, 1), copied=True, group="mm1-a"):
    for partition in partitions:
        one.write(100, partition=partition, copied=copied)
    for partition in commits:
        one.commit(group, partition=partition)


def test_a_group_that_keeps_up_is_a_mirror_without_lag(mm1):
    assert told(mm1) == (Verdict.HEALTHY, None)
    assert mm1.verdict().lag == 0
    assert mm1.flow.groups == ("mm1-a",)
    assert mm1.verdict().sentence.startswith(
        "Lag 0 records on 2 partitions when the group mm1-a last committed (every"
    )


@pytest.mark.parametrize("skew_s", [-3_600, 0, 3_600])
def test_lag_is_that_of_the_time_of_the_commit_whatever_the_broker_takes_for_the_time(skew_s):
    one = Grouped(skew_ms=skew_s * S)
    one.poll()

    def behind():
        busy(one, commits=(1,))
        one.commit(to=max(0, one.ends["orders", 0] - 700))

    one.go(120, each=behind)
    assert told(one) == (Verdict.HEALTHY, None)
    assert one.verdict().lag == pytest.approx(700, abs=5)
    assert one.verdict().lag_s == pytest.approx(7, abs=0.2)


def test_a_stalled_group_is_a_stalled_mirror_and_healthy_when_it_goes_on(mm1):
    causes = set()
    for _ in range(20):
        mm1.go(5, each=lambda: busy(mm1, commits=(), copied=False), poll=5)
        causes.add(told(mm1))
    assert causes == {(Verdict.HEALTHY, None), (Verdict.STALLED, Cause.MIRROR_DOWN)}
    assert mm1.verdict().lag == 20_000
    mm1.go(30, each=lambda: busy(mm1))
    assert told(mm1) == (Verdict.HEALTHY, None)


def test_a_quiet_tail_is_a_stall_if_it_holds_records(mm1):
    mm1.write(40, copied=False)
    mm1.go(180, each=lambda: busy(mm1, partitions=(1,), commits=(1,)))
    assert told(mm1) == (Verdict.STALLED, Cause.TASK_STUCK)
    assert mm1.verdict().lag == 40


def test_a_marker_after_the_last_record_is_no_lag_although_no_group_commits_behind_it(mm1):
    mm1.write(1, record=False)
    for _ in range(30):
        mm1.go(10, each=lambda: busy(mm1, partitions=(1,), commits=(1,)))
        assert told(mm1) == (Verdict.HEALTHY, None)
    assert mm1.verdict().lag == 0


def test_a_mirror_that_replicates_and_does_not_commit_is_not_taken_for_a_stalled_one(mm1):
    mm1.go(60, each=lambda: busy(mm1, commits=()))
    assert told(mm1) == (Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING)


def test_a_mirror_that_chooses_partitions_by_key_and_does_not_commit_is_not_stalled(mm1):
    def elsewhere():
        busy(mm1, commits=(), copied=False)
        mm1.target_ends["A.orders", 1] += 200

    mm1.go(60, each=elsewhere)
    assert told(mm1) == (Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING)


def test_records_of_other_partitions_do_not_hide_that_one_is_stuck(mm1):
    def spread():  # each record of partition 1 arrives in either
        busy(mm1, commits=(1,), copied=False)
        for partition in (0, 1):
            mm1.target_ends["A.orders", partition] += 50

    mm1.go(120, each=spread)
    assert told(mm1) == (Verdict.STALLED, Cause.TASK_STUCK)


def test_offsets_that_are_set_back_are_records_that_are_replicated_again(mm1):
    back = mm1.ends["orders", 0] - 3000
    mm1.go(1)
    mm1.commit(to=back)
    mm1.target_ends["A.orders", 0] += 3000
    mm1.go(9, each=lambda: busy(mm1, commits=(1,)), poll=3)
    assert told(mm1) == (Verdict.REPEATING, Cause.DUPLICATING)
    assert f"went back from offset 6000 to {back}" in mm1.verdict().sentence


def test_each_topic_may_have_a_group_of_its_own():
    one = Grouped({"orders": 1, "bills": 1})
    one.poll()

    def each():
        for topic in ("orders", "bills"):
            one.write(10, topic=topic)
            one.commit(f"mm1-{topic}", topic=topic)

    one.go(60, each=each)
    assert told(one) == (Verdict.HEALTHY, None)
    assert one.flow.groups == ("mm1-bills", "mm1-orders")
    assert "the groups mm1-bills, mm1-orders last committed" in one.verdict().sentence
    assert one.flow.note == ""


def test_offsets_on_topics_that_are_not_mirrored_are_skipped(mm1):
    mm1.ends["A.orders", 0] = 10  # as one that came from the other side is not
    mm1.a.note_topics({**mm1.a.topics, "A.orders": 1, "B.orders": 1})
    mm1.put("mm1-a", "B.orders", 0, encode_commit_value(3, mm1.now))
    mm1.progress.follow(mm1.now)
    assert mm1.flow.windows.slot("B.orders", 0) is None
    assert mm1.flow.windows.slot("orders", 0) is not None


def test_a_topic_that_is_listed_only_after_its_commit_is_followed(mm1):
    mm1.put("mm1-a", "bills", 0, encode_commit_value(3, mm1.now))
    mm1.progress.follow(mm1.now)
    assert mm1.flow.windows.slot("bills", 0) is None
    mm1.a.note_topics({**mm1.a.topics, "bills": 1})
    mm1.progress.follow(mm1.now)
    assert mm1.flow.windows.slot("bills", 0) is not None


# --- a partition in several groups


def test_of_two_groups_the_one_with_members_is_counted():
    one = Grouped()
    one.members("mm1-b", "m")
    one.ends["orders", 0] = 100
    one.commit("mm1-a", to=90)
    one.commit("mm1-b", to=40)
    one.poll()
    assert one.flow.windows.next_offset[one.slot()] == 40
    one.members("mm1-b")
    one.members("mm1-a", "m")
    one.now += S
    one.commit("mm1-a", to=95)
    one.poll()
    assert one.flow.windows.next_offset[one.slot()] == 95


def test_of_two_groups_at_work_one_stays_counted_and_no_step_back_comes_of_it(mm1):
    def both():
        busy(mm1)
        mm1.commit("mm1-audit", to=10)

    for _ in range(60):
        mm1.go(10, each=both)
        assert told(mm1) == (Verdict.HEALTHY, None)
    assert mm1.flow.groups == ("mm1-a",)
    assert mm1.verdict().sentence.endswith(
        "orders-0 has offsets of 2 groups that match, mm1-a, mm1-audit; mm1-a is counted. Where not all of them "
        "are this mirror's, narrow flows.A->B.group."
    )


def test_the_group_of_a_mirror_that_got_another_is_counted_after_a_while_and_starts_again(mm1):
    def other():
        busy(mm1, commits=())
        for partition in (0, 1):
            mm1.commit("mm1-new", partition=partition, to=mm1.ends["orders", partition] - 50)

    mm1.go(HOLD_MS // S - 10, each=other)
    assert mm1.flow.groups == ("mm1-a",)
    seen = set()
    for _ in range(8):
        mm1.go(10, each=other)
        seen.add(mm1.verdict().verdict)
    assert mm1.flow.groups == ("mm1-new",)
    assert told(mm1) == (Verdict.HEALTHY, None)
    assert Verdict.REPEATING not in seen


# --- none, gone, or not read


def test_without_a_group_that_matches_the_names_that_come_close_are_reported():
    one = Grouped(group="mirormaker-.*")
    for group in ("mirrormaker-eu", "billing"):
        one.commit(group, to=0)
    one.poll()
    assert told(one) == (Verdict.UNKNOWN, None)
    assert one.verdict().sentence == (
        "No group on A with an offset matches mirormaker-.*: the mirror has replicated nothing yet, or its group "
        "has another name (flows.A->B.group). Close to it: mirrormaker-eu."
    )


def test_a_group_without_an_offset_on_a_topic_of_the_flow_is_reported():
    one = Grouped({"orders": 1, "B.orders": 1}, target={"A.orders": 1})
    one.commit(topic="B.orders", to=0)
    one.poll()
    assert one.verdict().sentence.startswith(
        "The group mm1-a on A, by the pattern mm1-.*: no offset on a topic"
    )


def test_a_group_that_was_deleted_is_not_known_any_more(mm1):
    for partition in (0, 1):
        mm1.put("mm1-a", "orders", partition, None)
    mm1.poll()
    assert told(mm1) == (Verdict.UNKNOWN, None)
    assert mm1.verdict().sentence.startswith("No group on A with an offset matches mm1-.*")
    assert mm1.flow.groups == ()


def test_a_cluster_without_any_commit_says_so():
    one = Grouped()
    one.a.note_topics({"orders": 2})
    one.a.begin_commits(HOMES)
    one.progress.follow(one.now)
    assert one.verdict().sentence == (
        "No group has ever committed on A: the mirror has replicated nothing yet."
    )


def test_commits_that_are_read_again_take_nothing_away_and_nothing_twice(mm1):
    before = [row.tolist() for row in mm1.flow.windows.rings.offset[:2]]
    mm1.a.begin_commits(HOMES)
    mm1.progress.follow(mm1.now)
    mm1.commit(partition=1, live=False)  # in another order
    mm1.progress.follow(mm1.now)
    mm1.commit(live=False)
    assert [row.tolist() for row in mm1.flow.windows.rings.offset[:2]] == before
    mm1.read()
    mm1.progress.follow(mm1.now)
    assert [row[-1] for row in mm1.flow.windows.rings.offset[:2].tolist()] == [6000, 6000]
    assert mm1.flow.windows.resets == 0
    mm1.go(30, each=lambda: busy(mm1))
    assert told(mm1) == (Verdict.HEALTHY, None)


def test_commits_that_are_not_read_any_more_are_not_known_and_never_a_stall(mm1):
    mm1.write(500, copied=False)
    mm1.poll()
    seen = set()
    for _ in range(20):
        mm1.now += 5 * S
        Mirrored.poll(mm1)  # at the logs; the commits are not read on
        mm1.progress.follow(mm1.now)
        verdict = mm1.verdict()
        seen.add(verdict.verdict)
    assert seen == {Verdict.HEALTHY, Verdict.UNKNOWN}
    assert verdict.status is Status.UNKNOWN


def test_what_was_there_before_us_is_a_window_too():
    one = Grouped()
    for second in range(60):
        one.now += S
        one.write(100)
        if second % 10 == 5:
            one.commit(live=False)
    one.poll()
    slot = one.slot()
    assert one.flow.windows.rings.filled[slot] == 6
    assert one.flow.windows.committed_ms[slot] == one.now - 4 * S


# --- groups that are not told of


def orders(**topics):
    return Orders(
        socket=Path("x"),
        clients={},
        burrow_names={},
        groups=PatternList(".*"),
        groups_exclude=PatternList("mm1-.*"),
        per_partition=False,
        max_series=1,
        log_level="info",
        log_format="text",
        mirrors=(order_of(Flow("A", "B"), lag_from="group", group="mm1-a"),),
        **{key: PatternList(text) for key, text in topics.items()},
    )


def test_a_mirror_s_group_is_read_where_groups_leave_it_out_and_only_on_its_source():
    told = orders()
    assert told.wanted("A", "mm1-a", "orders")
    assert not told.wanted("B", "mm1-a", "orders")
    assert not told.wanted("A", "mm1-b", "orders")
    assert told.wanted("B", "billing", "orders")
    assert (told.hidden("mm1-a", "orders"), told.hidden("billing", "orders")) == (True, False)


def test_topics_that_are_skipped_are_those_of_groups_and_not_of_mirrors():
    told = orders(topics="orders.*, bills", topics_exclude=r"orders\.old")
    for topic, shown in [("orders", True), ("orders.new", True), ("orders.old", False), ("x-orders", False)]:
        assert told.wanted("A", "billing", topic) is shown
        assert told.hidden("billing", topic) is not shown
        assert told.wanted("A", "mm1-a", topic)
        assert told.wanted("B", "mm1-a", topic) is False
    assert told.wanted("A", "billing", None)  # on any
    assert not told.wanted("A", "mm1-b", None)
    assert not told.hidden("billing", None)
    assert told.hidden("mm1-a", None)


def test_orders_have_the_topics():
    said = {"burrow_names": {}, "groups": ".*", "groups_exclude": "", "per_partition": False}
    said |= {"max_series": 1, "log_level": "info", "log_format": "text", "secrets": frozenset()}
    told = read_orders({**write_orders({}, topics="a.*", topics_exclude="ab", **said), "socket": "x"})
    assert [told.wanted("A", "g", topic) for topic in ("aa", "ab", "b")] == [True, False, False]
    every = read_orders({**write_orders({}, **said), "socket": "x"})
    assert every.wanted("A", "g", "b")


def test_a_group_whose_topics_are_partly_skipped_shows_the_mirror_by_all_of_them():
    one = Grouped({"orders": 2, "audit": 1}, group="mm1-a")
    by = replace(orders(topics_exclude="audit"), groups_exclude=PatternList(""))  # its group is shown
    one.a = one.flow.source = ClusterLag(wanted=partial(by.wanted, "A"), hidden=by.hidden)
    one.progress = GroupProgress(one.flow)
    one.a.note_topics({"orders": 2, "audit": 1, "__consumer_offsets": HOMES})
    one.a.begin_commits(HOMES)
    one.poll()

    def work():
        for topic, partition in one.ends:
            one.write(100, topic, partition)
            one.commit("mm1-a", topic, partition)
        one.commit("billing", "audit")
        one.commit("billing", "orders")

    one.go(60, each=work)
    assert sorted(name for _, name in one.a.slots.groups()) == ["billing", "mm1-a"]
    for group in ("billing", "mm1-a"):
        rows, _ = partition_rows(one.a, one.a.see(one.now), group)
        assert {row["topic"] for row in rows} == {"orders"}
        document = status_document(one.a, "A", group, now_ms=one.now, every_partition=True)
        assert {part["topic"] for part in document["partitions"]} == {"orders"}
    assert listed_groups(one.a, now_ms=one.now, topic="audit") == []
    telling = LagMetrics({"A": one.a}, per_partition=True, max_series=100)
    text = b"".join(telling.tell({"A": one.a.see(one.now)}, Form.PLAIN)).decode()
    assert 'group="mm1-a",topic="orders",partition="1"' in text
    assert "audit" not in text
    assert set(one.progress._held) == {("orders", 0), ("orders", 1), ("audit", 0)}
    assert (told(one), one.flow.groups) == ((Verdict.HEALTHY, None), ("mm1-a",))


def test_a_hidden_group_is_not_among_groups_and_shows_the_mirror_all_the_same():
    one = Grouped()
    one.a = one.flow.source = ClusterLag(
        wanted=lambda *_: True, hidden=lambda group, _topic: group == "mm1-a"
    )
    one.progress = GroupProgress(one.flow)
    one.a.note_topics({"orders": 2, "__consumer_offsets": HOMES})
    one.a.begin_commits(HOMES)
    one.poll()
    one.go(30, each=lambda: (busy(one), one.commit("billing")))
    assert [name for _, name in one.a.slots.groups()] == ["billing"]
    assert one.a.slots.number("mm1-a") is None
    assert len(one.a.slots.of("mm1-a")) == 0
    for topic in (None, "orders"):
        assert listed_groups(one.a, now_ms=one.now, topic=topic) == ["billing"]
    assert status_document(one.a, "A", "mm1-a", now_ms=one.now, every_partition=True)["status"] == "NOTFOUND"
    telling = LagMetrics({"A": one.a}, per_partition=True, max_series=100)
    text = b"".join(telling.tell({"A": one.a.see(one.now)}, Form.PLAIN)).decode()
    assert 'group="billing",topic="orders",partition="0"' in text
    assert "mm1-a" not in text
    assert told(one) == (Verdict.HEALTHY, None)
    assert one.flow.groups == ("mm1-a",)


def test_a_group_that_has_a_number_for_what_is_hidden_too_is_named_once():
    said = none_of_topics(order_of(Flow("A", "B"), lag_from="group", group="mm1"), ["mm1", "mm1"])
    assert said.startswith("The group mm1 on A, by the pattern mm1: ")


# --- names that come close


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("mm1-.*", ("mm1-eu", "x-mm1-us")),
        ("MM1.*", ("mm1-eu", "x-mm1-us")),
        ("replikator, mm1-e[uw]", ("replicator-orders", "mm1-eu")),
        (".*", ()),
        ("zzzz", ()),
    ],
)
def test_close_names(pattern, found):
    assert close_to(pattern, ["billing", "mm1-eu", "replicator-orders", "x-mm1-us"]) == found


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 50), st.integers(0, 200)), max_size=40))
def test_a_window_is_of_one_group_alone(commits):
    """Whatever two groups commit, and when: what the flow holds are commits of the group that it names."""
    one = Grouped({"orders": 1})
    one.ends["orders", 0] = 1000
    made = {"mm1-a": set(), "mm1-b": set()}
    for group, number, wait_s in commits:
        one.now += wait_s * S
        offset = 2 * number + (group == "b")  # even ones are of one, odd ones of the other
        one.commit(f"mm1-{group}", to=offset)
        made[f"mm1-{group}"].add(offset)
        one.poll()
        rings, slot = one.flow.windows.rings, one.slot()
        (held,) = one.flow.groups
        window = rings.offset[slot, rings.length - int(rings.filled[slot]) :].tolist()
        times = rings.committed_ms[slot, rings.length - len(window) :].tolist()
        assert set(window) <= made[held]
        assert times == sorted(times)
        assert window[-1] == one.a.rings.offset[one.a.slots.of(held)[0], -1]


# --- by the Admin API, which tells no times of commits


class Asked(Grouped):
    """The same mirror where its group is asked for each minute."""

    def __init__(self):
        super().__init__()
        self.asking = AdminIntake(self.a)
        self.asking.begin()
        self.asking.allow_for(60.0)
        self.places = {}

    def commit(self, group="mm1-a", topic="orders", partition=0, *, to=None, live=True):
        assert (group, live) == ("mm1-a", True)
        self.places[topic, partition] = self.ends[topic, partition] if to is None else to

    def read(self):
        """Read no commits: there is nothing but the answers."""

    def poll(self, *, starts=True):
        if (self.now - NOW) % 60_000 == 0:
            told = [(*place, offset) for place, offset in self.places.items()]
            self.asking.take_offsets("mm1-a", told, asked_ms=self.now - 20, answered_ms=self.now)
        super().poll(starts=starts)


def test_a_group_that_is_asked_for_each_minute_is_judged_at_that_pace_and_in_these_words():
    one = Asked()
    one.poll()
    one.go(240, each=lambda: busy(one))
    seen = set()
    for _ in range(30):
        one.go(10, each=lambda: busy(one))
        seen.add(told(one))
    assert seen == {(Verdict.HEALTHY, None)}
    said = one.verdict().sentence
    assert "the group mm1-a was last seen to move (every 1 min, asked" in said
    stood = one.now
    while told(one)[0] is Verdict.HEALTHY:
        one.go(10, each=lambda: busy(one, commits=(), copied=False))
        assert one.now - stood < 400 * S
    assert told(one) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    assert one.now - stood > 150 * S
    (row, _) = one.flow_rows()
    assert "the Admin API has returned the same offset" in row["sentence"]
    for words in (said, row["sentence"]):
        assert "commit" not in words


def test_the_default_is_all_names_those_with_a_line_s_end_too():
    assert not orders().hidden("two\nlines", "a\ntopic")
    assert orders(topics="a.*").hidden("two\nlines", "a\ntopic")  # as Java matches what is written
