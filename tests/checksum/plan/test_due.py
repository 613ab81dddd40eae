"""What the mirror owes: the rule by which due records are left behind, or merely not replicated yet."""

from __future__ import annotations

import pytest

from checksum.plan.due import Due, continued_without, may_drop_records, not_replicated
from fleet.mm2.handling import Handling


def due(*, passed=False, others=False):
    return Due(100, 90, passed=passed, others=others, waited_s=65.0)


@pytest.mark.parametrize(
    ("passed", "others", "leaves_out", "target_end", "expected"),
    [
        (False, True, True, 90, True),  # the mirror goes on with others, and may leave records out
        (True, False, False, 90, True),  # its own offset syncs are past them
        (True, True, True, 90, True),
        (False, False, True, 90, False),  # stopped, hung or idle
        (False, True, False, 90, False),  # a task hangs: nothing lets it leave records out
        (False, True, True, 91, False),  # it is behind, and still copies
        (True, True, True, 91, False),  # the target's end may belong to newer records
    ],
)
def test_due_records_are_left_behind_only_where_the_mirror_went_on(
    passed, others, leaves_out, target_end, expected
):
    found = continued_without(due(passed=passed, others=others), target_end=target_end, leaves_out=leaves_out)
    assert found is expected


@pytest.mark.parametrize(
    ("handling", "expected"),
    [
        (Handling(drops=("filter",), skips_failed=False), True),
        (Handling(skips_failed=True), True),
        (Handling(), True),  # not known
        (Handling(skips_failed=False), False),
    ],
)
def test_a_mirror_may_leave_records_out_by_a_transform_or_where_it_skips_failures(handling, expected):
    assert may_drop_records(handling) is expected


@pytest.mark.parametrize(
    ("seen", "target_end", "at", "said"),
    [
        (due(others=True), 95, 70, "MirrorMaker is behind, at source offset 70 or later"),
        (
            due(others=True),
            90,
            70,
            "is still at source offset 70 and replicates other partitions",
        ),
        (due(), 90, 70, "wrote no offset sync of any partition meanwhile: it is stopped, hung or idle"),
        (due(), 90, None, "MirrorMaker is before the first record and wrote no"),
    ],
)
def test_the_reason_says_where_the_mirror_is_and_whether_it_is_alive(seen, target_end, at, said):
    text = not_replicated(seen, target_end=target_end, at=at)
    assert text.startswith("not replicated 1 min 5 s after the plan found them on the source: ")
    assert said in text
