"""The exit status of several parts, by the order that holds for every command."""

from __future__ import annotations

import pytest

from mirrorwatch.checksums.session import with_failed_output, worst


@pytest.mark.parametrize(
    ("statuses", "status"),
    [
        ([], 0),
        ([0, 4], 4),
        ([0, 3, 4], 3),
        ([4, 3, 1, 0], 1),
        ([4, 3, 1, 2], 2),
    ],
)
def test_of_several_2_goes_before_all_1_before_3_and_3_before_4(statuses, status):
    assert worst(statuses) == status


@pytest.mark.parametrize(("status", "told"), [(0, 4), (1, 1), (2, 2), (3, 4), (4, 4)])
def test_where_telling_failed_only_a_finding_and_a_refusal_stay(status, told):
    assert with_failed_output(status) == told
