"""The service of stacks, tests and benchmarks: how it is told what to do, and what is read out of its log."""

from __future__ import annotations

import json
import sys

import pytest

from deploy.local.service import Service


def configuration(service):
    return json.loads(service.config.read_text(encoding="utf-8"))


@pytest.mark.parametrize(("kafka", "minor"), [("", "4.3"), ("3.9", "3.9"), ("3.9.2", "3.9")])
def test_it_gets_the_version_of_the_mirror_that_runs(tmp_path, monkeypatch, kafka, minor):
    monkeypatch.setenv("MIRRORWATCH_KAFKA", kafka)
    assert configuration(Service(tmp_path, {}))["mirror_version"] == minor


def test_what_it_is_given_goes_over_what_is_usual(tmp_path):
    service = Service(tmp_path, {"mirror_version": "3.6", "canary": {"interval": "1s"}})
    document = configuration(service)
    assert document["mirror_version"] == "3.6"
    assert document["canary"] == {"interval": "1s"}
    assert f"http://{document['http']['listen']}" == service.url


def test_another_module_runs_in_its_place(tmp_path):
    usual = Service(tmp_path / "a", {})
    assert usual.command[1:] == ["-m", "mirrorwatch", "run", str(usual.config), "--log-format", "json"]
    other = Service(tmp_path / "b", {}, module="bench.timed_service")
    config, folder = str(other.config), str(tmp_path / "b")
    assert other.command == [sys.executable, "-m", "bench.timed_service", config, folder]


def test_the_counters_are_those_of_the_orderly_end(tmp_path):
    service = Service(tmp_path, {})
    assert service.flows() == {}
    lines = [
        {"sentence": "mirrorwatch is up"},
        {"sentence": "final counters", "flow": "A->B", "good": 7, "lost": 0, "level": "info"},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    service.log.write_text(text + '{"sentence": "cut o', encoding="utf-8")
    assert service.lines() == lines
    assert service.last_books() == {"A->B": {"good": 7, "lost": 0}}
