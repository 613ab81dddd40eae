"""A family of series: who is told, in which order, and what the cap leaves out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from fleet.series.catalogue import CANARY_LATENCY_SECONDS
from fleet.series.kinds import Group, Kind, Series, Unit
from fleet.series.lag import (
    COMMITS_CONSUMED_TOTAL,
    GROUP_PARTITION_LAG_RECORDS,
    GROUP_TOPIC_LAG_RECORDS,
    REPLICATION_TOPIC_LAG_SECONDS,
    TOPIC_RECREATED_TOTAL,
)
from lagmon.exposition import family as exposition_family
from lagmon.exposition.family import CHUNK_BYTES, Family
from lagmon.exposition.format import Form, header

LONELY = Series(
    name="lonely", kind=Kind.GAUGE, unit=Unit.SERIES, group=Group.SERVICE, help="One number, no labels."
)


def lines(family, values, form=Form.PLAIN):
    """Return the lines after the header, checked for what holds of every output."""
    chunks = list(family.chunks(np.asarray(values), form))
    assert all(chunk.endswith(b"\n") and len(chunk) <= CHUNK_BYTES for chunk in chunks)
    text = b"".join(chunks).decode()
    head = header(family.series, form).decode() + "\n"
    assert text.startswith(head)
    return text.removeprefix(head).split("\n")[:-1]


def topics(count, **options):
    family = Family(GROUP_TOPIC_LAG_RECORDS, **options)
    for row in range(count):
        family.put(row, ["A", "g", f"t{row}"])
    return family


def told(family, values):
    """Return the number of each topic that is told, in order."""
    return [int(line.split('topic="t')[1].split('"')[0]) for line in lines(family, values)]


@pytest.mark.parametrize(
    ("series", "labels", "line"),
    [
        (LONELY, [], "mirrorwatch_lonely 5"),
        (COMMITS_CONSUMED_TOTAL, ["A"], 'mirrorwatch_commits_consumed_total{kafka_cluster="A"} 5'),
        (
            GROUP_TOPIC_LAG_RECORDS,
            ["A", "g", "t"],
            'mirrorwatch_group_topic_lag_records{kafka_cluster="A",group="g",topic="t"} 5',
        ),
        (
            GROUP_PARTITION_LAG_RECORDS,
            ["A", 'g"', "t\n", "0"],
            'mirrorwatch_group_partition_lag_records{kafka_cluster="A",group="g\\"",topic="t\\n",partition="0"} 5',
        ),
        (
            TOPIC_RECREATED_TOTAL,
            ["A->B", "A", "B", "t", "source"],
            (
                'mirrorwatch_topic_recreated_total{flow="A->B",source_cluster="A",target_cluster="B",'
                'topic="t",side="source"} 5'
            ),
        ),
    ],
)
@pytest.mark.parametrize("form", list(Form))
def test_a_line_is_name_labels_and_value(series, labels, line, form):
    family = Family(series)
    family.put(0, labels)
    assert lines(family, [5], form) == [line]


def test_a_label_before_the_topic_or_after_it_may_be_all_there_is():
    made = {"kind": Kind.GAUGE, "unit": Unit.SERIES, "group": Group.SERVICE, "help": "A number."}
    first = TOPIC_RECREATED_TOTAL.labels[3]
    family = Family(Series(name="first", labels=(first,), **made))
    family.put(0, ["t"])
    assert lines(family, [5]) == ['mirrorwatch_first{topic="t"} 5']


def test_a_value_that_is_not_known_is_absent():
    family = topics(5)
    assert told(family, [3, -1, 0, -7, 1]) == [0, 2, 4]
    assert lines(family, [-1] * 5) == []


def test_seconds_that_are_no_number_are_absent():
    family = Family(REPLICATION_TOPIC_LAG_SECONDS)
    for row in range(5):
        family.put(row, ["A->B", "A", "B", f"t{row}"])
    assert [line.split()[-1] for line in lines(family, [1.5, np.nan, np.inf, -1.0, 2.0])] == ["1.5", "2"]


def test_values_are_by_row_and_lines_in_the_order_of_coming():
    family = Family(GROUP_TOPIC_LAG_RECORDS)
    for row in (4, 0, 2):
        family.put(row, ["A", "g", f"t{row}"])
    assert [line[-7:] for line in lines(family, [10, 11, 12, 13, 14])] == ['t4"} 14', 't0"} 10', 't2"} 12']


def test_a_row_that_is_used_again_stands_last():
    family = topics(3)
    family.drop(0)
    family.put(0, ["A", "g", "t7"])
    assert told(family, [0, 1, 2]) == [1, 2, 7]


def test_the_cap_leaves_out_the_newest_and_counts_each_once():
    family = topics(5, max_series=3)
    assert told(family, range(5)) == [0, 1, 2]
    assert (family.left_out, family.left_out_total, len(family)) == (2, 2, 5)
    family.drop(1)
    # The oldest of those left out takes the place, and nobody who was told goes.
    assert told(family, range(5)) == [0, 2, 3]
    assert (family.left_out, family.left_out_total) == (1, 2)
    family.drop(4)
    assert (family.left_out, family.left_out_total) == (0, 2)
    family.put(9, ["A", "g", "t9"])
    assert told(family, range(10)) == [0, 2, 3]
    assert family.left_out_total == 3


def test_a_series_whose_value_is_not_known_keeps_its_place_under_the_cap():
    # Otherwise another would come and go with it at every scrape.
    family = topics(3, max_series=2)
    assert told(family, [-1, 5, 5]) == [1]


def test_a_cap_of_nothing_tells_nothing():
    family = topics(2, max_series=0)
    assert told(family, [1, 1]) == []
    assert family.left_out == 2


def test_rows_that_have_no_series_can_be_dropped():
    family = topics(64)  # as many as there was room for: -1 is not the last of them
    for row in (-1, 64, 10_000):
        family.drop(row)
    family.drop(0)
    family.drop(0)
    assert told(family, [1] * 64) == list(range(1, 64))


@pytest.mark.parametrize(
    ("act", "sentence"),
    [
        (
            lambda: topics(1).put(0, ["A", "g", "x"]),
            "mirrorwatch_group_topic_lag_records: row 0 already has a series",
        ),
        (
            lambda: topics(1).put(-1, ["A", "g", "x"]),
            "mirrorwatch_group_topic_lag_records: invalid row -1",
        ),
        (
            lambda: topics(1).put(1, ["A", "g"]),
            "2 label values for the labels kafka_cluster, group, topic",
        ),
        (lambda: lines(topics(3), [1, 2]), "a series at row 2, but only 2 values"),
        (lambda: Family(CANARY_LATENCY_SECONDS), "a histogram"),
    ],
)
def test_what_cannot_be_is_refused_in_words(act, sentence):
    with pytest.raises(ValueError, match=sentence):
        act()


def test_what_was_refused_left_no_trace():
    family = topics(1)
    for row, labels in ((0, ["A", "g", "x"]), (1, ["A"]), (-1, ["A", "g", "x"])):
        with pytest.raises(ValueError):  # noqa: PT011 - the sentences are the previous test's
            family.put(row, labels)
    assert told(family, [1, 1]) == [0]
    assert [len(table) for table in family._tables] == [1, 1]


def test_texts_are_shared_and_go_with_the_last_series_that_uses_them():
    family = Family(GROUP_PARTITION_LAG_RECORDS)
    for row in range(1000):
        family.put(row, ["A", f"g{row // 100}", f"t{row % 5}", str(row % 100)])
    assert [len(table) for table in family._tables] == [10, 5, 100]
    for row in range(100, 1000):
        family.drop(row)
    assert [len(table) for table in family._tables] == [1, 5, 100]
    for row in range(100):
        family.drop(row)
    assert [len(table) for table in family._tables] == [0, 0, 0]


def test_holes_are_closed_so_that_coming_and_going_costs_no_memory():
    family = topics(10)
    for turn in range(20_000):
        family.drop(turn % 10)
        family.put(turn % 10, ["A", "g", f"t{turn}"])
    assert len(family._order) < 10_000
    assert told(family, [1] * 10) == list(range(19_990, 20_000))
    assert all(len(table.texts) <= 64 for table in family._tables)


def test_chunks_are_bounded_where_every_line_is_as_long_as_it_can_be():
    family = Family(TOPIC_RECREATED_TOTAL)
    for row in range(300):
        family.put(row, [f"{row:05}" + "\\" * 251] * 3 + ["\n" * 256, '"' * 256])
    assert len(lines(family, np.full(300, 2**63 - 1))) == 300
    chunks = list(family.chunks(np.full(300, 2**63 - 1), Form.PLAIN))
    assert len(chunks) < 20  # and they are filled


@pytest.mark.parametrize("block", [8192, 1000, 7])
def test_series_may_come_and_go_between_chunks(block, monkeypatch):
    monkeypatch.setattr(exposition_family, "_BLOCK", block)
    family = Family(GROUP_PARTITION_LAG_RECORDS)
    for row in range(5000):
        family.put(row, ["A", "g", "t", str(row)])
    values = np.arange(5000)
    expected = lines(family, values)
    chunks = family.chunks(values, Form.PLAIN)
    text = next(chunks) + next(chunks)
    for row in range(5000):
        family.drop(row)
        family.put(row, ["B", "other", "u", str(9000 + row)])
    values[:] = 0
    text += b"".join(chunks)
    assert text.decode().split("\n")[2:-1] == expected


class Coming(RuleBasedStateMachine):
    """Series come and go, beside a list that does the same in the plainest way."""

    CAP = 4

    def __init__(self):
        super().__init__()
        self.family = Family(GROUP_TOPIC_LAG_RECORDS, max_series=self.CAP)
        self.order = []
        self.left_out = 0

    @rule(row=st.integers(0, 12), group=st.sampled_from("gh"), topic=st.sampled_from("tuv"))
    def put(self, row, group, topic):
        if row in [one for one, _, _ in self.order]:
            return
        self.family.put(row, ["A", group, topic])
        self.order.append((row, group, topic))
        self.left_out += len(self.order) > self.CAP

    @rule(row=st.integers(0, 12))
    def drop(self, row):
        self.family.drop(row)
        self.order = [one for one in self.order if one[0] != row]

    @precondition(lambda self: self.family._filled)
    @rule()
    def close_holes(self):
        self.family._close_holes()

    @invariant()
    def tells_the_same(self):
        values = np.array([-1 if row % 5 == 3 else row * 7 for row in range(13)])
        name = GROUP_TOPIC_LAG_RECORDS.full_name
        told = lines(self.family, values)
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(exposition_family, "_BLOCK", 3)
            assert lines(self.family, values) == told
        assert told == [
            f'{name}{{kafka_cluster="A",group="{group}",topic="{topic}"}} {values[row]}'
            for row, group, topic in self.order[: self.CAP]
            if values[row] >= 0
        ]
        assert len(self.family) == len(self.order)
        assert self.family.left_out == max(0, len(self.order) - self.CAP)
        assert self.family.left_out_total == self.left_out
        in_use = [{group for _, group, _ in self.order}, {topic for _, _, topic in self.order}]
        assert [len(table) for table in self.family._tables] == [len(keys) for keys in in_use]


TestComing = Coming.TestCase
TestComing.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


@given(st.lists(st.sampled_from([-1, 0, 3]), max_size=3000))
@settings(max_examples=20, deadline=None)
def test_every_known_value_is_told_once(values):
    family = topics(len(values))
    assert told(family, np.array(values, dtype=np.int64)) == [
        row for row, value in enumerate(values) if value >= 0
    ]


@given(
    st.lists(st.booleans(), min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from("gh"), st.sampled_from("tuv")), max_size=30),
    st.integers(1, 5),
    st.sampled_from([2, 5, None]),
)
@settings(deadline=None)
def test_what_is_told_is_what_stood_when_it_was_asked_for(turns, comings, block, most):
    """Whatever comes and goes between two chunks: each block is gathered when its turn comes."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(exposition_family, "_BLOCK", block)
        patched.setattr(exposition_family, "CHUNK_BYTES", 200)  # a line or two
        family = Family(GROUP_TOPIC_LAG_RECORDS, max_series=most)
        for row in range(len(turns) % 13):
            family.put(row, ["A", "gh"[row % 2], f"t{row % 4}"])
        values = np.arange(13)
        expected = b"".join(family.chunks(values, Form.PLAIN))
        chunks, found = family.chunks(values, Form.PLAIN), []
        values[:] = 99
        comings = iter(comings)
        for takes in turns:
            if takes:
                found.append(next(chunks, b""))
                continue
            row, group, topic = next(comings, (0, "g", "t"))
            family.drop(row)
            family.put(row, ["B", group, topic])
        assert b"".join([*found, *chunks]) == expected


def test_numbers_that_four_bytes_do_not_tell_are_told():
    family = topics(3)
    for most in (2**31 - 1, 2**31, 2**63 - 1):
        assert [int(line.split()[-1]) for line in lines(family, [most, 0, 7])] == [most, 0, 7]
