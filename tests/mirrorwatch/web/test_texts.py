"""Numbers as the pages write them."""

from __future__ import annotations

import pytest

from mirrorwatch.web.texts import budget_left_text, part_text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.0004, "less than 0.1 %"),
        (0.0312, "about 3.1 %"),
        (0.0996, "about 10 %"),
        (0.9962, "about 100 %"),
        (12.34, "about 1,234 %"),
    ],
)
def test_a_share_has_no_exponent(ratio, text):
    assert part_text(ratio) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0.6129, "61.2 % of its error budget is left"),
        (-0.01, "its error budget is spent"),
        (-0.5, "1.5 times its error budget is spent"),
        (-99.0, "100 times its error budget is spent"),
        (-1234.0, "1,235 times its error budget is spent"),
    ],
)
def test_a_budget_that_is_spent_many_times_has_no_exponent(ratio, text):
    assert budget_left_text(ratio) == text
