"""Rendered rules, routes and dashboards on a real Prometheus and a real Alertmanager, beside real clusters."""

from __future__ import annotations

import json
import math
import re
import shutil
import subprocess
import sys
import urllib.request
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from confluent_kafka import Consumer, TopicPartition

from dashboards import BOARDS
from deploy.local.monitoring import Monitoring
from deploy.local.pair import Pair
from deploy.local.process import python_process
from tests.eventually import eventually
from tests.real.orders import change
from tests.real.service.process import ServiceProcess

FLOW = {"flow": "A->B", "source_cluster": "A", "target_cluster": "B"}
OBJECTIVES = [
    {"kind": "availability"},
    {"kind": "freshness"},
    {"kind": "loss"},
    {"kind": "replication_lag"},
    {"kind": "recovery_point", "limit": "10s"},
    {"kind": "audit_age"},
]
NOTHING_THERE = {
    # series, and why a scrape of this stack has none of it
    "mirrorwatch_checksum_last_success_timestamp_seconds": "no checksum has run",
    "mirrorwatch_checksum_records": "no checksum has run",
    "mirrorwatch_checksum_differing_records": "no checksum has run",
    "mirrorwatch_checksum_coverage_ratio": "no checksum has run",
    "mirrorwatch_objective_error_budget_remaining_ratio": "its store has no whole minute yet",
    "mirrorwatch_client_certificate_expiry_timestamp_seconds": "its clients have no certificate",
    "mirrorwatch_replica_leader": "it is in no group of replicas",
    "mirrorwatch_replication_topic_retention_headroom_seconds": "retention is days away",
    "mirrorwatch:topic_retention_used:ratio": "retention is days away",
}


class Stage:
    """Two brokers, a mirror with traffic, a service, and what watches it."""

    def __init__(self, folder):
        self.pair = Pair(folder / "pair")
        self.traffic = python_process(
            "traffic", "deploy.local.traffic", str(self.pair.folder), folder=self.pair.folder
        )
        self.service = ServiceProcess(
            folder / "service",
            topic="mirrorwatch-canary",
            mm2=self.pair.mirror.properties_file,
            lag={"commits": "topic"},
        )
        change(self.service, lambda document: document.update(objectives=OBJECTIVES))
        self.monitoring = Monitoring(folder / "monitoring", config=self.service.config)

    def __enter__(self):
        self.pair.bring_up()
        self.traffic.start()
        self.service.__enter__()
        self.service.is_healthy()
        assert self.monitoring.absent == [], "apt-get install prometheus prometheus-alertmanager"
        self.monitoring.start()
        eventually(self.monitoring.is_ready, 30, what="a scrape", every_s=0.2)
        return self

    def __exit__(self, *exception):
        self.monitoring.kill()
        self.service.__exit__()
        self.traffic.kill()
        self.pair.kill()

    def rules(self):
        (path,) = self.monitoring.rendered.glob("prometheus/*.rules.yml")
        return [rule for group in yaml.safe_load(path.read_text())["groups"] for rule in group["rules"]]

    def held(self, name):
        """Return the alerts of this name that Alertmanager holds."""
        return [one for one in self.monitoring.managed() if one.name == name]


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    with Stage(tmp_path_factory.mktemp("alerts")) as made:
        commit_as_a_group(made.pair.a.client_properties())
        yield made


def commit_as_a_group(client):
    consumer = Consumer({**client, "group.id": "billing", "enable.auto.commit": False, "log_level": 0})
    consumer.commit(offsets=[TopicPartition("orders", 0, 1)], asynchronous=False)
    consumer.close()


def expressions_of_boards():
    """Yield each panel's expressions as Grafana sends them for a choice of its variables."""
    chosen = {"job": "mirrorwatch", "flow": "A->B", "cluster": "A", "__rate_interval": "20s"}
    for board in BOARDS:
        for _, panels in board.rows:
            for panel in panels:
                for query in panel.queries:
                    text = re.sub(r"\$(\w+)", lambda found: chosen[found[1]], query.expression)
                    yield f"{board.title}: {panel.title}", panel, text


def named(expression):
    return set(re.findall(r"\bmirrorwatch[:_][a-z0-9_:]+", expression))


def test_every_expression_is_evaluated_and_every_series_in_it_is_there(stage):
    """Alerts are silent, so each series of theirs is looked at by itself."""
    rules = stage.rules()
    everything = set().union(
        *(named(rule["expr"]) for rule in rules), *(named(e) for *_, e in expressions_of_boards())
    )
    wanted = everything - NOTHING_THERE.keys()

    def missing():
        return sorted(one for one in wanted if not stage.monitoring.query(f"max_over_time({one}[5m])"))

    eventually(lambda: not missing(), 60, what="every series", every_s=1.0)
    assert NOTHING_THERE.keys() <= everything
    for rule in rules:
        stage.monitoring.evaluate(rule["expr"])
    recorded = {rule["record"] for rule in rules if "record" in rule}
    assert recorded - NOTHING_THERE.keys() <= wanted


