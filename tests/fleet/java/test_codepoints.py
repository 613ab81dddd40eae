"""Sets of characters as regular expressions."""

from __future__ import annotations

import re

import pytest

from fleet.java.codepoints import LAST, CodePoints

A, BREAK = CodePoints.chars("a"), CodePoints.chars("\n\u2028")


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (CodePoints(()), "(?!)"),
        (A, "a"),
        (A | BREAK, r"[\x0aa\U00002028]"),
        (~A, "[^a]"),
        (~BREAK, r"[^\x0a\U00002028]"),  # Python takes long to compile ranges up to the last character
        (CodePoints.of((0, LAST)), r"[\x00-\U0010ffff]"),
    ],
)
def test_a_set_as_a_regular_expression(found, text):
    assert found.as_regex() == text
    members = {point for first, last in found.ranges for point in range(first, last + 1)}
    pattern = re.compile(text)
    assert {point for point in range(LAST + 1) if pattern.fullmatch(chr(point))} == members
