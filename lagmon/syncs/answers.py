"""Answers of the ingest process about offset syncs: those of a flow from a number on."""

from __future__ import annotations

import json
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from runtime.process.channel import Answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lagmon.syncs.reader import SyncReader
    from runtime.process.clock import Clock


MOST_IDS = 1000  # in one answer


class SyncAnswers:
    """Answers from the queues of the readers."""

    def __init__(self, readers: Iterable[SyncReader], *, clock: Clock) -> None:
        self._readers = {reader.flow: reader for reader in readers}
        self._clock = clock

    def ids(self, question: dict[str, Any]) -> Answer:
        """Answer with ids of a flow's topics and when each was read, those after the topic and side `after`.

        Rows are topic (its name on the source), side, id and epoch ms, ordered by the first two.
        """
        reader = self._readers[question["flow"]]
        with reader.turn:
            topics = reader.mirror.topics
            ids, at_ms = dict(topics.ids), dict(topics.ids_at_ms)
        after = tuple(question["after"] or ())
        behind = nsmallest(MOST_IDS + 1, (place for place in ids if place in at_ms and place > after))
        rows = [[*place, ids[place], at_ms[place]] for place in behind[:MOST_IDS]]
        return Answer({"more": len(behind) > MOST_IDS}, [json.dumps(rows).encode()])

    def answer(self, question: dict[str, Any]) -> Answer:
        """Answer with the syncs of a flow from the number `since` on, if it belongs to the topic `topic_id`.

        Otherwise with those from the current topic's start on. Earlier ones are forgotten.
        """
        reader = self._readers[question["flow"]]
        now_ms = int(self._clock.wall_s() * 1000)
        with reader.turn:
            queue, taken = reader.queue, reader.intake.taken
            another = question["topic_id"] not in ("", queue.topic_id)
            handed = queue.hand(0 if another else question["since"], now_ms=now_ms)
            head = {
                "topic_id": queue.topic_id,
                "next": handed.next_number,
                "more": handed.more,
                "refused": reader.refused,
                "taken": taken.syncs,
                "resets": taken.resets,
                "others": taken.others,
                "malformed": taken.malformed,
                "beyond": taken.beyond,
                "sample": taken.sample,
                "gone": queue.gone,
            }
        return Answer(head, [json.dumps(handed.syncs).encode()])
