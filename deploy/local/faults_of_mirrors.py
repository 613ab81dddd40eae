"""Faults of the mirror's processes, tasks, settings and connections."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from deploy.local import acts, acts_topics, topics
from deploy.local.fault import CANARY_TOPIC, Fault

if TYPE_CHECKING:
    from deploy.local.stage import Stage

_TERM, _KILL, _STOP, _CONT = signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT


def _delete_own_topics(stage: Stage, _topic: str) -> None:
    """Delete the topics in which the mirror keeps where it is and how offsets of both sides go together."""
    topics.delete_topic(stage.client("B"), acts_topics.OFFSETS)
    topics.delete_topic(stage.client("A"), "mm2-offset-syncs.B.internal")


MIRROR_FAULTS: tuple[Fault, ...] = (
    Fault(
        name="fail-one-task",
        sentence="One of several tasks of the mirror fails on a record; the others continue.",
        begin=acts_topics.fail_partition,
        end=acts.switch_off_and_restart,
    ),
    Fault(
        name="hang-one-task",
        sentence="One of several tasks of the mirror hangs, its state is RUNNING; the others continue.",
        begin=acts.switch("hang", partition=1),
        end=acts.switch_off,
    ),
    Fault(
        name="second-mirror",
        sentence="A second mirror with its own storage runs on the same flow: every record arrives twice.",
        begin=acts.start("second"),
        end=acts.finish("second", _TERM),
    ),
    Fault(
        name="way-back",
        sentence="A mirror in the other direction keeps topic names too: records loop forever.",
        begin=acts.start("way-back"),
        end=acts.finish("way-back", _KILL),
    ),
    Fault(
        name="convert-values",
        sentence="The mirror runs with StringConverter for keys and values.",
        begin=acts.configure(
            dict.fromkeys(
                ("A->B.key.converter", "A->B.value.converter"),
                "org.apache.kafka.connect.storage.StringConverter",
            )
        ),
        end=acts.configure_back,
    ),
    Fault(
        name="convert-json",
        sentence="The mirror runs with JsonConverter for keys and values, without the topic with tombstones.",
        begin=acts.configure(
            {
                "A->B.key.converter": "org.apache.kafka.connect.json.JsonConverter",
                "A->B.value.converter": "org.apache.kafka.connect.json.JsonConverter",
                # MirrorMaker calls every value required: such a converter fails its task at the first null.
                "A->B.topics.exclude": "mm2.*\\.internal, __.*, stock-levels",
            }
        ),
        end=acts.configure_back,
    ),
    Fault(
        name="convert-headers",
        sentence="The mirror runs with SimpleHeaderConverter.",
        begin=acts.configure(
            {"A->B.header.converter": "org.apache.kafka.connect.storage.SimpleHeaderConverter"}
        ),
        end=acts.configure_back,
    ),
    Fault(
        name="exclude-topic",
        sentence="The topic is added to the mirror's topics.exclude.",
        begin=acts.configure({"A->B.topics.exclude": "mm2.*\\.internal, __.*, TOPIC"}),
        end=acts.configure_back,
    ),
    Fault(
        name="wrong-bootstrap",
        sentence="The mirror is restarted with a wrong address of the source.",
        begin=acts.configure({"A.bootstrap.servers": "127.0.0.1:1"}),
        end=acts.configure_back,
    ),
    Fault(
        name="pause-mirror",
        sentence="The mirror's connector is paused.",
        begin=acts_topics.set_state("PAUSED"),
        end=acts_topics.set_state("STARTED"),
    ),
    Fault(
        name="small-fetches",
        sentence="The mirror is restarted with fetches of one byte and compressed batches.",
        begin=acts.configure(
            {"A->B.consumer.max.partition.fetch.bytes": "1", "B.producer.compression.type": "gzip"}
        ),
        end=acts.configure_back,
    ),
    Fault(
        name="forget-offsets",
        sentence="The mirror's own offsets are lost: after a restart it replicates everything again.",
        begin=acts_topics.forget_offsets,
        end=acts.nothing,
    ),
    Fault(
        name="delete-own-topics",
        sentence="The mirror's own topics of offsets and offset syncs are deleted while it runs.",
        begin=_delete_own_topics,
        end=acts.restart("mirror"),
    ),
    Fault(
        name="cut-source",
        sentence="The mirror's connections to the source are reset; other clients reach it.",
        begin=acts.order_proxy("reset"),
        end=acts.order_proxy("pass"),
    ),
    Fault(
        name="slow-link",
        sentence="Every byte between the source and the mirror takes 4 s.",
        begin=acts.order_proxy("delay 4"),
        end=acts.order_proxy("pass"),
    ),
    Fault(
        name="quota",
        sentence="A quota on the target limits each client to 20 kB/s.",
        begin=acts_topics.quota("B", 20_000),
        end=acts_topics.quota("B", None),
    ),
    Fault(
        name="neighbour",
        sentence="Another installation of Mirrorwatch uses the same canary topic.",
        begin=acts.start("neighbour"),
        end=acts.finish("neighbour", _TERM),
        topic=CANARY_TOPIC,
    ),
)
