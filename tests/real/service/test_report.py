"""A report from the store of a real service on real clusters: with a fault, kill -9, and a second replica."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import subprocess
import sys
import time
from datetime import datetime

import pytest

from tests.eventually import eventually
from tests.real.service.process import ServiceProcess

LIMIT_S = 200.0


@pytest.fixture
def topic(topic_name):
    return topic_name("canary")


def rows(store, text):
    with contextlib.closing(sqlite3.connect(store, timeout=10)) as connection:
        return connection.execute(text).fetchall()


def report(service):
    command = [sys.executable, "-m", "mirrorwatch", "report", str(service.config)]
    ended = subprocess.run(
        [*command, "--period", "15m", "--format", "json"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.stderr == ""
    found = json.loads(ended.stdout)
    return ended.returncode, {one["objective"]: one for one in found["objectives"]}, found


@pytest.mark.real
@pytest.mark.long
def test_a_report_counts_what_the_store_holds_through_a_fault_a_kill_and_two_replicas(
    mirror, topic, tmp_path
):
    running = mirror(fresh=True)
    with ServiceProcess(tmp_path / "one", topic=topic, mm2=running.properties_file) as one:
        store = one.config.parent / "mirrorwatch.db"
        one.is_healthy()
        running.freeze()
        one.becomes("stalled")
        running.thaw()
        one.is_healthy()
        eventually(lambda: rows(store, "SELECT 1 FROM flow_minutes"), LIMIT_S, what="a minute", every_s=1)
        one.kill()
        one.start()
        one.is_healthy()
        beside = ServiceProcess(tmp_path / "two", topic=topic, mm2=running.properties_file)
        document = json.loads(beside.config.read_text())
        document["store"] = {"url": f"sqlite:///{store}", "replica": "second"}
        beside.config.write_text(json.dumps(document))
        with beside as two:
            two.is_healthy()
            both = "SELECT 1 FROM flow_minutes GROUP BY minute HAVING count(DISTINCT replica) = 2"
            eventually(lambda: rows(store, both), LIMIT_S, what="a minute of both", every_s=1)
            time.sleep(30)  # until every canary record of that minute has its outcome
            status, objectives, found = report(one)
            remaining = one.metric(
                "objective_error_budget_remaining_ratio",
                flow="A->B",
                source_cluster="A",
                target_cluster="B",
                objective="freshness",
            )
    assert status in {1, 3}
    assert found["summary"].startswith("Partly covered: ")
    freshness, point = objectives["freshness"], objectives["recovery_point"]
    first, until = (_minute(found[key]) for key in ("from", "to"))
    counted = rows(
        store,
        "SELECT minute, i.replica, sum(good), sum(settled), sum(late + overdue + lost) FROM canary_minutes m"
        " JOIN canary_incarnations i ON i.incarnation = m.probes_of"
        " GROUP BY minute, i.replica",
    )
    best = {}
    for minute, _, good, settled, bad in counted:
        if not first <= minute < until:
            continue
        best[minute] = max(best.get(minute, (0, 0, 0)), (settled, good, bad))
    assert len(counted) > len(best)  # two replicas were at work in some minute
    assert freshness["valid"] == sum(settled for settled, _, _ in best.values())
    assert freshness["valid"] - freshness["good"] >= 1
    assert freshness["stretches"]
    assert 2 <= freshness["observed_minutes"] <= len(best)
    assert 1 <= point["observed_minutes"] <= len(best) + 1
    assert point["valid"] <= 60 * point["observed_minutes"] + 30  # minutes are rounded
    assert remaining is not None
    assert remaining <= 1


def _minute(text):
    return int(datetime.fromisoformat(text).timestamp()) // 60
