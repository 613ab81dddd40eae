"""The sentences of mirrors' partitions are those of groups with some phrases replaced: each phrase must exist."""

from __future__ import annotations

import ast

import pytest

from lagmon.mirrors import sentences
from tests.house.product_files import ROOT

REPLACED = (*sentences._OF_GROUPS, *sentences._OF_POLLS)


def texts():
    """Return the texts of all group rules; `{}` is a value."""
    found = []
    for path in sorted((ROOT / "lagmon" / "groups" / "rules").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            match node:
                case ast.JoinedStr(values=parts):
                    found.append(
                        "".join(one.value if isinstance(one, ast.Constant) else "{}" for one in parts)
                    )
                case ast.Constant(value=str(text)):
                    found.append(text)
    return found


@pytest.mark.parametrize("number", range(len(REPLACED)), ids=[phrase for phrase, _ in REPLACED])
def test_each_replaced_phrase_is_in_a_sentence_of_groups(number):
    found = texts()
    for phrase, meant in REPLACED[:number]:
        found = [one.replace(phrase, meant) for one in found]
    assert [one for one in found if REPLACED[number][0] in one]
