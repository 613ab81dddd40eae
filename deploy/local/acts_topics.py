"""The acts that change topics, quotas and the mirror's own records, as an operator or a stranger would."""

from __future__ import annotations

import re
import signal
import time
from typing import TYPE_CHECKING

from confluent_kafka import Producer

from deploy.local import acts, strangers, topics
from deploy.local.quotas import limit_clients
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deploy.local.stage import Stage

_SOME = 20_000
JOINS_S = 30.0  # what another worker takes to join the group and to be given tasks
OFFSETS = "mm2-offsets.A.internal"


def alter(alias: str, settings: Mapping[str, str | None], prefix: str = "") -> Callable[[Stage, str], None]:
    """Set settings of the topic on A or B, or remove them; `prefix` stands before its name there."""
    return lambda stage, topic: topics.alter_config(stage.client(alias), prefix + topic, settings)


def in_turn(*steps: Callable[[Stage, str], None]) -> Callable[[Stage, str], None]:
    """Do one act after the other."""

    def act(stage: Stage, topic: str) -> None:
        for step in steps:
            step(stage, topic)

    return act


def delete(alias: str, prefix: str = "") -> Callable[[Stage, str], None]:
    """Delete the topic on A or B."""
    return lambda stage, topic: topics.delete_topic(stage.client(alias), prefix + topic)


def recreate_while_stopped(stage: Stage, topic: str) -> None:
    """Stop the mirror, re-create the source's topic, let it grow longer than it was, start the mirror."""
    client = stage.client("A")
    before = topics.log_end(client, topic)
    stage.end("mirror", signal.SIGTERM)
    topics.recreate_topic(client, topic)
    deadline_s = 120 + before  # it grew by a record or two a second until now
    wait_until(
        lambda: topics.log_end(client, topic) > before + 6, deadline_s=deadline_s, what=f"Growth of {topic}"
    )
    stage.start("mirror")


def write_strange(alias: str, prefix: str = "") -> Callable[[Stage, str], None]:
    """Write random, truncated, oversized and hostile records into the topic on A or B."""

    def act(stage: Stage, topic: str) -> None:
        client, name = stage.client(alias), prefix + topic
        strangers.write(client, name, count=_SOME, partitions=topics.partition_count(client, name))

    return act


def set_state(state: str) -> Callable[[Stage, str], None]:
    """Tell the mirror's herder that its connector is to be STARTED or PAUSED, as Connect's REST API would.

    A dedicated MirrorMaker serves no such call; the record that it would write can be written by any client.
    """

    def act(stage: Stage, _topic: str) -> None:
        producer = Producer({**stage.client("B"), "log_level": 0})
        value = f'{{"state":"{state}","state.v2":"{state}"}}'
        producer.produce("mm2-configs.A.internal", value, "target-state-MirrorSourceConnector", 0)
        if producer.flush(20) > 0:
            raise TimeoutError("the mirror's configs topic did not take its new state within 20 s")

    return act


def alter_offsets(settings: Mapping[str, str | None]) -> Callable[[Stage, str], None]:
    """Set settings of the topic in which the mirror keeps its own offsets, or remove them."""
    return lambda stage, _topic: topics.alter_config(stage.client("B"), OFFSETS, settings)


def forget_offsets(stage: Stage, topic: str) -> None:
    """Stop the mirror, take away where it had got to, and start it: it replicates everything again."""
    stage.end("mirror", signal.SIGTERM)
    topics.delete_topic(stage.client("B"), OFFSETS)  # the mirror makes it again
    acts.start("mirror")(stage, topic)


def freeze_beside(companion: str) -> Callable[[Stage, str], None]:
    """Start another worker of the mirror's group, and freeze the mirror once both copy."""

    def act(stage: Stage, _topic: str) -> None:
        stage.start(companion)
        time.sleep(JOINS_S)
        stage.send("mirror", signal.SIGSTOP)

    return act


def quota(alias: str, bytes_per_s: int | None) -> Callable[[Stage, str], None]:
    """Limit what each client may produce to A or B, or remove the limit."""
    settings = {"producer_byte_rate": bytes_per_s}
    return lambda stage, _: limit_clients(stage.client(alias)["bootstrap.servers"], None, settings)


def fail_partition(stage: Stage, topic: str) -> None:
    """Have the mirror fail on the records of partition 1: only the task that carries it."""
    stage.switch.on("fail", topics=re.escape(topic), partition=1)
