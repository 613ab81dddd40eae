"""What is dealt with together, where what belongs to each name counts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from fleet.portions import portions

counts = st.lists(st.tuples(st.text(max_size=2), st.integers(0, 9)), max_size=20)


@given(counts, st.integers(1, 12), st.none() | st.integers(1, 4))
def test_every_name_comes_once_in_its_order_and_no_more_together_than_may_be(told, most, most_names):
    found, rest = list(portions(told, most=most, most_names=most_names)), iter(told)
    assert [name for portion in found for name in portion] == [name for name, _ in told]
    for portion in found:
        total = sum(count for _, count in (next(rest) for _ in portion))
        assert total <= most or len(portion) == 1
        assert 0 < len(portion) <= (most_names or len(portion))


def test_as_many_as_may_be_are_together():
    told = [("a", 2), ("b", 1), ("c", 1), ("d", 9), ("e", 0)]
    assert list(portions(told, most=3)) == [["a", "b"], ["c"], ["d"], ["e"]]
    assert list(portions(told, most=20, most_names=2)) == [["a", "b"], ["c", "d"], ["e"]]
