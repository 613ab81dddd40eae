"""Routes and inhibition: sound by our lint, and read by Alertmanager's own tool."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace

import pytest

from alerts.routing import INHIBITIONS, NEVER_MUTED, Inhibition, alertmanager_document, inhibition_table, lint
from tests.alerts.test_rules import alerts_of

ALERTS = alerts_of()


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("alertmanager") / "alertmanager.yml"
    path.write_text(json.dumps(alertmanager_document(ALERTS)))
    return path


def amtool(*arguments):
    program = shutil.which("amtool")
    assert program, "amtool is not installed: apt-get install prometheus-alertmanager"
    return subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_every_rule_is_sound():
    assert lint(INHIBITIONS, ALERTS) == []


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (
            Inhibition(why="", source="MirrorwatchDown", targets=("MirrorwatchLagGrowing",)),
            "MirrorwatchDown: MirrorwatchDown has no label 'flow' and would match any",
        ),
        (
            Inhibition(why="", source="MirrorwatchSourceDown", targets=("MirrorwatchRecordsLost",)),
            "MirrorwatchSourceDown: must not mute MirrorwatchRecordsLost",
        ),
        (
            Inhibition(why="", source="MirrorwatchGone", targets=("MirrorwatchLagGrowing",)),
            "MirrorwatchGone: unknown alert 'MirrorwatchGone'",
        ),
    ],
)
def test_an_unsound_rule_is_found(rule, sentence):
    assert sentence in lint([rule], ALERTS)


def test_alertmanager_reads_it(config):
    checked = amtool("check-config", str(config))
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize("alert", ALERTS, ids=lambda one: f"{one.name}-{one.severity}")
def test_every_alert_reaches_the_receiver_of_its_severity(config, alert):
    labels = {"alertname": alert.name, "severity": alert.severity, "flow": "A->B"}
    routed = amtool(
        "config",
        "routes",
        "test",
        f"--config.file={config}",
        *(f"{key}={value}" for key, value in labels.items()),
    )
    receiver = {"critical": "pages", "warning": "tickets", "info": "none"}[alert.severity]
    if alert.name == "MirrorwatchWatchdog":
        receiver = "watchdog"
    assert routed.stdout.strip() == f"mirrorwatch-{receiver}", routed.stderr


def test_one_route_has_the_alerts_and_none_of_other_teams():
    route = alertmanager_document(ALERTS)["route"]
    (ours,) = route["routes"]
    assert route == {"receiver": "mirrorwatch-tickets", "routes": [ours]}
    assert ours["matchers"] == ['alertname=~"Mirrorwatch.+"']
    assert [one.name for one in ALERTS if not one.name.startswith("Mirrorwatch")] == []


def test_what_is_never_muted_exists_and_rules_of_absent_alerts_are_left_out():
    assert set(NEVER_MUTED) <= {one.name for one in ALERTS}
    few = [one for one in ALERTS if one.name in {"MirrorwatchSourceDown", "MirrorwatchLagGrowing"}]
    (rule,) = alertmanager_document(few)["inhibit_rules"]
    assert rule["target_matchers"] == ['alertname=~"MirrorwatchLagGrowing"']


def test_the_table_has_a_row_for_each_rule():
    rows = inhibition_table()
    assert len(rows) == len(INHIBITIONS)
    assert rows[-1] == (
        "MirrorwatchDown",
        "MirrorwatchFlowMissing, MirrorwatchCanarySilent",
        "none",
        "no instance of Mirrorwatch runs",
    )
    assert inhibition_table([replace(INHIBITIONS[0], targets=("X",))])[0][1] == "X"
