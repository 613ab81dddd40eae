"""Blocks in which many records are equal: what a crash repeats, or a mirror loses, puts none out of order."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checksum.compare.findings import RecordVerdict
from checksum.digest.record_hash import Content
from checksum.plan.shape import OffsetRange
from checksum.recheck import sequence_order
from checksum.recheck.block_differences import differences
from tests.checksum.pretend_logs import Held
from tests.checksum.recheck.test_block_differences import block_of

V = RecordVerdict
ALL_CELLS = [(0, cell) for cell in range(4)]


def log(states, first=0):
    return [Held(first + place, Content(b"sensor", b"%d" % one, place)) for place, one in enumerate(states)]


def block(source, target, *, surplus=0):
    """A block of states, as of a topic whose target stamps records itself."""
    found = block_of(log(source), log(target, 10_000), timestamps=False, cells=ALL_CELLS)
    return found._replace(asked=replace(found.asked, surplus=surplus))


def told(source, target, **how):
    found = Counter()
    for one in differences(block(source, target, **how)):
        found[str(one.verdict)] += one.records
    return found


def alternating(count):
    return [state for number in range(count) for state in (0, 1 + number)]


@pytest.mark.parametrize("count", [64, 65, 1000])
def test_one_that_is_lost_is_one_that_is_lost(count):
    source = alternating(count)
    assert told(source, source[1:]) == {"lost": 1}
    assert told(source, [*source[1:-1], -1], surplus=1) == {"lost": 1, "altered": 1}


@pytest.mark.parametrize("count", [64, 65, 1000])
def test_what_a_crash_repeats_is_there_too_often_and_nothing_else(count):
    source = alternating(count)
    again = [*source[:50], *source[44:100], *source[90:]]
    assert told(source, again) == {"duplicated": 16}


STATES = st.lists(st.integers(0, 2), max_size=40)


@st.composite
def at_least_once(draw, *, lose):
    """A log of few states, what a mirror makes of it that goes back now and then, and how many it lost.

    It loses none that it repeats an equal of: then nobody can say whether that is the one.
    """
    source = draw(STATES)
    target = list(enumerate(source))
    again = set()
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(target)))
        run = target[max(at - draw(st.integers(1, 12)), 0) : at]
        again |= {state for _, state in run}
        target[at:at] = run
    lost = {
        number for number, state in enumerate(source) if lose and state not in again and draw(st.booleans())
    }
    return source, [state for number, state in target if number not in lost], len(lost)


@given(at_least_once(lose=True))
def test_repeats_and_losses_are_told_as_that(logs):
    source, target, lost = logs
    repeats = len(target) - (len(source) - lost)
    assert told(source, target) == Counter(lost=lost, duplicated=repeats)


@given(at_least_once(lose=True), st.integers(0, 60), st.integers(0, 9), st.integers(1, 3))
def test_where_too_many_are_equal_to_try_them_all_none_is_said_to_be_out_of_order(logs, most, few, near):
    source, target, lost = logs
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sequence_order, "MOST_PAIRS", most)
        patch.setattr(sequence_order, "FEW_PAIRS", few)
        patch.setattr(sequence_order, "NEAR", near)
        found = told(source, target, surplus=1)
    assert found["reordered"] == 0
    assert found["lost"] == lost
    assert found["duplicated"] == len(target) - (len(source) - lost)


@given(STATES, STATES)
def test_whatever_stands_there_each_record_of_both_sides_is_in_one_verdict(source, target):
    found = differences(block(source, target))
    assert sum(one.source is not None for one in found) <= len(source)
    counts = told(source, target)
    assert counts["lost"] - counts["duplicated"] - counts["extra"] == len(source) - len(target)


@pytest.fixture
def bounded(monkeypatch):
    monkeypatch.setattr(sequence_order, "MOST_PAIRS", 0)
    monkeypatch.setattr(sequence_order, "FEW_PAIRS", 0)
    monkeypatch.setattr(sequence_order, "NEAR", 1)


FAR = [0, 0, 0, 1, 1, 1]


@pytest.mark.usefixtures("bounded")
def test_what_may_be_in_order_is_told_once_for_all_that_are_equal():
    first, second = differences(block([8, *FAR, 9], [*FAR[::-1], 8], surplus=1))[:2]
    assert first.verdict is second.verdict is V.UNVERIFIABLE
    assert (first.records, first.source, first.target) == (1, OffsetRange(0, 1), OffsetRange(10_006, 10_007))
    assert second.records > 1
    assert second.source.span >= second.records


@pytest.mark.usefixtures("bounded")
def test_where_the_digests_prove_another_order_it_is_one():
    assert told(FAR, FAR[::-1])["unverifiable"] == 0
    assert told(FAR, FAR[::-1])["reordered"] > 0