def panels_without_numbers(stage):
    found_none = []
    for name, panel, expression in expressions_of_boards():
        found = stage.monitoring.evaluate(expression)
        assert not any(math.isnan(value) for _, value in found), f"NaN: {name}: {expression}"
        if not found and not panel.may_be_empty and not named(expression) & NOTHING_THERE.keys():
            found_none.append(f"{name}: {expression}")
    return found_none


def test_every_panel_shows_numbers(stage):
    # A scrape that failed on a busy machine leaves none for an instant.
    eventually(lambda: not panels_without_numbers(stage), 30, every_s=2.0)


def test_amtool_reads_the_routes_of_this_configuration(stage):
    program = shutil.which("amtool")
    assert program, "amtool is missing: make monitoring installs it"
    path = stage.monitoring.rendered / "alertmanager" / "alertmanager.yml"
    checked = subprocess.run(
        [program, "check-config", path], capture_output=True, text=True, timeout=60, check=False
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
    labels = ["alertname=MirrorwatchNoRecordsArrive", "severity=critical", "flow=A->B"]
    command = [program, "config", "routes", "test", f"--config.file={path}", *labels]
    routed = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert routed.stdout.strip() == "mirrorwatch-pages", routed.stderr


def test_a_frozen_mirror_fires_after_silence_and_a_source_that_is_down_mutes_what_follows_from_it(stage):
    firing = stage.monitoring.firing
    tickets = {"MirrorwatchAuditOverdue"}  # no checksum has ever run
    assert {one.name for one in firing()} <= tickets

    stage.pair.mirror.freeze()
    try:
        silent = eventually(
            lambda: [one for one in firing() if one.name == "MirrorwatchNoRecordsArrive"], 40, every_s=0.5
        )
    finally:
        stage.pair.mirror.thaw()
    (alert,) = silent
    assert alert.labels == {"alertname": "MirrorwatchNoRecordsArrive", "severity": "critical", **FLOW}
    assert alert.annotations["summary"] == "No canary records arrive on A->B"
    assert alert.annotations["runbook_url"] == f"{stage.service.url}/runbooks/MirrorwatchNoRecordsArrive"
    assert stage.service.get("/runbooks/MirrorwatchNoRecordsArrive")[0] == 200
    eventually(lambda: stage.held("MirrorwatchNoRecordsArrive"), 10, what="it in Alertmanager")
    eventually(lambda: {one.name for one in firing()} <= tickets, 40, what="silence again", every_s=0.5)

    stage.pair.a.kill()
    by_hand(stage.monitoring, "MirrorwatchRecordsLost")
    # Records that the source does not take are no silence of the mirror, so that alert need not fire.
    muted = eventually(lambda: muted_by(stage, "MirrorwatchReplicationStalled"), 60, every_s=0.5)
    assert "MirrorwatchSourceDown" in muted
    for name in ("MirrorwatchRecoveryPointOld", "MirrorwatchRecordsLost", "MirrorwatchClusterDown"):
        (held,) = eventually(lambda one=name: stage.held(one), 60, what=name, every_s=0.5)
        assert (held.state, held.inhibited_by) == ("active", ()), name


@pytest.mark.long
def test_a_report_on_the_fault_agrees_with_prometheus(stage):
    """What the store has by minutes, and what was scraped of the same minutes, once the fault is among them."""
    over_at = datetime.now(UTC)
    address = f"http://{stage.monitoring.prometheus}"

    def reported():
        options = ["--period=5m", f"--prometheus={address}", "--format=json"]
        command = [sys.executable, "-m", "mirrorwatch", "report", stage.service.config, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode in (0, 1, 3), done.stderr
        document = json.loads(done.stdout)
        return document if datetime.fromisoformat(document["to"]) >= over_at else None

    document = eventually(reported, 150, what="whole minutes after the fault", every_s=5.0)
    differences = {
        found[1]: float(found[2])
        for note in document["notes"]
        if (found := re.match(r"A->B (\w+).*a difference of ([+-][0-9.]+) points", note))
    }
    assert {"availability", "freshness", "recovery"} <= differences.keys(), document["notes"]
    # Of an age Prometheus has one sample a minute, and the store the worst of it: a minute is a quarter here.
    counted = [differences["availability"], differences["freshness"]]
    assert all(abs(points) < 5.0 for points in counted), document["notes"]
    (freshness,) = [one for one in document["objectives"] if one["objective"] == "freshness"]
    assert freshness["sli_ratio"] < 1.0  # the mirror was frozen


def muted_by(stage, name):
    """Return the names of the alerts that mute this one."""
    names = stage.monitoring.fingerprints()
    return {names[each] for one in stage.held(name) for each in one.inhibited_by if each in names}


def by_hand(monitoring, name):
    """Give Alertmanager an alert that this fault cannot fire by itself."""
    now = datetime.now(UTC)
    alert = {
        "labels": {"alertname": name, "severity": "critical", **FLOW},
        "annotations": {},
        "startsAt": now.isoformat(),
        "endsAt": (now + timedelta(minutes=5)).isoformat(),
    }
    request = urllib.request.Request(
        f"http://{monitoring.alertmanager}/api/v2/alerts",
        data=json.dumps([alert]).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=5) as answer:  # noqa: S310
        assert answer.status == 200
