"""A mirror of two topics second by second, with polls, lists and flushes at the instants of a story."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import Phase, settings
from hypothesis import strategies as st

from fleet.verdicts.vocabulary import Cause
from tests.lagmon.mirror_flows import NOW, Mirrored, S

LOOK_S, LIST_S = 10, 60
TOPICS = ("orders", "other")


SPELLS = st.lists(st.tuples(st.integers(1, 90), st.sampled_from([0, 0, 1, 7, 100])), min_size=1, max_size=4)


def slow(examples, *, wild):
    """Return the settings of a property that takes a second for each example.

    By default a failure shows the example that was found first: the shrinking of one takes minutes. Of the
    profile `wild` more examples are tried, and what fails is shrunk.
    """
    if settings.get_current_profile_name() == "wild":
        return settings(max_examples=wild)
    return settings(max_examples=examples, phases=(Phase.explicit, Phase.reuse, Phase.generate))


@dataclass(frozen=True, kw_only=True)
class Story:
    """What happens around a topic that is made anew on one side, in seconds and in records a second."""

    before: list[tuple[int, int]]  # seconds, and records in each
    stops: int | None  # the mirror stands for so long before the topic goes, None where it runs throughout
    away: int  # between deletion and re-creation
    after: list[tuple[int, int]]
    on_again: int  # from the re-creation until the mirror runs again
    flush_s: int
    looks_at: int  # the second within ten at which both sides are looked at
    source_leads: bool  # as in one direction where two clusters mirror from each other
    lists_at: int  # which look of six lists topics too
    told_at: int  # the second within five at which it is asked what is told
    burst: int = 0  # records that come at once right before the mirror stops
    burst_late: int = 0  # and right before the topic is deleted, also of a mirror that stands


def stories(of, **more):
    """Draw stories of a kind; `more` is what it has beside."""
    return st.builds(
        of,
        before=st.builds(lambda first, spells: [(30, first), *spells, (30, 0)], st.integers(1, 20), SPELLS),
        stops=st.none() | st.integers(0, 150),
        away=st.sampled_from([0, 1, 5, 30, 90]),
        after=SPELLS,
        on_again=st.integers(0, 120),
        flush_s=st.sampled_from([5, 10, 60]),
        looks_at=st.integers(0, 9),
        source_leads=st.booleans(),
        lists_at=st.integers(0, 5),
        told_at=st.integers(0, 4),
        burst=st.sampled_from([0, 0, 300]),
        burst_late=st.sampled_from([0, 0, 1, 500]),
        **more,
    )


class Simulated:
    """A flow A->B; `log` and `copied` are where each topic ends, by its name on the source.

    On `side` the topic is made anew; `truth` is how many records are lost by that, as far as it has come.
    """

    side = "source"
    filled = 0  # records that the topic has at once when it is made anew
    suspects = True  # whether a suspicion may be told

    def __init__(self, story):
        self.story = story
        self.one = Mirrored(dict.fromkeys(TOPICS, 1), flush_s=float(story.flush_s))
        self.log, self.copied, self.read_to, self.written = (dict.fromkeys(TOPICS, 0) for _ in range(4))
        self.ids = {side: dict.fromkeys(TOPICS, "old") for side in "AB"}
        self.lists_again = dict.fromkeys("AB", False)
        self.runs, self.second, self.found = True, 0, []
        self.poll()

    def copy(self):
        """Copy all that there is of the topics that are there."""
        for topic in self.log.keys() & self.copied.keys():
            at, end = self.read_to[topic], self.log[topic]
            if at > end:
                at = 0  # out of range: it goes on at the log's start
            self.copied[topic] += end - at
            self.read_to[topic] = end

    def flush(self):
        for topic, at in self.read_to.items():
            if at and at != self.written[topic]:
                self.one.flow.windows.take(topic, 0, at - 1, self.one.now, live=True)
                self.written[topic] = at

    def poll(self, *, lists=True):
        """Look at both sides and their ids; a topic that a list lacks is gone once a second one lacks it."""
        for side in "AB" if self.story.source_leads else "BA":
            lag = self.one.a if side == "A" else self.one.b
            ends = self.log if side == "A" else {f"A.{topic}": end for topic, end in self.copied.items()}
            if lists or self.lists_again[side]:
                lacking = set() if self.lists_again[side] else lag.lacking(ends)
                lag.note_topics(dict.fromkeys(ends, 1), self.one.now, lacking=lacking)
                self.lists_again[side] = bool(lacking)
            self.look_at(lag, ends)
            names = ends.keys() & lag.topics.keys()
            ids = {name: self.ids[side][name.removeprefix("A.")] for name in names}
            self.one.flow.note_ids(side, ids, self.one.now)
            if sum(lag.note_id(name, topic_id, self.one.now) for name, topic_id in ids.items()):
                self.look_at(lag, ends)
            self.one.now += 100

    def look_at(self, lag, ends):
        for name, end in ends.items():
            place = np.array(lag.places.of(name), np.int32)
            if len(place):
                lag.heads.note(place, np.array([end]), self.one.now)
                lag.heads.note_stable(place, np.array([end]))
                lag.heads.note_starts(place, np.array([0]))

    def spell(self, *spells):
        """Let so many seconds pass, with so many records in each, for each of them."""
        for seconds, rate in spells:
            for _ in range(seconds):
                self._tick(rate)

    def _tick(self, rate):
        story, one = self.story, self.one
        self.second += 1
        one.now = NOW + self.second * S
        for topic in self.log:
            self.log[topic] += 10 if topic == "other" else rate
        if self.runs:
            if self.second % story.flush_s == 0:
                self.flush()
            self.copy()
        if self.second % LOOK_S == story.looks_at:
            self.poll(lists=self.second % LIST_S // LOOK_S == story.lists_at)
        one.flow.read_to_ms = one.now
        if self.second % 5 == story.told_at:
            self.check()

    def check(self):
        """Look at what is told: never more is proved than is true."""
        told = [one for one in self.one.snapshot().findings if one.code is Cause.TOPIC_RECREATED]
        self.found = told or self.found  # it is told for a while only
        for one in told:
            assert one.side == self.side
            assert one.proved or self.suspects
            if one.proved:
                assert 0 < one.records <= self.truth(), self.second
                assert one.records_most is None or one.records_most >= self.truth(), self.second

    def run(self):
        """Let all of the story happen."""
        story, ends = self.story, self.log if self.side == "source" else self.copied
        self.spell(*story.before)
        if story.burst:
            self.spell((1, story.burst))
        if story.stops is not None:
            self.stop()
            self.spell((story.stops, 0))
        if story.burst_late:
            self.spell((1, story.burst_late))
        self.before_it_goes()
        del ends["orders"]
        self.spell((story.away, 0))
        ends["orders"] = self.filled
        self.ids["A" if self.side == "source" else "B"]["orders"] = "new"
        if story.stops is not None:
            self.spell((story.on_again, 0))
            self.runs = True
        self.spell(*story.after, (4 * story.flush_s + 200, 0))
        return self

    def stop(self):
        self.flush()
        self.runs = False

    def before_it_goes(self):
        """Do what is done right before the topic is deleted."""
