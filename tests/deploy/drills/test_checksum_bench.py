"""The bench of the checksum's drills: what goes wrong with one ends neither the others nor stays behind."""

from __future__ import annotations

import subprocess
from types import MappingProxyType, SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from deploy.drills import checksum_bench
from deploy.drills.catalogue_checksum import AUDITS
from deploy.drills.checksum_bench import AuditBench
from deploy.drills.ledger import Ledger
from deploy.drills.listening import DrillError
from deploy.drills.result import Result, as_line

FIRST, SECOND = AUDITS[:2]


class Mirror:
    settings = MappingProxyType({})

    def __init__(self, folder):
        self.properties_file = folder / "mirror.properties"
        self.switch = SimpleNamespace(off=lambda: None)
        self.restarts = 0
        self.is_ready = True

    def restart(self):
        self.restarts += 1

    def wait_ready(self):
        if not self.is_ready:
            raise TimeoutError("the mirror's start did not happen")


@pytest.fixture
def bench(tmp_path, monkeypatch):
    made = AuditBench(tmp_path)
    made.pair = SimpleNamespace(
        folder=tmp_path,
        mirror=Mirror(tmp_path),
        b=SimpleNamespace(client_properties=dict),
        attend=lambda: None,
        write_stack_file=lambda: None,
    )
    monkeypatch.setattr(checksum_bench, "LOOK_S", 0.001)
    return made


@pytest.mark.parametrize(
    "error",
    [DrillError("it hangs"), TimeoutError("it is late"), KafkaException(KafkaError(KafkaError._TIMED_OUT))],
)
def test_after_a_drill_that_failed_the_stack_is_brought_back_and_the_next_runs(bench, monkeypatch, error):
    kept, failed, back = [], [], []

    def audit(one):
        if one is FIRST:
            raise error
        return Result(one.label)

    monkeypatch.setattr(bench, "_audit", audit)
    monkeypatch.setattr(checksum_bench, "bring_back", lambda *asked: back.append(asked))
    bench.run([FIRST, SECOND], lambda one, _: kept.append(one), failed.append)
    assert (failed, kept) == ([FIRST.label], [SECOND])
    assert back == [(bench.pair, FIRST, FIRST.topic)]


def test_settings_that_do_not_come_to_hold_are_set_again(bench):
    bench._set({})
    assert bench.pair.mirror.restarts == 0
    bench.pair.mirror.is_ready = False
    with pytest.raises(TimeoutError):
        bench._set({"errors.tolerance": "all"})
    bench.pair.mirror.is_ready = True
    bench._set({"errors.tolerance": "all"})
    bench._set({"errors.tolerance": "all"})
    assert bench.pair.mirror.restarts == 2


@pytest.mark.parametrize("after_failing", [{}, {"errors.tolerance": "all"}])
def test_so_are_those_of_before(bench, after_failing):
    bench.pair.mirror.is_ready = False
    with pytest.raises(TimeoutError):
        bench._set({"errors.tolerance": "all"})
    bench.pair.mirror.is_ready = True
    bench._set(after_failing)
    assert bench.pair.mirror.restarts == 2


def test_a_broker_that_is_away_is_no_target_that_hangs(bench, monkeypatch):
    monkeypatch.setattr(checksum_bench, "_STILL_S", 0.02)
    monkeypatch.setattr(checksum_bench, "_COPIED_S", 0.2)
    ends = [-1] * 20 + [7] * 1000
    monkeypatch.setattr(bench, "_copies", lambda _: ends.pop(0))
    bench._wait_copied(FIRST)
    assert ends[:1] == [7]
    monkeypatch.setattr(bench, "_copies", lambda _: -1)
    with pytest.raises(DrillError, match="the copies of audited-drop-some do not come to an end"):
        bench._wait_copied(FIRST)


def test_a_checksum_that_hangs_fails_its_drill_alone(tmp_path, monkeypatch):
    def hang(command, **how):
        raise subprocess.TimeoutExpired(command, how["timeout"])

    monkeypatch.setattr(subprocess, "run", hang)
    service = SimpleNamespace(config=tmp_path / "mirrorwatch.yaml")
    with pytest.raises(DrillError, match="the checksum did not end within 300 s"):
        checksum_bench._checksum(service, FIRST, tmp_path / "result.json")


def test_a_drill_that_failed_keeps_no_row_of_before(tmp_path):
    file = tmp_path / "results.jsonl"
    lines = [as_line(Result(one.label)) + "\n" for one in (FIRST, SECOND)]
    file.write_text("".join(lines))
    ledger = Ledger(file)
    ledger.fail(FIRST.label)
    ledger.fail("checksum-kill-mirror")  # that has none
    assert file.read_text() == lines[1]
    assert list(ledger.results) == [SECOND.label]
    assert ledger.failed == [FIRST.label, "checksum-kill-mirror"]
