"""A lag monitor for the tests of the pages about groups: its own answers, over groups that a test makes up."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np

from fleet.errors import UnavailableError
from fleet.wire.commits import encode_commit_key, encode_commit_value
from lagmon.cluster.state import ClusterLag
from lagmon.groups.answers import GroupAnswers
from lagmon.ingest.commits import Progress
from lagmon.ingest.watching import ClusterWatch
from runtime.process.supervision import Phase, State

NOW_S = 1_780_000_000
LOOK_S = 10
LOOKS = 90  # a quarter of an hour
RATE = 50  # records that are written in a second, to each partition
FIRST = 1_000_000  # the end at the first look

READY = Progress(partitions=1, total_records=10, read_records=10, began_at=1.0, ready_after_s=0.1)


def end_at(at_s):
    """Return where every log ended at an instant."""
    return FIRST + RATE * (at_s - (NOW_S - LOOKS * LOOK_S))


_TIMES = [NOW_S - 95 + 10 * number for number in range(10)]
_NEAR = [end_at(at) - 20 for at in _TIMES]
_MINUTES = [NOW_S - 195 + 10 * number for number in range(20)]

# The commits of a group of each kind, as pairs of seconds and offset.
COMMITS = {
    "moving": list(zip(_TIMES, _NEAR, strict=True)),
    "ahead": [(NOW_S + 1, end_at(NOW_S) + 30)],
    "far behind": [(at, end_at(at) - 800_000) for at in _TIMES],
    "growing": [(at, end_at(at) - 2000 - 300 * number) for number, at in enumerate(_MINUTES)],
    "stalled": [(at, end_at(_TIMES[0]) - 700) for at in _TIMES],
    "stopped": [(at - 600, end_at(at - 600) - 20) for at in _TIMES],
    "rewound": [
        *zip(_TIMES[:6], _NEAR[:6], strict=True),
        *((at, _NEAR[0] - 9000 + 100 * number) for number, at in enumerate(_TIMES[6:])),
    ],
    "overtaken": [(at - 600, 10_000 + 50 * number) for number, at in enumerate(_TIMES)],
    "absurd": [(9 * 10**11, 2**62), (3, 5)],
    "once": [(NOW_S - 20, end_at(NOW_S - 20) - 700)],
}


class Monitored:
    """Answers as the lag monitor's process does; `away` makes it silent, with that sentence."""

    def __init__(self, *aliases, flows=()):
        self.watches = {}
        self.states = {alias: State(alias, Phase.RUNNING) for alias in aliases}
        self.on = True
        self.away = ""
        self.now_s = NOW_S
        self.asked = 0
        self._sights = {}
        for alias in aliases:
            watch = ClusterWatch(
                alias,
                None,
                ClusterLag(
                    wanted=lambda _group, _topic: True, flows=[one for one in flows if one.target == alias]
                ),
                clock=None,
                random=lambda: 0.5,
            )
            watch.reader = SimpleNamespace(progress=READY)
            watch.lag.begin_commits(1)
            self.watches[alias] = watch
        self._answers = GroupAnswers(self.watches, self.states, view=self._sight, now_s=self.wall_s)

    def wall_s(self):
        return float(self.now_s)

    def topic(self, alias, name, partitions=6, start=100_000):
        """Make a topic whose partitions grew at the same rate for all of the looks."""
        lag = self.watches[alias].lag
        lag.note_topics({**lag.topics, name: partitions})
        places = np.array(lag.places.of(name), np.int32)
        for number in range(LOOKS + 1):
            at_s = NOW_S - (LOOKS - number) * LOOK_S
            lag.heads.note(places, np.full(len(places), end_at(at_s), np.int64), at_s * 1000)
        lag.heads.note_starts(places, np.full(len(places), start, np.int64))
        lag.note_read(0, NOW_S * 1000)

    def places(self, alias, name):
        """Return the places of a topic."""
        return np.array(self.watches[alias].lag.places.of(name), np.int32)

    def ends(self, alias, name):
        """Return where the logs of a topic ended at the last look."""
        return self.watches[alias].lag.heads.end[self.places(alias, name)]

    def group(self, alias, name, topic, *kinds):
        """Make a group with partitions of these kinds, the first for partition 0."""
        intake = self.watches[alias].lag.intake
        for partition, kind in enumerate(kinds):
            for at_s, offset in COMMITS[kind]:
                key = encode_commit_key(name, topic, partition)
                value = encode_commit_value(offset, at_s * 1000, version=3)
                read_s = min(at_s, NOW_S + 1)
                intake.ends = partial(_ends_at, read_s)
                intake.take([key], [value], read_ms=read_s * 1000, live=True)

    async def ask(self, question, **details):
        """Answer as `LagMonitor` does."""
        self.asked += 1
        if self.away:
            raise UnavailableError(self.away)
        told = {
            "groups": self._answers.groups,
            "group": self._answers.group,
            "group_counts": self._answers.counts,
        }
        answer = told[question](details)
        return answer.head, b"".join(answer.pieces)

    def _sight(self, alias, least):
        known = self._sights.get(alias)
        if known is None or known.begun < least:
            known = self._sights[alias] = self.watches[alias].lag.see(NOW_S * 1000)
        return known


def _ends_at(at_s, places):
    return np.full(len(places), end_at(at_s), np.int64)
