"""Prometheus and Alertmanager of the demo, without them."""

from __future__ import annotations

import subprocess
from types import SimpleNamespace

import pytest

from deploy.local import monitoring
from deploy.local.jars import StackError
from deploy.local.monitoring import Monitoring


def test_a_machine_too_busy_to_render_is_reported(tmp_path, monkeypatch):
    def run(command, *, timeout, **_):
        raise subprocess.TimeoutExpired(command, timeout)

    monkeypatch.setattr(monitoring.subprocess, "run", run)
    watched = Monitoring(tmp_path, config=tmp_path / "mirrorwatch.yml")
    watched.processes = [SimpleNamespace(start=lambda: None)]
    with pytest.raises(StackError, match=r"longer than 180 s: the machine is busy; run make demo again"):
        watched.start()
