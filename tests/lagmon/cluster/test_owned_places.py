"""Places that a group owns without a commit: from when on what is written counts, and when silence is told."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lagmon.cluster.owned_places import SETTLED_MS, OwnedPlaces, Unread, overdue

NOW = 1_790_000_000_000
S = 1000
NEVER = (-1, -1)


def unread(*, written_ago_s, first=100, head=105):
    written_ms = -1 if written_ago_s is None else NOW - int(written_ago_s * S)
    numbers = (np.array([one], np.int64) for one in (NOW - 900 * S, first, head, written_ms))
    return Unread(np.array([0], np.intp), np.array([7], np.int32), *numbers)


@pytest.mark.parametrize(
    ("written_ago_s", "known_ago_s", "away_ago_s", "told"),
    [
        (61, 0, None, True),
        (60, 0, None, False),  # not for longer than it may stand
        (600, 0, None, True),
        (None, 0, None, False),  # when it was written is not known
        (90, 29, None, True),
        (90, 30, None, False),  # it may have committed since, unread
        (600, 60, None, True),
        (600, 61, None, False),  # how it is now is not known
        (600, None, None, False),
        (200, 0, (180, 70), True),  # it came back for longer than it may stand
        (200, 0, (180, 60), False),  # nobody could commit, nor had come back for so long
        (600, 0, (180, 10), True),  # it was told of before the cluster was away
        (100, 0, (600, 300), True),  # that was over before
    ],
)
def test_when_silence_is_told(written_ago_s, known_ago_s, away_ago_s, told):
    known_ms = -1 if known_ago_s is None else NOW - known_ago_s * S
    away = NEVER if away_ago_s is None else tuple(NOW - one * S for one in away_ago_s)
    found = overdue(
        unread(written_ago_s=written_ago_s),
        np.array([known_ms], np.int64),
        away=away,
        now_ms=NOW,
        stopped_after_ms=60 * S,
        stale_after_ms=60 * S,
    )
    assert found.tolist() == [told]


class Desk:
    """Two groups' places and the ends that are read of them, by place."""

    def __init__(self, **owned):
        self.owned = OwnedPlaces()
        self.now_ms = NOW
        self.owned.put({group: set(places) for group, places in owned.items()})

    def look(self, *, after_s=10, **ends):
        """Look at the end of each place, as `p7=100`; those that are not given do not answer."""
        self.now_ms += int(after_s * S)
        found = [ends.get(f"p{place}", -1) for place in self.owned.place.tolist()]
        told = np.array(found, np.int64)
        self.owned.note_poll(told, told >= 0, at_ms=self.now_ms, read_ms=self.now_ms + 200)

    def written(self, **heads):
        """Return what was written to each group's places."""
        told = np.array([heads.get(f"p{place}", -1) for place in self.owned.place.tolist()], np.int64)
        found = self.owned.written(told)
        groups = [self.owned.groups[row] for row in found.rows.tolist()]
        return dict(
            zip(
                zip(groups, found.place.tolist(), strict=True),
                (found.head - found.first).tolist(),
                strict=True,
            )
        )


def test_only_what_is_written_behind_the_second_look_counts():
    desk = Desk(g=[7])
    assert desk.written(p7=100) == {}
    desk.look(p7=100)
    desk.look(p7=103)  # from here on: who was given it has found its position
    assert desk.written(p7=103) == {}
    desk.look(p7=104)
    assert desk.written(p7=104) == {("g", 7): 1}
    assert desk.owned.since_ms.tolist() == [NOW + 20 * S]


def test_a_look_that_began_too_soon_is_none_to_begin_from():
    desk = Desk(g=[7])
    desk.look(p7=100)
    desk.look(
        after_s=SETTLED_MS / S, p7=103
    )  # which was asked 200 ms less than that after the first was over
    desk.look(after_s=0.2, p7=105)
    assert desk.written(p7=106) == {("g", 7): 1}


