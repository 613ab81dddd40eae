"""A mirror of two topics second by second, with looks, lists and flushes at the instants that a story says."""

from __future__ import annotations

import numpy as np

from tests.lagmon.mirrors import NOW, Mirrored, S

LOOK_S, LIST_S = 10, 60
TOPICS = ("orders", "other")


class Simulated:
    """A flow A->B; `log` and `copied` are where each topic ends, by its name on the source.

    Of a story it reads `flush_s`; `looks_at`, the second within ten at which both sides are looked at;
    `source_leads`, as in one direction of two clusters that mirror from each other; `lists_at`, which look of
    six lists topics too; `told_at`, the second within five at which it is asked what is told.
    """

    def __init__(self, story):
        self.story = story
        self.one = Mirrored(dict.fromkeys(TOPICS, 1), flush_s=float(story.flush_s))
        self.log, self.copied, self.read_to, self.written = (dict.fromkeys(TOPICS, 0) for _ in range(4))
        self.ids = {side: dict.fromkeys(TOPICS, "old") for side in "AB"}
        self.lists_again = dict.fromkeys("AB", False)
        self.runs, self.second, self.found = True, 0, []
        self.look()

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

    def look(self, *, lists=True):
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
            self.look(lists=self.second % LIST_S // LOOK_S == story.lists_at)
        one.flow.read_to_ms = one.now
        if self.second % 5 == story.told_at:
            self.check()

    def check(self):
        """Look at what is told."""
        raise NotImplementedError
