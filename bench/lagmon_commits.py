"""Commits of many groups, as real as they come: made over the Admin API, many calls in flight.

As a program it goes on committing at a rate, until it has done so for some seconds:

    python -m bench.lagmon_commits BOOTSTRAP GROUPS TOPICS RATE SECONDS FILE

FILE gets {"commits": made, "seconds": how long} as JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition

from deploy.local.topics import admin_client

if TYPE_CHECKING:
    from collections.abc import Iterable

PARTITIONS = 100  # of each topic, and of each group, which reads one topic
RECORDS = 8  # in each partition: no group commits beyond them
_IN_FLIGHT = 100
_ANSWER_S = 60.0
_TRIES, _PAUSE_S = 100, 0.2
_SOON_OVER = frozenset(  # while coordinators are found and begin their work
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
    }
)


def topic_name(number: int) -> str:
    """Return what the topic of this number is called."""
    return f"orders-{number:04d}"


def group_name(number: int) -> str:
    """Return what the group of this number is called."""
    return f"group-{number:04d}"


def offset_of(turn: int) -> int:
    """Return what every group commits at its `turn`: it moves on slowly, and never past the end."""
    return min(turn // 4, RECORDS - 1)


class Committer:
    """Makes every group commit its whole topic, group after group and turn after turn."""

    def __init__(self, client: dict[str, str], *, topics: int, partitions: int = PARTITIONS) -> None:
        self._admin = admin_client(client)
        self._topics = topics
        self._partitions = partitions
        self._pending: deque[Any] = deque()

    def commit(self, group: int, turn: int) -> None:
        """Have one group commit; waits for an older answer where too many are due."""
        topic, offset = topic_name(group % self._topics), offset_of(turn)
        wanted = [TopicPartition(topic, number, offset) for number in range(self._partitions)]
        self._ask(ConsumerGroupTopicPartitions(group_name(group), wanted), _TRIES)
        while len(self._pending) > _IN_FLIGHT:
            self._hear()

    def finish(self) -> None:
        """Wait for every answer."""
        while self._pending:
            self._hear()

    def _ask(self, request: ConsumerGroupTopicPartitions, tries: int) -> None:
        answer = self._admin.alter_consumer_group_offsets([request])[request.group_id]
        self._pending.append((request, answer, tries))

    def _hear(self) -> None:
        request, answer, tries = self._pending.popleft()
        try:
            told = answer.result(_ANSWER_S).topic_partitions
            wrong = [one.error for one in told if one.error is not None]
        except KafkaException as error:
            wrong = [error.args[0]]
        if wrong and wrong[0].code() in _SOON_OVER and tries:
            time.sleep(_PAUSE_S)
            self._ask(request, tries - 1)
        elif wrong:
            raise RuntimeError(f"A commit was refused: {wrong[0]}")


def write_commits(
    client: dict[str, str], groups: Iterable[int], *, topics: int, turns: int, partitions: int = PARTITIONS
) -> float:
    """Have all groups commit turn after turn; return the seconds that it took."""
    began = time.monotonic()
    committer, numbers = Committer(client, topics=topics, partitions=partitions), list(groups)
    for group in numbers:  # the first commit of a group has its coordinator looked up
        committer.commit(group, 0)
    committer.finish()
    for turn in range(1, turns):
        for group in numbers:
            committer.commit(group, turn)
    committer.finish()
    return time.monotonic() - began


def main() -> None:
    """Commit at a rate and write down how often that was."""
    bootstrap, groups, topics, rate, seconds, file = sys.argv[1:]
    committer = Committer({"bootstrap.servers": bootstrap}, topics=int(topics))
    began = time.monotonic()
    calls = 0
    while (now := time.monotonic()) - began < float(seconds):
        if calls < (now - began) * int(rate) / PARTITIONS:
            committer.commit(calls % int(groups), RECORDS * 4)
            calls += 1
        else:
            time.sleep(0.002)
    committer.finish()
    told = {"commits": calls * PARTITIONS, "seconds": time.monotonic() - began}
    Path(file).write_text(json.dumps(told), encoding="utf-8")


if __name__ == "__main__":
    main()
