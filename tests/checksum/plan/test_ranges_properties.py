"""Whatever a mirror did: the ranges hold no difference that is none, and every offset is accounted for."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from checksum.plan.document import canonical, from_document, to_document
from checksum.plan.facts import Verified
from checksum.plan.shape import Anchored, TopicPlan
from tests.checksum.plan.test_file import PLAN
from tests.checksum.pretend_mirror import Mirrored

COUNT = st.integers(1, 12)
STEPS = st.one_of(
    st.tuples(st.just("write"), COUNT),
    st.tuples(st.just("write"), COUNT),
    st.tuples(st.just("copy"), COUNT),
    st.tuples(st.just("copy"), COUNT),
    st.tuples(st.just("drop"), st.integers(1, 3)),
    st.tuples(st.just("repeat"), st.just(1)),
    st.tuples(st.just("intrude"), st.just(1)),
    st.tuples(st.just("mark"), st.just(1)),
    st.tuples(st.just("mark_target"), st.just(1)),
    st.tuples(st.just("flush"), st.just(1)),
    st.tuples(st.just("crash"), st.just(1)),
    st.tuples(st.just("expire_source"), COUNT),
    st.tuples(st.just("expire_target"), COUNT),
)
# Short stories are mostly about nothing: all begin with something that was copied.
STORIES = st.lists(STEPS, min_size=10, max_size=50).map(lambda steps: [("write", 12), ("copy", 8), *steps])


MOVES = {
    "write": lambda mirrored, count: mirrored.write(count),
    "copy": lambda mirrored, count: mirrored.copy(count),
    "drop": lambda mirrored, count: mirrored.copy(count, drop=True),
    "repeat": lambda mirrored, _: mirrored.repeat(),
    "intrude": lambda mirrored, _: mirrored.intrude(),
    "mark": lambda mirrored, _: mirrored.mark(),
    "mark_target": lambda mirrored, _: mirrored.mark(target=True),
    "flush": lambda mirrored, _: mirrored.flush(),
    "crash": lambda mirrored, _: mirrored.crash(),
    # Never past the mirror: what it was overtaken by is another story.
    "expire_source": lambda mirrored, count: mirrored.expire(
        source=min(count, max(0, mirrored.position - mirrored.source.start))
    ),
    "expire_target": lambda mirrored, count: mirrored.expire(target=count),
}


def play(mirrored, story):
    for what, count in story:
        MOVES[what](mirrored, count)
    return mirrored


def check(mirrored, plan, left, since):
    spans = plan.source.until - max(plan.source.first, since) if plan is not None else 0
    told = sum(one.records for one in left)
    assert spans + told >= mirrored.source.end - since
    if plan is None:
        return
    # What was never copied and is gone from the source may be older than all that is planned: it comes on top.
    never = sum(one.records for one in left if one.why.startswith("deleted on the source"))
    assert spans + told - (mirrored.source.end - since) in (0, never) or plan.source.first < since
    topic = TopicPlan("t", "A.t", "S1", "T1", False, True, False, (plan,))
    whole = replace(PLAN, topics=(topic,))
    assert from_document(json.loads(canonical(to_document(whole))), file="p") == whole
    originals = Counter(mirrored.source.numbers(plan.source.first, plan.source.until))
    copies = Counter(mirrored.target.numbers(plan.target.first, plan.target.until))
    for number in originals - copies:
        assert number in mirrored.dropped, f"{number} looks lost and is not"
    for number in copies - originals:
        explained = mirrored.copies.get(number, 0) > 1 or number in mirrored.foreign | mirrored.dropped
        assert explained, f"{number} looks extra and is not"
    for run in plan.runs:
        here = mirrored.source.numbers(run.first, run.until)
        there = mirrored.target.numbers(run.first + run.delta, run.until + run.delta)
        assert Counter(here) != Counter(there) or here == there
    check_cuts(mirrored, plan)


def check_cuts(mirrored, plan):
    """See that between two cuts stand the copies of what stands there on the source, and of no other block."""
    compared = set(mirrored.source.numbers(plan.source.first, plan.source.until)) - mirrored.repeated
    start, end = (plan.source.first, plan.target.first), (plan.source.until, plan.target.until)
    for (up, down), (next_up, next_down) in pairwise([start, *plan.segments, end]):
        copies = set(mirrored.target.numbers(down, next_down))
        assert copies & compared <= set(mirrored.source.numbers(up, next_up))


DROPPED_AND_EXPIRED = [
    *[("write", 12), ("copy", 8), ("write", 2), ("drop", 2), ("expire_source", 10)],
    *[("mark", 1), ("flush", 1), ("write", 2), ("copy", 1)],
]
WENT_BACK = [("write", 12), ("copy", 8), ("repeat", 1), ("write", 1), ("drop", 3), ("flush", 1), ("write", 2)]


@given(STORIES, st.sampled_from([3, 100]), st.booleans())
@example([*WENT_BACK, ("copy", 3), ("crash", 1), ("drop", 1), ("copy", 1)], 3, False)
@example(DROPPED_AND_EXPIRED, 3, False)
@settings(max_examples=200, deadline=None)
def test_a_first_run_sees_no_difference_that_is_none(story, lag_max, ids):
    mirrored = play(Mirrored(lag_max=lag_max), story)
    plan, left, _ = mirrored.plan(ids=ids)
    check(mirrored, plan, left, mirrored.source.start)


@given(STORIES, st.sampled_from([3, 100]))
@settings(max_examples=200, deadline=None)
def test_nor_does_that_of_a_compacted_topic_of_which_retention_took_some(story, lag_max):
    mirrored = play(Mirrored(lag_max=lag_max), story)
    plan, left, _ = mirrored.plan(compacted=True)
    check(mirrored, plan, left, mirrored.source.start)


@given(STORIES, st.lists(STEPS, max_size=40), st.sampled_from([3, 100]))
@settings(max_examples=200, deadline=None)
def test_a_second_run_begins_where_the_first_one_ended(first, second, lag_max):
    mirrored = play(Mirrored(lag_max=lag_max), first)
    plan, _, _ = mirrored.plan()
    if plan is None:
        return
    verified = Verified(plan.source.until, plan.target.until, mirrored.source_id, mirrored.target_id)
    play(mirrored, second)
    again, left, _ = mirrored.plan(verified=verified)
    check(mirrored, again, left, verified.source_until)
    if again is not None and mirrored.source.start <= verified.source_until:
        assert again.source.first >= verified.source_until
        assert again.target.first >= verified.target_until


@given(st.lists(st.tuples(COUNT, st.booleans()), min_size=1, max_size=20))
@settings(max_examples=100, deadline=None)
def test_of_a_healthy_mirror_that_has_flushed_everything_is_compared(story):
    mirrored = Mirrored()
    for count, marked in story:
        mirrored.write(count)
        if marked:
            mirrored.mark()
        mirrored.copy()
    mirrored.flush()
    plan, left, anchors = mirrored.plan()
    assert left == ()
    assert (plan.source.first, plan.source.until) == (0, mirrored.source.end)
    assert (plan.target.first, plan.target.until) == (0, mirrored.target.end)
    assert plan.anchored is Anchored.OFFSET_SYNCS
    assert anchors.rejected is None
