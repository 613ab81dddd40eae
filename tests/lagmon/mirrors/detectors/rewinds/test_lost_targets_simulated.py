"""Whatever the instants of polls, lists and flushes: a re-created target is lost, unless all is sent again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import example, given
from hypothesis import strategies as st

from tests.lagmon.simulated_flow import Simulated, Story, slow, stories


@dataclass(frozen=True, kw_only=True)
class Copy(Story):
    """A copy that is made anew."""

    offsets_go: bool  # whether the mirror's offsets are deleted while it stands: it sends all of it again


class Simulation(Simulated):
    """`lost` is what the copy held, unless it is sent again."""

    side, suspects, lost = "target", False, 0

    def truth(self):
        return self.lost

    def before_it_goes(self):
        if self.runs or not self.story.offsets_go:
            self.lost = self.copied["orders"]
            return
        self.one.flow.windows.reset("orders", 0, self.one.now)
        self.read_to["orders"] = self.written["orders"] = 0
        self.spell((self.story.stops % 7, 0))


# All is copied again, and the offset is past where it was, before one is read.
AT_ONCE = Copy(
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


@given(story=stories(Copy, offsets_go=st.booleans()))
@example(story=AT_ONCE)
@example(story=replace(AT_ONCE, stops=128, away=90, flush_s=5))
@slow(10, wild=30)
def test_a_recreated_target_is_lost_unless_it_is_sent_again(story):
    one = Simulation(story).run()
    assert bool(one.found) == (one.lost > 0)
