"""Our reading of an mm2.properties against that of MirrorMaker's own classes, for generated files, key by key.

One Java program (tests/fleet/golden/MirrorFacts.java) reads all files in one JVM. Compared are the clusters, the
herders, what each client, worker and connector is given, what a flow replicates and under which names, and whether
MirrorMaker starts at all with the file.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from deploy.local.jars import jars
from fleet.errors import ConfigurationError
from fleet.java.properties import as_mapping, parse
from fleet.mm2.config_providers import Lookup
from fleet.mm2.properties import read_mm2
from fleet.mm2.resolution import CHECKPOINT, HEARTBEAT, SOURCE, Mm2Properties
from tests.fleet.mm2.test_properties import (
    ENVIRON,
    GOLDEN,
    INPUTS,
    NAMES,
    OVERRIDDEN,
    PLAIN,
    VERSIONS,
    read_input,
)
from tests.real.mm2_generated import generated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from fleet.verdicts.flow import Flow

SAMPLE, TRIALS = 150, 2000
SEED = 29
WAIT_S = 900
_POLICY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
BY_HAND = {
    "overridden": OVERRIDDEN,
    "overridden both ways": f"{PLAIN}B->A.enabled=true\nsource.cluster.alias=\nreplication.policy.separator=\ntopics=.*",
    "overridden identity": f"{PLAIN}source.cluster.alias=B\nreplication.policy.class={_POLICY}",
    "overridden by an alias": f"{PLAIN}A.alias=up\nB.alias=down\nreplication.policy.separator=_",
    "overridden by a flow": f"{PLAIN}A->B.source.cluster.alias=up\nA->B.target.cluster.alias=\ntopics=.*, heartbeats",
    "blanks around an alias": f"{PLAIN}source.cluster.alias=\\ up \ntarget.cluster.alias=\\t",
    "byte order mark": f"\xef\xbb\xbf{PLAIN}",
    "byte order mark and comment": f"\xef\xbb\xbf# x\n{PLAIN}",
    "task.max": f"{PLAIN}task.max=2\nA->B.task.max=3",
    "spaces": f"{PLAIN}A -> B.topics = x\nB\\ ->\\ A.enabled = true",
    "carriage returns": PLAIN.replace("\n", "\r\n"),
    "cluster": PLAIN.replace("clusters", "cluster"),
    "list with an empty entry": f"{PLAIN}topics=a,,b",
}
# Why MirrorMaker may refuse what we cannot judge: a class or a file is missing there, or a variable has no value.
_THEIRS_ALONE = re.compile(
    r"could not be found|does not implement|Could not read|\$\{|available (plugins|ConfigProviders)"
)
# Why we refuse what MirrorMaker starts with: without a value of the variable, or an address (3.x then takes
# localhost:9092), no client of ours reaches the cluster either. A byte order mark is named beside these.
_OURS_ALONE = re.compile(r"stays unresolved|cannot be resolved|write where the cluster is|byte order mark")


@dataclass
class Comparison:
    """What was compared, and every disagreement."""

    version: str
    files: int = 0
    accepted: int = 0
    keys: int = 0
    flows: int = 0
    wrong: list[str] = field(default_factory=list)

    def take(self, name: str, text: str, real: Any) -> None:
        self.files += 1
        ours, problems = self._read(text)
        if isinstance(real, str):
            if ours is not None and not _THEIRS_ALONE.search(real):
                self.wrong.append(f"{name}: accepted, but {real}")
            return
        mm2 = Mm2Properties(as_mapping(parse(text)), VERSIONS[self.version], Lookup(ENVIRON, read_input))
        herders = real["herders"]
        self._same(f"{name} clusters", sorted(mm2.clusters), real["clusters"])
        self._same(f"{name} herders", sorted(f"{a}->{b}" for a, b in mm2.pairs), sorted(herders))
        for alias, client in real["clients"].items():
            if isinstance(client, dict):  # else the client does not start
                self._all_keys(f"{name} client {alias}", mm2.client_config(alias), client)
        for source, target in mm2.pairs:
            if (herder := herders.get(f"{source}->{target}")) is not None:
                self._herder(f"{name} {source}->{target}", mm2, source, target, herder)
        self._starts(name, mm2, herders, ours, problems)

    def _read(self, text: str) -> tuple[dict[str, Flow] | None, list[str]]:
        try:
            mm2 = read_mm2(
                text, file="mm2", mirror_version=self.version, environ=ENVIRON, read_file=read_input
            )
        except ConfigurationError as error:
            return None, [str(problem) for problem in error.problems]
        return {flow.name: flow for flow in mm2.topology.flows}, []

    def _herder(self, name: str, mm2: Mm2Properties, source: str, target: str, real: Any) -> None:
        self._all_keys(f"{name} worker", mm2.worker_config(source, target), real["worker"])
        differs = {SOURCE: {}, CHECKPOINT: real["checkpoint_differs"], HEARTBEAT: real["heartbeat_differs"]}
        for connector, difference in differs.items():
            config = {key: value for key, value in (real["source"] | difference).items() if value is not None}
            self._all_keys(f"{name} {connector}", mm2.connector_config(source, target, connector), config)

    def _starts(
        self, name: str, mm2: Mm2Properties, herders: Any, ours: dict[str, Flow] | None, problems: list[str]
    ) -> None:
        """Compare the flows, and the reasons against starting MirrorMaker or one of its enabled flows."""
        reasons = [herder["worker_starts"] for herder in herders.values() if "worker_starts" in herder]
        enabled = []
        for flow, herder in herders.items():
            decisions = herder["decisions"]
            if isinstance(decisions, str):
                if mm2.read(herder["source"]["enabled"]).value.strip().lower() != "false":
                    reasons.append(decisions)
            elif decisions["enabled"]:
                enabled.append(flow)
                if ours is not None and flow in ours:
                    self._flow(f"{name} {flow}", ours[flow], decisions)
        judged = [reason for reason in reasons if not _THEIRS_ALONE.search(reason)]
        if ours is not None:
            self.accepted += 1
            self.wrong += [f"{name}: accepted, but {reason}" for reason in judged]
            if not reasons:
                self._same(f"{name} flows", sorted(ours), sorted(enabled))
        elif enabled and not reasons:
            self.wrong += [f"{name}: refused: {each}" for each in problems if not _OURS_ALONE.search(each)]

    def _flow(self, name: str, flow: Flow, real: Mapping[str, Any]) -> None:
        self.flows += 1
        major = VERSIONS[self.version]
        found = {
            "not_replicated": [topic for topic in NAMES if not flow.decide(topic).replicated],
            "orders": flow.remote_topic("orders"),
            "groups": [group for group in NAMES if flow.group_filter.matches(group, major=major)],
            "offset_syncs": flow.offset_syncs_topic,
            "checkpoints": flow.checkpoints_topic,
            "tasks.max": flow.tasks_max,
            "refresh.topics.s": flow.refresh_topics_interval_s,
            "offset.lag.max": flow.offset_lag_max,
            "emit.checkpoints.s": flow.emit_checkpoints_interval_s,
            "emit.heartbeats.s": flow.heartbeats_interval_s,
            "isolation.level": flow.isolation_level,
        }
        default = {
            "isolation.level": (
                real["isolation.level"] or "read_uncommitted"
            ).strip(),  # its consumer strips it
            "offset.lag.max": max(0, real["offset.lag.max"]),
        }
        self._all_keys(name, found, {key: real[key] for key in found} | default)

    def _all_keys(self, name: str, ours: Mapping[str, object], real: Mapping[str, object]) -> None:
        self.keys += len(real)
        for key in sorted(ours.keys() | real.keys()):
            self._same(f"{name}: {key}", ours.get(key), real.get(key))

    def _same(self, what: str, ours: object, real: object) -> None:
        if ours != real:
            self.wrong.append(f"{what}: ours {ours!r}, real {real!r}")


def answers_about(folder: Path, version: str) -> Iterator[tuple[str, Any]]:
    """Give the name of each file in the folder, and what MirrorMaker of this version makes of it."""
    command = [
        "java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx384m", "-Dlog4j2.level=OFF",
        "-cp", f"{jars(version)}/*", str(GOLDEN / "MirrorFacts.java"), str(folder),
    ]  # fmt: skip
    with (folder.parent / "answers").open("w+", encoding="utf-8") as out:
        subprocess.run(
            command, cwd=INPUTS, env={**os.environ, **ENVIRON}, stdout=out, stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL, check=True, timeout=WAIT_S,
        )  # fmt: skip
        out.seek(0)
        for line in out:
            name, tab, answer = line.partition("\t")
            if tab:  # else Kafka says something of its own
                yield json.loads(name), json.loads(answer)


def compared(files: Mapping[str, bytes], folder: Path, version: str) -> Comparison:
    inputs = folder / "files"
    inputs.mkdir()
    for name, content in files.items():
        (inputs / name).write_bytes(content)
    found = Comparison(version)
    for name, answer in answers_about(inputs, version):
        found.take(name, files[name].decode("latin-1"), answer)
    assert found.files == len(files)
    assert not found.wrong, "\n".join(found.wrong[:20])
    return found


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_a_sample_of_files_is_read_as_mirrormaker_reads_it(tmp_path, version):
    files = {f"{name}.properties": text.encode("latin-1") for name, text in BY_HAND.items()}
    found = compared(files | generated(SEED, SAMPLE), tmp_path, version)
    assert found.accepted > SAMPLE / 3
    assert found.flows > SAMPLE / 3
    assert found.keys > 100 * SAMPLE


@pytest.mark.long
@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_thousands_of_files_are_read_as_mirrormaker_reads_them(tmp_path, version):
    found = compared(generated(SEED + 1, TRIALS), tmp_path, version)
    print(f"Kafka {version}: {found.files} files, {found.flows} flows, {found.keys} keys")
    assert found.keys > 100 * TRIALS


@pytest.mark.long
@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_new_files_are_read_as_mirrormaker_reads_them(tmp_path, version):
    seed = secrets.randbits(32)
    print(f"seed {seed}")  # shown where it fails
    compared(generated(seed, TRIALS // 4), tmp_path, version)
