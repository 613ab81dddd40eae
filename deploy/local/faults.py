"""The register of what can be made to go wrong, each with a sentence, how it begins and how it ends.

They act from any process, by what stands in the stack's folder:

    python -m deploy.local.faults FOLDER begin|end|list NAME [--topic TOPIC]

The service that watches never sees this module: it has to find out by itself. What is to be said of each
fault stands in `deploy/drills/catalogue.py`.
"""

from __future__ import annotations

import argparse
import json
import signal
from pathlib import Path

from confluent_kafka import KafkaException

from deploy.local import acts
from deploy.local.fault import Fault
from deploy.local.faults_of_mirrors import MIRROR_FAULTS
from deploy.local.faults_of_offsets import OFFSET_FAULTS
from deploy.local.faults_of_topics import TOPIC_FAULTS
from deploy.local.jars import StackError
from deploy.local.stage import Stage

_TERM, _KILL, _STOP, _CONT = signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT

FAULTS: tuple[Fault, ...] = (
    Fault(
        name="freeze-mirror",
        sentence="MirrorMaker is frozen (SIGSTOP): its connections stay open and its states are RUNNING.",
        begin=acts.send("mirror", _STOP),
        end=acts.send("mirror", _CONT),
    ),
    Fault(
        name="kill-mirror",
        sentence="MirrorMaker is killed (SIGKILL).",
        begin=acts.finish("mirror", _KILL),
        end=acts.start("mirror"),
    ),
    Fault(
        name="restart-mirror",
        sentence="MirrorMaker is restarted in an orderly way.",
        begin=acts.restart("mirror"),
        end=acts.nothing,
    ),
    Fault(
        name="drop-some",
        sentence="The mirror silently drops every third record of a topic; all of its metrics stay green.",
        begin=acts.switch("drop", modulus=3),
        end=acts.switch_off,
    ),
    Fault(
        name="drop-tombstones",
        sentence="The mirror silently drops the records without a value of a topic.",
        begin=acts.switch("drop", select="tombstones"),
        end=acts.switch_off,
        topic="stock-levels",
    ),
    Fault(
        name="drop-topic",
        sentence="The mirror silently drops every record of a topic.",
        begin=acts.switch("drop"),
        end=acts.switch_off,
    ),
    Fault(
        name="misroute-some",
        sentence="The mirror writes every third record of a topic into another topic.",
        begin=acts.misroute,
        end=acts.switch_off,
    ),
    Fault(
        name="alter-some",
        sentence="The mirror changes one bit in the value of every third record of a topic.",
        begin=acts.switch("alter", modulus=3),
        end=acts.switch_off,
    ),
    Fault(
        name="drop-headers",
        sentence="The mirror drops the headers of every third record of a topic.",
        begin=acts.switch("unheader", modulus=3),
        end=acts.switch_off,
    ),
    Fault(
        name="retime-some",
        sentence="The mirror moves the timestamp of every third record of a topic by an hour.",
        begin=acts.switch("retime", modulus=3),
        end=acts.switch_off,
    ),
    Fault(
        name="slow-mirror",
        sentence="The mirror waits for 2 s before each record of a topic.",
        begin=acts.switch("slow", pause_ms=2000),
        end=acts.switch_off,
    ),
    Fault(
        name="fail-task",
        sentence="A record of a topic makes its task fail: its state is FAILED and the whole task stops.",
        begin=acts.switch("fail"),
        end=acts.switch_off_and_restart,
    ),
    Fault(
        name="stop-target",
        sentence="The target's broker is stopped in an orderly way.",
        begin=acts.finish("B", _TERM),
        end=acts.start("B"),
    ),
    Fault(
        name="kill-target",
        sentence="The target's broker is killed (SIGKILL).",
        begin=acts.finish("B", _KILL),
        end=acts.start("B"),
    ),
    Fault(
        name="freeze-target",
        sentence="The target's broker is frozen (SIGSTOP): it accepts connections and never answers.",
        begin=acts.send("B", _STOP),
        end=acts.send("B", _CONT),
    ),
    Fault(
        name="restart-target",
        sentence="The target's broker is restarted in an orderly way.",
        begin=acts.restart("B"),
        end=acts.nothing,
    ),
    Fault(
        name="stop-source",
        sentence="The source's broker is stopped in an orderly way.",
        begin=acts.finish("A", _TERM),
        end=acts.start("A"),
    ),
    Fault(
        name="kill-source",
        sentence="The source's broker is killed (SIGKILL).",
        begin=acts.finish("A", _KILL),
        end=acts.start("A"),
    ),
    Fault(
        name="freeze-source",
        sentence="The source's broker is frozen (SIGSTOP): it accepts connections and never answers.",
        begin=acts.send("A", _STOP),
        end=acts.send("A", _CONT),
    ),
    Fault(
        name="restart-source",
        sentence="The source's broker is restarted in an orderly way.",
        begin=acts.restart("A"),
        end=acts.nothing,
    ),
    Fault(
        name="overtake",
        sentence="While MirrorMaker is down, records that it has not replicated are deleted on the source.",
        begin=acts.overtake,
        end=acts.start("mirror"),
    ),
    Fault(
        name="recreate-source-topic",
        sentence="A topic is deleted and created again on the source under the running mirror.",
        begin=acts.recreate("A"),
        end=acts.nothing,
        topic="page-views",
    ),
    Fault(
        name="recreate-target-topic",
        sentence="A mirrored topic is re-created on the target: its records are not sent again.",
        begin=acts.recreate("B", "A."),
        end=acts.nothing,
        topic="page-views",
    ),
    Fault(
        name="add-partitions",
        sentence="A topic on the source gets one more partition.",
        begin=acts.add_partition,
        end=acts.nothing,
        topic="page-views",
    ),
    *MIRROR_FAULTS,
    *TOPIC_FAULTS,
    *OFFSET_FAULTS,
)

BY_NAME = {fault.name: fault for fault in FAULTS}


def main() -> None:
    """Begin or end a fault of the stack in FOLDER, or list the faults there are."""
    parser = argparse.ArgumentParser(prog="python -m deploy.local.faults", description=main.__doc__)
    parser.add_argument("folder", type=Path, help="the folder of the stack, with its stack.json")
    parser.add_argument("act", choices=["begin", "end", "list"])
    parser.add_argument("name", nargs="?", choices=sorted(BY_NAME), metavar="NAME")
    parser.add_argument("--topic", help="the topic's name on the source (each fault has a default)")
    chosen = parser.parse_args()
    if chosen.act == "list":
        for fault in FAULTS:
            print(f"{fault.name:24} {fault.sentence}")
        return
    if chosen.name is None:
        parser.error(f"{chosen.act} needs the name of a fault")
    fault = BY_NAME[chosen.name]
    act = fault.begin if chosen.act == "begin" else fault.end
    try:
        act(Stage(chosen.folder), chosen.topic or fault.topic)
    except (OSError, KafkaException, TimeoutError, StackError, json.JSONDecodeError) as error:
        raise SystemExit(f"{fault.name} could not {chosen.act}: {error}") from None


if __name__ == "__main__":
    main()
