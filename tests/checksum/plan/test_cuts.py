"""Pairs that are cuts: in order, whatever else is known of them."""

from __future__ import annotations

from itertools import permutations

from checksum.anchors.pairs import Pair
from checksum.plan.cuts import rising


def test_pairs_of_the_mirror_and_those_found_by_time_stand_in_one_order():
    told = Pair(11, 11, "S1", "T1")
    timed = Pair(11, 11)  # of the same records: nobody tells of which topics it is
    later = Pair(20, 20)
    for found in permutations([told, timed, later]):
        assert [pair[:2] for pair in rising(found)] == [(11, 11), (20, 20)]
