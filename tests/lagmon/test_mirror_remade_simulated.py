"""Whatever the instants of looks, lists, flushes and a re-creation: what a mirror passed over is told, and only that."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fleet.vocabulary import Cause
from tests.lagmon.simulated_flow import Simulated


@dataclass(frozen=True)
class Story:
    """What happens, in seconds and in records a second."""

    before: list[tuple[int, int]]  # seconds, and records in each, of the old log
    stops: int | None  # the mirror stands for so long before the topic goes, None where it runs throughout
    kills: bool  # whether it is killed: what it has copied since its last flush is copied again
    away: int  # between deletion and re-creation
    filled: int  # records that the new log has at once
    after: list[tuple[int, int]]  # of the new log
    on_again: int  # from the re-creation until the mirror runs again
    flush_s: int
    looks_at: int  # the second within ten at which both sides are looked at
    source_leads: bool  # as in one direction where two clusters mirror from each other
    lists_at: int  # which look of six lists topics too
    told_at: int  # the second within five at which it is asked what is told


class Simulation(Simulated):
    """A source topic is made anew; `passed_over` is the truth."""

    def __init__(self, story):
        self.passed_over, self.begun = 0, False
        super().__init__(story)

    def copy(self):
        if self.ids["A"]["orders"] == "new" and not self.begun and self.log.get("orders"):
            at = self.read_to["orders"]
            self.begun, self.passed_over = True, at if at <= self.log["orders"] else 0
        super().copy()

    def check(self):
        found = [one for one in self.one.sight().findings if one.code is Cause.TOPIC_RECREATED]
        self.found = found or self.found  # it is told for a while only
        truth = self.passed_over
        if not self.begun and self.read_to["orders"] <= self.log.get("orders", -1):
            truth = self.read_to["orders"]  # it stands, and goes on there once it runs
        for one in found:
            assert not one.proved or one.records <= truth, self.second

    def run(self):
        story = self.story
        self.spell(*story.before)
        if story.stops is not None:
            self.stop()
            self.spell((story.stops, 0))
        del self.log["orders"]
        self.spell((story.away, 0))
        self.log["orders"], self.ids["A"]["orders"] = story.filled, "new"
        if story.stops is not None:
            self.spell((story.on_again, 0))
            self.runs = True
        self.spell(*story.after, (4 * story.flush_s + 200, 0))
        return self

    def stop(self):
        if not self.story.kills:
            self.flush()
        self.read_to = dict(self.written)
        self.runs = False


SPELLS = st.lists(st.tuples(st.integers(1, 90), st.sampled_from([0, 0, 1, 7, 100])), min_size=1, max_size=4)


@st.composite
def stories(draw):
    return Story(
        before=[(30, draw(st.integers(1, 20))), *draw(SPELLS), (30, 0)],
        stops=draw(st.none() | st.integers(0, 150)),
        kills=draw(st.booleans()),
        away=draw(st.sampled_from([0, 1, 5, 30, 90])),
        filled=draw(st.integers(0, 3000)),
        after=draw(SPELLS),
        on_again=draw(st.integers(0, 120)),
        flush_s=draw(st.sampled_from([5, 10, 60])),
        looks_at=draw(st.integers(0, 9)),
        source_leads=draw(st.booleans()),
        lists_at=draw(st.integers(0, 5)),
        told_at=draw(st.integers(0, 4)),
    )


IDLE = Story(
    before=[(30, 20), (30, 0)],
    stops=0,
    kills=False,
    away=90,
    filled=1737,
    after=[(10, 0)],
    on_again=100,
    flush_s=60,
    looks_at=3,
    source_leads=False,
    lists_at=3,
    told_at=2,
)
AS_LONG = replace(IDLE, filled=600)  # the mirror has nothing to write
YOUNG = replace(
    IDLE, before=[(15, 5), (50, 0)], stops=None, away=1, filled=271
)  # one offset, its id read before only
GROWING = replace(IDLE, after=[(90, 100)], flush_s=5)


@given(story=stories())
@example(story=IDLE)
@example(story=replace(IDLE, source_leads=True))
@example(story=AS_LONG)
@example(story=replace(AS_LONG, stops=None))
@example(story=YOUNG)
@example(story=replace(YOUNG, away=90))
@example(story=GROWING)
@settings(max_examples=40, deadline=None)
def test_what_was_passed_over_is_told_and_no_more_than_that_is_proved(story):
    one = Simulation(story).run()
    assert one.found or not one.passed_over
