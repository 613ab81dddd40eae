"""What a step back means, by tables: offsets, distances to the target's end, and the newest ends."""

from __future__ import annotations

import numpy as np
import pytest

from lagmon.mirrors.detectors.rewinds.steps import Ends, Rewound, judge_step

NAN = float("nan")
OPEN, REPEATED, LATE = Rewound.OPEN, Rewound.REPEATED, Rewound.LATE
BEFORE = [0, 20, 40, 60, 80, 100]
ENDS = Ends(source=100, source_ms=50, target=100, target_ms=40)


def judged(offsets, distances, ends=ENDS):
    step = judge_step(offsets, [1000 * at for at in range(len(offsets))], np.array(distances, float), ends)
    return step.means, step.records


@pytest.mark.parametrize(
    ("offsets", "distances", "expected"),
    [
        ([60, 150], [40, 0], (LATE, 0)),  # past it: nothing came again
        ([60, 150], [40, 40], (REPEATED, 40)),
        ([60, 150], [40, 19], (LATE, 0)),  # less than half of the step
        ([60, 150], [40, 20], (REPEATED, 20)),
        ([60, 150], [40, NAN], (OPEN, 0)),  # the copy was not looked at since
        ([60, 80], [0, 0], (REPEATED, 20)),  # it copies there
        ([60, 80], [0, -20], (OPEN, 0)),  # the copy stood meanwhile
        ([60, 80], [0, -11], (OPEN, 0)),  # by less than half
        ([60, 80], [0, -10], (REPEATED, 10)),
        ([60, 80], [0, NAN], (OPEN, 0)),
        ([60], [40], (OPEN, 0)),  # nothing since
    ],
)
def test_the_target_shows(offsets, distances, expected):
    assert judged(BEFORE + offsets, [0] * 6 + distances) == expected


def test_what_is_within_the_spread_of_the_distances_is_no_proof():
    for spread, means in ((39, REPEATED), (40, LATE)):
        assert judged([*BEFORE, 60, 150], [spread, 0, 0, 0, 0, 0, 40, 40])[0] is means
        assert judged([*BEFORE, 60, 150, 160, 170], [0] * 6 + [40, 40 - spread, 40, 40])[0] is means


def test_more_than_the_step_is_no_proof_but_for_the_spread_and_never_reported():
    after = [*BEFORE, 60, 150]
    assert judged(after, [0] * 6 + [40, 41]) == (OPEN, 0)
    assert judged(after, [10, 0, 0, 0, 0, 0, 40, 50]) == (REPEATED, 40)
    assert judged(after, [10, 0, 0, 0, 0, 0, 40, 51]) == (OPEN, 0)


def test_few_distances_before_it_show_nothing():
    assert judged([*BEFORE, 60, 150], [NAN, NAN, 0, 0, 0, 0, 40, 40]) == (OPEN, 0)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (Ends(100, 50, 140, 40), (REPEATED, 40)),
        (Ends(100, 50, 141, 40), (OPEN, 0)),  # more than there is from there to the highest
        (Ends(140, 50, 140, 40), (OPEN, 0)),  # all of that may be new
        (Ends(120, 50, 140, 40), (REPEATED, 20)),
        (Ends(121, 50, 140, 40), (OPEN, 0)),
        (Ends(100, 30, 140, 40), (OPEN, 0)),  # the source was looked at before the copy
        (Ends(-1, -1, 140, 40), (OPEN, 0)),
        (Ends(100, 50, -1, -1), (OPEN, 0)),
    ],
)
def test_a_target_that_has_grown_by_more_than_is_new_shows_without_another_offset(ends, expected):
    assert judged([*BEFORE, 60], [0] * 6 + [40], ends) == expected


def test_without_a_target_the_mirror_is_believed_to_replicate_where_it_goes_on():
    no_copy = Ends(100, 50, -1, -1, has_target=False)
    assert judged([*BEFORE, 60, 70], [NAN] * 8, no_copy) == (REPEATED, 10)
    assert judged([*BEFORE, 60, 150], [NAN] * 8, no_copy) == (OPEN, 0)
