"""Asks the real MirrorClient with MirrorClientFacts.java, and gives our answers in the same form."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.local.jars import jars
from fleet.mm2.mirror_client import view_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fleet.mm2.replication import ReplicationPolicy

_PROGRAM = Path(__file__).with_name("MirrorClientFacts.java")
_WAIT_S = 300


def java_answers(questions: Sequence[dict[str, Any]], version: str) -> list[dict[str, Any]]:
    """Return the answer of MirrorClient `version` to each question: `props`, `aliases`, `topics`, `group`."""
    command = [
        "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xmx256m",
        "-Dlog4j2.level=OFF", "-cp", f"{jars(version)}/*", str(_PROGRAM),
    ]  # fmt: skip
    asked = "".join(f"{json.dumps(question)}\n" for question in questions)
    ended = subprocess.run(
        command, input=asked, capture_output=True, text=True, encoding="utf-8", check=False, timeout=_WAIT_S
    )
    assert ended.returncode == 0, ended.stderr[-3000:]
    found = [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]
    assert len(found) == len(questions), ended.stdout[-3000:]
    return found


def our_answer(
    topics: Iterable[str], policy: ReplicationPolicy, version: str, aliases: Iterable[str]
) -> dict[str, Any]:
    """Return what our view answers, in the form of the Java program."""
    view = view_of(topics, policy, version)
    return {
        "topics": sorted(topics),
        "upstream": sorted(view.upstream_clusters),
        "heartbeats": list(view.heartbeat_topics),
        "checkpoints": list(view.checkpoint_topics),
        "remote": list(view.remote_topics),
        "hops": {alias: view.replication_hops(alias) for alias in aliases},
        "remote_by_source": {alias: list(view.remote_topics_of(alias)) for alias in aliases},
        "checkpoints_read": {alias: policy.checkpoints_topic(alias) for alias in aliases},
    }
