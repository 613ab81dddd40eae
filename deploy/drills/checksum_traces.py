"""What a fault changes on the stack where it changes no record that is compared.

A drill of which nothing is to be said is right only if something shows that its fault was there: each of
these is read before the fault begins and once the target hangs again. Errors of the Kafka client
pass through.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    TopicPartition,
)

from deploy.local import topics

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deploy.local.pair import Pair

    Trace = Callable[[Pair, str], int | str]

MIRROR: Final = "process of the mirror"
TARGET: Final = "process of the target"
TOPIC_ID: Final = "id of the source's topic"
PARTITIONS: Final = "partitions of the source's topic"
GIVEN_UP: Final = "records given up on the source"
STAMPED: Final = "records that the target stamped"
_ANSWER_S: Final = 20.0


def _mirror(pair: Pair, _topic: str) -> int:
    assert pair.mirror is not None
    return pair.mirror.pid


def _given_up(pair: Pair, topic: str) -> int:
    client = pair.a.client_properties()
    whole = _records(client, topic, committed=False)  # first, since what is written meanwhile is none of it
    return len(whole.keys() - _records(client, topic, committed=True).keys())


def _stamped(pair: Pair, topic: str) -> int:
    return sum(_records(pair.b.client_properties(), f"A.{topic}", committed=False).values())


def _records(client: Mapping[str, str], topic: str, *, committed: bool) -> dict[tuple[int, int], bool]:
    """Return by partition and offset of each record of a topic whether its log has stamped it."""
    found: dict[tuple[int, int], bool] = {}
    settings = {
        **client,
        "group.id": "traces",
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed" if committed else "read_uncommitted",
        "log_level": 0,
    }
    left = set(range(topics.partition_count(client, topic)))  # to an end, of which there are more in traffic
    with closing(Consumer(settings)) as consumer:
        consumer.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in left])
        while left:
            message = consumer.poll(_ANSWER_S)
            if message is None:
                raise TimeoutError(f"{topic} could not be read: nothing came for {_ANSWER_S:g} s")
            error = message.error()
            if error is None:
                place = message.partition() or 0, message.offset() or 0
                found[place] = message.timestamp()[0] == TIMESTAMP_LOG_APPEND_TIME
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - the client's name for it
                left.discard(message.partition() or 0)
            else:
                raise KafkaException(error)
    return found


TRACES: Final[Mapping[str, Trace]] = {
    MIRROR: _mirror,
    TARGET: lambda pair, _: pair.b.pid,
    TOPIC_ID: lambda pair, topic: topics.topic_id(pair.a.client_properties(), topic),
    PARTITIONS: lambda pair, topic: topics.partition_count(pair.a.client_properties(), topic),
    GIVEN_UP: _given_up,
    STAMPED: _stamped,
}
