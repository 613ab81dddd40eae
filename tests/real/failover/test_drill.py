"""A planned failover is watched: each step is named as it is reached, and the record is kept."""

from __future__ import annotations

import subprocess
import sys

import pytest

from deploy.drills.failovers import PARTITIONS, Reader, committed, configured, mirrorwatch, traffic
from deploy.local.process import ROOT
from tests.eventually import eventually
from tests.real.failover.test_failover import stage

__all__ = ["stage"]


@pytest.mark.long
def test_the_steps_of_a_planned_failover(stage, tmp_path):
    pair, running, topic, group = stage
    source, target = pair.a.client_properties(), pair.b.client_properties()
    config, said = configured(tmp_path, running), tmp_path / "said"
    about = ("--from", "2026-01-01T00:00Z", "--to", "2026-01-01T00:01Z", "--author", "me", "--reason", "why")
    mirrorwatch("exclude", config, "--flow", "A:B", *about, status=0)  # makes the store
    with traffic(source, topic), Reader(source, group, topic, protocol="classic") as reader:
        eventually(
            lambda: len(committed(target, group, f"A.{topic}")) == PARTITIONS, 90, what="synced offsets"
        )
        with said.open("wb") as out:
            drill = subprocess.Popen(
                [sys.executable, "-m", "mirrorwatch", "drill", config, "--flow", "A:B", "--group", group],
                stdout=out,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
            )
        try:
            eventually(
                lambda: "waits for: stop everything that writes to A" in said.read_text(), 60, what="ready"
            )
            assert len(reader.read) > 0
        except BaseException:
            drill.kill()
            raise
    assert drill.wait(120) == 0, said.read_text()
    lines = said.read_text().splitlines()
    steps = [line for line in lines if " of 5 " in line]
    assert [line[:1] for line in steps] == list("12345"), lines
    assert steps[-1].startswith("5 of 5 offsets final: the groups read ")
    assert "A->B, 1 group, complete in " in mirrorwatch("drill", config, "--list", status=0)
