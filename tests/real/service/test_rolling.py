"""Maintenance on two clusters of three brokers: whatever is restarted, elected or moved, nothing is called lost."""

from __future__ import annotations

import json

import pytest

from bench import rolling
from deploy.local import replicas

ALARMS = {"losing", "altered", "repeating"}


@pytest.fixture
def stack(tmp_path):
    with rolling.Stack(tmp_path, partitions=3) as running:
        yield running


@pytest.mark.long
def test_maintenance_loses_nothing_and_nothing_is_called_lost(stack):
    source = stack.clusters["A"].client_properties()
    led_before = replicas.leaders(source, rolling.TOPIC)
    held_before = replicas.replicas(source, rolling.TOPIC)
    assert set(led_before.values()) == {1, 2, 3}
    for topic in (rolling.TOPIC, "mm2-offsets.B.internal", f"B.{rolling.TOPIC}"):
        assert all(sorted(held) == [1, 2, 3] for held in replicas.replicas(source, topic).values())
    figures = rolling.run(
        stack,
        [
            rolling.restart_broker("A", 0),
            rolling.restart_broker("B", 1, kill=True),
            rolling.elect("A"),
            rolling.elect("B"),
            rolling.move_replicas("A", rolling.TOPIC),
            rolling.replace_broker("B", 2),
            rolling.restart_mirror(),
        ],
        held_s=0.0,
    )
    print(json.dumps(figures, indent=1))
    assert figures["trouble"] == []
    assert figures["exit_status"] == 0
    turned = {number: [*held[1:], held[0]] for number, held in held_before.items()}
    assert replicas.replicas(source, rolling.TOPIC) == turned
    assert set(figures["flows"]) == set(rolling.FLOWS)
    for flow in figures["flows"].values():
        books = flow["books"]
        assert flow["false_losses"] == flow["called_lost"] == flow["missing_on_target"] == 0
        assert flow["altered_on_target"] == books.get("corrupted", 0) == 0
        assert books.get("duplicated", 0) == flow["repeated_on_target"]
        assert books["good"] > 50
        assert flow["probes_on_source_by_the_books"] == flow["records_on_source"]
        assert flow["repeated_on_source"] == 0
        assert not {verdict for _, verdict, _, _ in flow["verdict_changes"]} & ALARMS
        assert flow["verdict_changes"][-1][1] == "healthy"
