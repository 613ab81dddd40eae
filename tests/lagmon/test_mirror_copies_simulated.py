"""Whatever the instants of looks, lists and flushes: a copy made anew is lost, unless all of it is sent again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fleet.vocabulary import Cause
from tests.lagmon.simulated_flow import Simulated
from tests.lagmon.test_mirror_remade_simulated import SPELLS


@dataclass(frozen=True)
class Story:
    """What happens, in seconds and in records a second; `Simulated` says what the last ones are."""

    before: list[tuple[int, int]]
    stops: int | None  # the mirror stands for so long before, None where it runs throughout
    offsets_go: bool  # whether its offsets are deleted then, so that it sends all of it again
    away: int  # from the copy's deletion until it is there again
    after: list[tuple[int, int]]
    on_again: int  # from then until the mirror runs again
    flush_s: int
    looks_at: int
    source_leads: bool
    lists_at: int
    told_at: int


class Simulation(Simulated):
    """A copy is made anew; `lost` is the truth."""

    lost = 0

    def check(self):
        found = [
            one
            for one in self.one.sight().findings
            if (one.code, one.side) == (Cause.TOPIC_RECREATED, "target")
        ]
        self.found = found or self.found  # it is told for a while only
        for one in found:
            assert one.proved
            assert 0 < one.records <= self.lost, self.second

    def run(self):
        story = self.story
        self.spell(*story.before)
        if story.stops is not None:
            self.flush()
            self.runs = False
            self.spell((story.stops, 0))
        if story.stops is not None and story.offsets_go:
            self.one.flow.windows.reset("orders", 0, self.one.now)
            self.read_to["orders"] = self.written["orders"] = 0
            self.spell((story.stops % 7, 0))
        else:
            self.lost = self.copied["orders"]
        del self.copied["orders"]
        self.spell((story.away, 0))
        self.copied["orders"], self.ids["B"]["orders"] = 0, "new"
        if story.stops is not None:
            self.spell((story.on_again, 0))
            self.runs = True
        self.spell(*story.after, (4 * story.flush_s + 200, 0))
        return self


@st.composite
def stories(draw):
    return Story(
        before=[(30, draw(st.integers(1, 20))), *draw(SPELLS), (30, 0)],
        stops=draw(st.none() | st.integers(0, 150)),
        offsets_go=draw(st.booleans()),
        away=draw(st.sampled_from([0, 1, 5, 30, 90])),
        after=draw(SPELLS),
        on_again=draw(st.integers(0, 120)),
        flush_s=draw(st.sampled_from([5, 10, 60])),
        looks_at=draw(st.integers(0, 9)),
        source_leads=draw(st.booleans()),
        lists_at=draw(st.integers(0, 5)),
        told_at=draw(st.integers(0, 4)),
    )


# All is copied again, and the offset is past where it was, before one is read.
AT_ONCE = Story(
    before=[(30, 4), (40, 7), (78, 0)],
    stops=16,
    offsets_go=True,
    away=5,
    after=[(17, 1)],
    on_again=4,
    flush_s=60,
    looks_at=6,
    source_leads=True,
    lists_at=0,
    told_at=0,
)


@given(story=stories())
@example(story=AT_ONCE)
@example(story=replace(AT_ONCE, stops=128, away=90, flush_s=5))
@settings(max_examples=30, deadline=None)
def test_a_copy_made_anew_is_lost_unless_it_is_sent_again(story):
    one = Simulation(story).run()
    assert bool(one.found) == (one.lost > 0)
