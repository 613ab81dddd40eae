"""Whether two records at a pair's offsets are the original and its copy; rows of equal records."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checksum.anchors.alignment import LEAST, aligned
from checksum.anchors.pairs import Logs, Pair, Usable, chains, equal_pairs, runs_within, usable
from checksum.anchors.records import Agreement, agreement, seen_record
from checksum.anchors.search import MOST_READ, search_anchors
from checksum.plan.shape import Run


def record(offset=0, *, at_ms=1000, key=b"k", value=b"v", headers=(), excluded=()):
    return seen_record(offset, at_ms, key, value, headers, excluded=excluded)


RULES = [
    # source, target, timestamps, what they say
    (record(), record(9), True, Agreement.EQUAL),
    (record(key=None, value=None), record(key=None, value=None), True, Agreement.EQUAL),
    (record(headers=[]), record(headers=()), True, Agreement.EQUAL),
    (record(at_ms=5), record(), False, Agreement.EQUAL),
    (record(at_ms=5), record(), True, Agreement.ALTERED),
    (record(value=b"w"), record(), True, Agreement.ALTERED),
    (record(key=b"l"), record(), True, Agreement.ALTERED),
    (record(headers=[("a", b"1")]), record(), True, Agreement.ALTERED),
    (record(headers=[("a", b"1")]), record(headers=[("a", None)]), True, Agreement.ALTERED),
    (record(key=b"l", value=b"w"), record(), True, Agreement.PARTLY),
    (record(value=b"w"), record(), False, Agreement.PARTLY),
    (record(at_ms=5, value=b"w"), record(), True, Agreement.PARTLY),
    (record(key=None, value=b"w", at_ms=5), record(key=None), True, Agreement.DIFFERENT),
    (record(key=None, value=None, at_ms=5), record(key=None, value=None), True, Agreement.DIFFERENT),
    (record(key=None), record(key=b""), True, Agreement.ALTERED),
    (record(key=b"l", value=b"w", at_ms=5), record(), True, Agreement.DIFFERENT),
    (None, record(), True, Agreement.UNREADABLE),
    (record(), None, True, Agreement.UNREADABLE),
]


@pytest.mark.parametrize(("source", "target", "timestamps", "said"), RULES)
def test_what_two_records_say(source, target, timestamps, said):
    assert agreement(source, target, timestamps=timestamps) is said


def test_an_excluded_header_is_not_compared_and_still_seen():
    added = record(headers=[("via", b"B")], excluded=["via"])
    assert agreement(record(), added, timestamps=True) is Agreement.EQUAL
    assert added.has_headers
    assert added.size_bytes == 2 + 4


HEADERS = st.lists(st.tuples(st.sampled_from(["a", "ab", ""]), st.sampled_from([None, b"", b"a", b"ab"])))


@given(HEADERS, HEADERS)
def test_headers_are_told_apart_by_their_bounds(one, other):
    alike = record(headers=one).headers == record(headers=other).headers
    assert alike is (one == other)


# --- rows


def row(count, *, first=0, offset=0):
    return [record(offset + at, at_ms=1000 + first + at, value=b"%d" % (first + at)) for at in range(count)]


def test_a_row_of_equal_records_gives_its_first_and_last_pair():
    assert aligned(row(30), row(10, first=12, offset=500)) == (Pair(12, 500), Pair(21, 509))


def test_few_equal_records_prove_nothing():
    assert aligned(row(30), row(LEAST, first=12)) is not None
    assert aligned(row(30), row(LEAST - 1, first=12)) is None
    assert aligned([], row(9)) is None


def test_a_record_that_was_lost_parts_two_rows_of_which_both_count():
    copies = [*row(8), *row(8, first=9, offset=8)]
    first, last = aligned(row(17), copies)
    assert (first.upstream, first.downstream) == (0, 0)
    assert (last.upstream, last.downstream) == (16, 15)


def test_records_that_stand_in_two_rows_are_believed_in_neither():
    twice = [*row(10), *row(10, offset=10)]
    assert aligned(row(10), twice) is None
    # What follows behind both is clear again.
    assert aligned(row(21), [*twice, *row(10, first=11, offset=20)]) == (
        Pair(11, 20),
        Pair(20, 29),
    )


def test_the_time_alone_does_not_align():
    other = [replace(one, value=b"x") for one in row(10)]
    assert aligned(row(10), other) is None


# --- pairs


def test_pairs_of_other_topics_and_before_a_fall_are_counted_and_not_used():
    pairs = [
        Pair(1, 1, "old", "T"),
        Pair(2, 2, "S", "old"),
        Pair(3, 3, "S", "T"),
        Pair(3, 3, "S", "T"),
        Pair(4, 2, None, None),
        Pair(5, 9, "S", None),
    ]
    found = usable(pairs, source_id="S", target_id="T")
    assert [pair.upstream for pair in found.pairs] == [4, 5]
    assert (found.of_other_topics, found.before_a_fall) == (2, 1)
    assert usable(pairs, source_id=None, target_id=None).of_other_topics == 0


def test_a_pair_that_is_told_twice_is_one():
    assert usable([Pair(1, 1), Pair(1, 1, "S")], source_id="S", target_id="T") == Usable((Pair(1, 1),))


def test_chains_are_rows_at_one_distance():
    pairs = [Pair(0, 5), Pair(3, 8), Pair(5, 9), Pair(7, 11), Pair(6, 10), Pair(9, 20)]
    assert [[pair.upstream for pair in chain] for chain in chains(pairs)] == [[0, 3], [5, 7]]


def test_runs_never_overlap_and_the_longest_stay():
    runs = [Run(0, 10, 0), Run(5, 20, 3), Run(30, 32, 1), Run(6, 8, 9)]
    assert runs_within(runs, first=2, until=31, most=9) == (Run(2, 10, 0), Run(10, 20, 3), Run(30, 31, 1))
    assert runs_within(runs, first=2, until=31, most=2) == (Run(2, 10, 0), Run(10, 20, 3))


def test_no_record_of_the_target_is_in_two_runs():
    runs = [Run(0, 10, 5), Run(10, 20, 3), Run(20, 21, -9)]
    assert runs_within(runs, first=0, until=31, most=9) == (Run(0, 10, 5), Run(12, 20, 3))


def test_equal_pairs_reach_from_the_first_to_the_last_offset_in_common():
    pairs = equal_pairs(Logs(10, 1000, 20, 900))
    assert (pairs[0], pairs[-1]) == (Pair(20, 20), Pair(899, 899))
    assert len(pairs) <= 64
    assert list(pairs) == sorted(set(pairs))
    assert equal_pairs(Logs(0, 3, 0, 9)) == (Pair(0, 0), Pair(1, 1), Pair(2, 2))
    assert equal_pairs(Logs(0, 3, 3, 9)) == ()


# --- the search


def read(search, good):
    """Drive a search over pairs of which only the `good` hold; return what it found and how many it read."""
    asked = []
    try:
        pair = next(search)
        while True:
            asked.append(pair.upstream)
            same = pair.upstream in good
            here = record(value=b"%d" % pair.upstream, key=None, at_ms=pair.upstream)
            pair = search.send((here, here if same else record(key=b"?", value=b"?", at_ms=-1)))
    except StopIteration as done:
        return done.value, asked


def searching(pairs):
    return search_anchors(pairs, lambda end: pairs[: pairs.index(end) + 1], pairs, timestamps=True)


@given(st.integers(1, 400), st.data())
def test_the_border_of_what_holds_is_found_from_both_sides(count, data):
    pairs = [Pair(at * 10, at * 10 + 3) for at in range(count)]
    low = data.draw(st.integers(0, count - 1))
    high = data.draw(st.integers(low, count - 1))
    good = {pair.upstream for pair in pairs[low : high + 1]}
    # The steps to the end may pass over a short row that holds: then nothing is found, never something else.
    found, asked = read(searching(pairs), good)
    assert len(asked) == len(set(asked)) <= MOST_READ
    if high == count - 1 or 2 * (high - low + 1) > count:
        assert found.end == pairs[high]
        assert found.beginning == pairs[low]
        assert [chain[0] for chain in found.chains] == ([pairs[low]] if low < high else [])
    if found.end is not None:
        assert {found.end.upstream, found.beginning.upstream} <= good


def test_where_all_is_well_the_ends_are_read_and_nothing_else():
    pairs = [Pair(at, at) for at in range(10_000)]
    found, asked = read(searching(pairs), range(10_000))
    assert asked == [9999, 0]
    assert found.chains == (tuple(pairs),)
    assert found.rejected is None


def test_a_single_record_that_was_altered_costs_little():
    pairs = [Pair(at, at) for at in range(1000)]
    found, _ = read(searching(pairs), set(range(1000)) - {999, 0})
    assert (found.end, found.beginning) == (pairs[998], pairs[1])
    assert found.rejected == (Pair(999, 999), Agreement.DIFFERENT)


def test_no_search_reads_without_bound():
    pairs = [Pair(at, at) for at in range(10_000)]
    found, asked = read(searching(pairs), {5_000})
    assert len(asked) <= MOST_READ
    assert found.end is None or found.end.upstream == 5_000
    everywhere, asked = read(searching(pairs), set(range(0, 10_000, 2)))
    assert everywhere.end is not None
    assert len(asked) <= MOST_READ


def test_a_search_that_reads_too_much_ends_with_what_it_has(monkeypatch):
    monkeypatch.setattr("checksum.anchors.search.MOST_READ", 5)
    pairs = [Pair(at, at) for at in range(1000)]
    found, asked = read(searching(pairs), set(range(999)))
    assert found.end == pairs[998]
    found, asked = read(searching(pairs), {3})
    assert (found.end, len(asked)) == (None, 5)


def test_more_chains_than_are_read_are_believed_where_none_of_those_disagrees():
    pairs = [Pair(100 * row + step, 100 * row + step + row) for row in range(20) for step in (0, 50)]
    found, asked = read(searching(pairs), {pair.upstream for pair in pairs})
    assert len(found.chains) == 20
    assert len(asked) < len(pairs)


def test_a_chain_whose_end_disagrees_makes_every_other_prove_itself():
    first = [Pair(at, at) for at in range(0, 100, 10)]
    second = [Pair(at, at + 5) for at in range(100, 200, 10)]
    pairs = [*first, *second, Pair(200, 300)]
    found, _ = read(
        search_anchors(pairs[-1:], lambda _: pairs[:1], pairs, timestamps=True), {0, 90, 110, 190, 200}
    )
    assert found.chains == (tuple(first),)
    found, _ = read(
        search_anchors(pairs[-1:], lambda _: pairs[:1], pairs, timestamps=True), {0, 90, 100, 190, 200}
    )
    assert found.chains == (tuple(first), tuple(second))


def test_without_a_candidate_nothing_is_read():
    found, asked = read(search_anchors([], lambda _: [Pair(1, 1)], [], timestamps=True), {1})
    assert (found.end, found.beginning, asked) == (None, None, [])


def test_parts_that_agree_by_chance_are_not_enough():
    def partly(times, disagree=()):
        """Read pairs of which only the time agrees, or nothing at all."""
        pairs = [Pair(at, at) for at in range(len(times))]
        search = search_anchors(pairs, lambda _: [], [], timestamps=True)
        try:
            pair = next(search)
            while True:
                at = pair.upstream
                other = -1 if at in disagree else times[at]
                source = record(key=None, value=b"a%d" % at, at_ms=times[at])
                pair = search.send((source, record(key=None, value=b"b%d" % at, at_ms=other)))
        except StopIteration as done:
            return done.value.end

    assert partly([1, 2, 3, 4, 5, 6, 7, 8]) == Pair(7, 7)
    assert partly([1, 1, 1, 1, 1, 1, 1, 1]) is None
    assert partly([1, 2]) is None
    assert partly([1, 2, 3, 4, 5, 6, 7, 8], disagree=[7]) is None
