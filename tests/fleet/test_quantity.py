"""Quantities as text."""

from __future__ import annotations

import pytest

from fleet.quantity import bytes_text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (812, "812 B"),
        (999.4, "999 B"),
        (999.6, "1 kB"),
        (9_300_000, "9.3 MB"),
        (999_600, "1 MB"),
        (999_499, "999 kB"),
        (2e15, "2,000 TB"),
    ],
)
def test_bytes_have_three_digits(count, text):
    assert bytes_text(count) == text
