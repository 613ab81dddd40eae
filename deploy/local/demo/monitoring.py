"""Prometheus and Alertmanager beside the service, on loopback, where they are installed."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from deploy.local.ports import free_port
from deploy.local.process import Process

if TYPE_CHECKING:
    from pathlib import Path

_PROMETHEUS = """\
global: {{scrape_interval: 2s, evaluation_interval: 2s}}
rule_files: [rules.yml]
alerting: {{alertmanagers: [{{static_configs: [{{targets: [{alertmanagers}]}}]}}]}}
scrape_configs:
  - job_name: mirrorwatch
    static_configs: [{{targets: ["{service}"]}}]
"""

_RULES = """\
groups:
  - name: mirrorwatch
    rules:
      - alert: FlowNotHealthy
        expr: mirrorwatch_flow_verdict{verdict!~"healthy|unknown"} == 1
        annotations: {summary: "Flow {{ $labels.flow }} is {{ $labels.verdict }}"}
      - alert: MirrorwatchDown
        expr: up{job="mirrorwatch"} == 0
        for: 10s
        annotations: {summary: "mirrorwatch does not answer: nobody watches the mirrors"}
"""

_ALERTMANAGER = """\
route: {receiver: nobody, group_by: [flow], group_wait: 1s, group_interval: 5s}
receivers: [{name: nobody}]
"""


class Monitoring:
    """What is installed of the two, as processes in `folder`; `places` are name and alerts of each."""

    def __init__(self, folder: Path, *, service_address: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.processes: list[Process] = []
        self.places: list[tuple[str, str]] = []
        self.absent: list[str] = []
        alertmanagers = []
        manager = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
        if manager:
            address = self._place("Alertmanager", "/api/v2/alerts")  # Debian's has no page of its own
            alertmanagers.append(address)
            (folder / "alertmanager.yml").write_text(_ALERTMANAGER, encoding="utf-8")
            options = [
                f"--config.file={folder / 'alertmanager.yml'}",
                f"--storage.path={folder / 'alertmanager'}",
                f"--web.listen-address={address}",
                "--cluster.listen-address=",  # alone: it need not gossip
                "--log.level=warn",
            ]
            self.processes.append(Process("alertmanager", [manager, *options], folder=folder))
        else:
            self.absent.append("Alertmanager")
        prometheus = shutil.which("prometheus")
        if prometheus:
            address = self._place("Prometheus", "/alerts")
            settings = _PROMETHEUS.format(
                service=service_address, alertmanagers=", ".join(f'"{one}"' for one in alertmanagers)
            )
            (folder / "prometheus.yml").write_text(settings, encoding="utf-8")
            (folder / "rules.yml").write_text(_RULES, encoding="utf-8")
            options = [
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'prometheus'}",
                f"--web.listen-address={address}",
                "--log.level=warn",
            ]
            self.processes.append(Process("prometheus", [prometheus, *options], folder=folder))
        else:
            self.absent.append("Prometheus")

    def start(self) -> None:
        """Start what is installed."""
        for process in self.processes:
            process.start()

    def _place(self, name: str, page: str) -> str:
        address = f"127.0.0.1:{free_port()}"
        self.places.append((name, f"http://{address}{page}"))
        return address
