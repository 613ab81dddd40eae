"""Numbers that a service states are compared with what a full read of both sides shows."""

from __future__ import annotations

from collections import Counter

import pytest

from deploy.drills.catalogue import BY_LABEL
from deploy.drills.result import Result, as_line, from_line
from deploy.drills.truth import Log, Statement, Truth, disagreement

TRUE = {0: Truth(630, 630), 1: Truth(1260, 1261)}


@pytest.mark.parametrize(
    ("statement", "right"),
    [
        (Statement(14.0, 0, 630, 630), True),
        (Statement(14.0, 0, 277, 277), False),
        (Statement(14.0, 0, 277, None), True),
        (Statement(14.0, 0, 277, 700), True),
        (Statement(14.0, 0, 277, 629), False),
        (Statement(14.0, 0, 631, None), False),
        (Statement(14.0, 1, 1261, 1261), True),  # the reader itself missed one
        (Statement(14.0, 1, 1262, 1262), False),
        (Statement(14.0, 2, 1, None), False),
        (Statement(14.0, None, 1890, 1890), True),
        (Statement(14.0, None, 1889, 1889), False),
    ],
)
def test_an_exact_number_has_to_be_the_truth_and_a_bound_has_to_hold(statement, right):
    assert bool(disagreement([statement], TRUE)) is not right


def test_a_drill_with_a_wrong_number_is_wrong():
    drill = BY_LABEL["offsets-recreate-target"]
    result = Result(
        drill.label, said=[(14.0, "losing", "topic_recreated")], mended_s=20.0, healed_s=1.0, truth=TRUE
    )
    result.stated.append(Statement(14.0, 0, 277, None))
    assert result.wrong(drill) == ""
    result.stated.append(Statement(24.0, 0, 277, 277))
    assert result.wrong(drill) == "277 records of partition 0 after 24 s, but 630 are lost"
    assert from_line(as_line(result)) == result


def test_what_was_deleted_before_the_reader_saw_it_is_counted_apart():
    log = Log({0: {0: (b"a", 1.0), 1: (b"b", 2.0), 4: (b"a", 3.0)}})
    assert log.contents(until=2.5) == {0: Counter([b"a", b"b"])}
    assert log.unread(0, 5) == 2
