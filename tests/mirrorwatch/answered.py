"""The lag monitor's own answers about a flow that a test moves on by hand."""

from __future__ import annotations

import json
import threading
from types import SimpleNamespace

from lagmon.mirrors.answers.flows import MirrorAnswers
from tests.lagmon.mirror_flows import Mirrored

CANARY = "mirrorwatch-canary"


class Answered(Mirrored):
    """A flow with two partitions of `orders` and two of the canary's topic, under its own clock `now` (ms)."""

    def __init__(self, topics=None, **more):
        super().__init__(topics or {"orders": 2, CANARY: 2}, **more)
        clock = SimpleNamespace(wall_s=lambda: self.now / 1000)
        self._answers = MirrorAnswers([self.flow], [threading.Lock()], clock=clock)

    @property
    def now_at(self):
        return self.now / 1000

    def copy_all(self):
        """Write a record to each partition, and let the mirror copy and commit it."""
        for topic, number in list(self.ends):
            self.write(1, topic, number)
            self.commit(topic, number)

    def copy_none(self):
        """Write a record to each partition."""
        for topic, number in list(self.ends):
            self.write(1, topic, number, copied=False)

    def documents(self):
        """Return what the monitor answers about its flows."""
        answer = self._answers.answer_flows({"canary_topic": CANARY})
        return json.loads(b"".join(answer.pieces))["flows"]

    def document(self):
        (found,) = self.documents()
        return found
