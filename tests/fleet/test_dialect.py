"""What all documents of the API have in common."""

from __future__ import annotations

import pytest

from fleet.dialect import MOST_NAMED, page, unknown_name, unknown_names

FLOWS = [f"A{number:02}->B" for number in range(30)]


def test_the_nearest_of_all_names_is_found_however_many_there_are():
    assert unknown_name("flow", "A29-B", FLOWS) == "unknown flow 'A29-B'; did you mean 'A29->B'?"


def test_a_sentence_lists_some_names_and_counts_the_others():
    said = unknown_name("flow", "xyz", FLOWS)
    assert said == f"unknown flow 'xyz'; known: {', '.join(FLOWS[:MOST_NAMED])}, and 10 more"
    assert unknown_name("flow", "xyz", []) == "unknown flow 'xyz'; there are none here"
    assert len(unknown_name("flow", "x" * 5000, FLOWS[:2])) < 200


def test_of_many_unknown_names_some_are_named_and_the_others_counted():
    names = ["b", "a", "b", *(f"{number}" for number in range(100))]
    said = unknown_names("field", names, ["a"])
    assert said[0] == "unknown field 'b'; known: a"
    assert len(said) == MOST_NAMED + 1
    assert said[-1] == f"and {101 - MOST_NAMED} more unknown fields"
    assert unknown_names("field", ["a"], ["a"]) == []


@pytest.mark.parametrize(
    ("items", "offset", "count", "following"),
    [
        ([1, 2], 0, 3, "/list?offset=2"),
        ([3], 2, 3, None),
        ([], 0, 3, None),
        ([], 5, 3, None),
    ],
)
def test_a_page_leads_to_the_one_behind_it(items, offset, count, following):
    assert page("items", items, offset=offset, count=count, address="/list") == {
        "items": items,
        "count": count,
        "offset": offset,
        "next": following,
    }
    if following is not None:
        assert page("items", items, offset=offset, count=count, address="/list?a=b")["next"] == (
            "/list?a=b&offset=2"
        )