def test_what_does_not_answer_begins_with_the_look_that_it_answers():
    desk = Desk(g=[7, 8])
    for end in (100, 101, 102):
        desk.look(p8=end)
    assert desk.written(p7=500, p8=102) == {("g", 8): 1}
    desk.look(p7=500, p8=102)
    assert desk.written(p7=500, p8=102) == {("g", 8): 1}
    assert desk.written(p7=502, p8=102) == {("g", 7): 2, ("g", 8): 1}


def test_an_end_that_fell_takes_with_it_where_counting_began():
    desk = Desk(g=[7])
    for end in (100, 100, 120, 40):
        desk.look(p7=end)
    assert desk.written(p7=40) == {}
    desk.look(p7=43)
    assert desk.written(p7=43) == {("g", 7): 3}


def test_a_clock_that_is_set_back_holds_up_nothing_for_long():
    desk = Desk(g=[7])
    desk.look(p7=100)
    desk.now_ms -= 3600 * S
    desk.look(p7=100)
    desk.look(p7=100)
    assert desk.written(p7=101) == {("g", 7): 1}
    desk.now_ms -= 3600 * S
    desk.look(p7=101)
    assert desk.owned.since_ms[0] <= desk.now_ms + 200


def test_what_a_group_owns_on_goes_on_and_what_it_owns_anew_begins():
    desk = Desk(g=[7, 8], h=[7])
    for _ in range(2):
        desk.look(p7=100, p8=50)
    desk.owned.put({"g": {8, 9}})
    assert (desk.owned.groups, desk.owned.place.tolist()) == (["h", "g", "g"], [7, 8, 9])
    assert desk.written(p7=101, p8=52, p9=9) == {("h", 7): 1, ("g", 8): 2}
    desk.owned.put({"g": {8, 9}}, anew={"g"})
    assert desk.written(p7=101, p8=52, p9=9) == {("h", 7): 1}
    desk.owned.put({"g": (), "h": (), "nobody": ()})
    assert len(desk.owned) == len(desk.owned.place) == 0


def test_a_place_that_goes_is_nobodys_and_one_made_anew_begins_anew():
    desk = Desk(g=[7, 8], h=[7])
    for _ in range(2):
        desk.look(p7=100, p8=50)
    desk.owned.forget_records([8, 11])
    assert desk.written(p7=101, p8=52) == {("g", 7): 1, ("h", 7): 1}
    assert desk.owned.drop_places([7, 11]) == {"g", "h"}
    assert (desk.owned.groups, desk.owned.place.tolist()) == (["g"], [8])
    assert desk.owned.drop_places([7]) == set()


owned_places = st.dictionaries(st.sampled_from("ghi"), st.sets(st.integers(0, 5)))


@given(st.lists(st.tuples(owned_places, st.booleans(), st.sets(st.integers(0, 5))), max_size=12))
def test_rows_are_those_that_were_put_and_go_on_for_as_long_as_they_are_owned(steps):
    """Against a dictionary: for how many looks in a row each was owned."""
    owned, kept, at_ms = OwnedPlaces(), {}, NOW
    for put, anew, dropped in steps:
        owned.put(put, anew=put.keys() if anew else ())
        for group, places in put.items():
            before = {} if anew else {one: kept[one] for one in kept if one[0] == group}
            kept = {one: looks for one, looks in kept.items() if one[0] != group}
            kept |= {(group, place): before.get((group, place), 0) for place in places}
        owned.drop_places(dropped)
        kept = {one: looks for one, looks in kept.items() if one[1] not in dropped}
        at_ms += 10 * S
        ends = np.full(len(owned), at_ms // S, np.int64)
        owned.note_poll(ends, np.ones(len(owned), np.bool_), at_ms=at_ms, read_ms=at_ms)
        kept = {one: looks + 1 for one, looks in kept.items()}
        found = zip(owned.groups, owned.place.tolist(), owned.first.tolist(), strict=True)
        assert {(group, place): first for group, place, first in found} == {
            one: -1 if looks < 2 else at_ms // S - 10 * (looks - 2) for one, looks in kept.items()
        }
        assert len(owned) == len(kept)
