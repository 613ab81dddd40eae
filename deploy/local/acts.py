"""The acts that faults are made of: each returns a function of the stack and a topic's name on the source."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from deploy.local import topics
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from deploy.local.stage import Stage

STRAY_TOPIC = "strayed"


def send(name: str, number: signal.Signals) -> Callable[[Stage, str], None]:
    """Send a signal to `mirror`, A or B."""
    return lambda stage, _: stage.send(name, number)


def finish(name: str, number: signal.Signals) -> Callable[[Stage, str], None]:
    """End `mirror`, A or B by a signal and wait until it is gone."""
    return lambda stage, _: stage.end(name, number)


def start(name: str) -> Callable[[Stage, str], None]:
    """Start `mirror`, A or B again."""
    return lambda stage, _: stage.start(name)


def restart(name: str) -> Callable[[Stage, str], None]:
    """End `mirror`, A or B gracefully and start it again."""

    def act(stage: Stage, _: str) -> None:
        stage.end(name, signal.SIGTERM)
        stage.start(name)

    return act


def switch(mode: str, **options: str | int) -> Callable[[Stage, str], None]:
    """Have the mirror's transformation do `mode` to the topic."""
    return lambda stage, topic: stage.switch.on(mode, topics=re.escape(topic), **options)


def switch_off(stage: Stage, _topic: str) -> None:
    """Have the mirror's transformation do nothing."""
    stage.switch.off()


def switch_off_and_restart(stage: Stage, topic: str) -> None:
    """End a fault that made a task fail, which stays failed until its worker restarts."""
    switch_off(stage, topic)
    restart("mirror")(stage, topic)


def configure(settings: Mapping[str, str]) -> Callable[[Stage, str], None]:
    """Restart the mirror with these settings over its own; `TOPIC` in a value stands for the topic's name."""

    def act(stage: Stage, topic: str) -> None:
        stage.configure({key: value.replace("TOPIC", re.escape(topic)) for key, value in settings.items()})
        restart("mirror")(stage, topic)

    return act


def configure_back(stage: Stage, topic: str) -> None:
    """Restart the mirror with the settings that it had before."""
    stage.configure_back()
    restart("mirror")(stage, topic)


def order_proxy(text: str) -> Callable[[Stage, str], None]:
    """Have the proxy between the source and the mirror do this; nothing where the text is empty."""

    def act(stage: Stage, _topic: str) -> None:
        stage.proxy_order.write_text(text, encoding="ascii")

    return act


def misroute(stage: Stage, topic: str) -> None:
    """Have every third record of the topic written into another topic of the target."""
    if topics.partition_count(stage.client("B"), STRAY_TOPIC) == 0:
        topics.create_topic(stage.client("B"), STRAY_TOPIC)
    stage.switch.on("misroute", topics=re.escape(topic), modulus=3, to=STRAY_TOPIC)


def overtake(stage: Stage, topic: str) -> None:
    """Kill the mirror, wait until the topic has grown, and delete its records on the source."""
    stage.end("mirror", signal.SIGKILL)
    client = stage.client("A")
    before = topics.log_end(client, topic)
    wait_until(lambda: topics.log_end(client, topic) >= before + 20, deadline_s=60, what=f"Growth of {topic}")
    topics.delete_records(client, topic)


def recreate(alias: str, prefix: str = "") -> Callable[[Stage, str], None]:
    """Delete the topic on A or B, where `prefix` stands before its name, and create it again."""
    return lambda stage, topic: topics.recreate_topic(stage.client(alias), prefix + topic)


def add_partition(stage: Stage, topic: str) -> None:
    """Give the topic on the source one partition more."""
    client = stage.client("A")
    topics.add_partitions(client, topic, total=topics.partition_count(client, topic) + 1)


def repartition(stage: Stage, topic: str) -> None:
    """Have every third record of the topic written into the next partition."""
    count = topics.partition_count(stage.client("A"), topic)
    stage.switch.on("repartition", topics=re.escape(topic), modulus=3, count=count)


def nothing(_stage: Stage, _topic: str) -> None:
    """Leave it as it is: what happened once cannot be taken back."""
