"""Prometheus and Alertmanager, where they are installed, with what `mirrorwatch render` writes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import yaml

from deploy.local.jars import StackError
from deploy.local.ports import free_port
from deploy.local.process import ROOT, Process

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

DIVISOR: Final = 15.0
"""By which all times of the rules are divided: a scrape each second, 4 s where rules wait for a minute."""

_RENDER_S: Final = 180.0
_ANSWER_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """An alert that Prometheus or Alertmanager shows; `state` in the words of either."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    state: str
    inhibited_by: tuple[str, ...] = ()  # fingerprints

    @property
    def name(self) -> str:
        """Return its name."""
        return self.labels["alertname"]


class Monitoring:
    """What is installed of the two, as processes in `folder`, for the service of a configuration.

    `rendered` is the folder of what is rendered. `divisor` divides all times of the rules and routes, and
    every receiver posts to the address `webhook`. `places` are the name and the page of alerts of each.
    """

    def __init__(self, folder: Path, *, config: Path, divisor: float = DIVISOR, webhook: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._config, self._divisor, self._webhook = folder, config, divisor, webhook
        self.rendered = folder / "rendered"
        self.processes: list[Process] = []
        self.places: list[tuple[str, str]] = []
        self.absent: list[str] = []
        self.alertmanager = self.prometheus = ""  # addresses, empty where it is not installed
        manager = shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
        if manager:
            self.alertmanager = self._place("Alertmanager", "/api/v2/alerts")  # Debian's has no page
            options = [
                f"--config.file={folder / 'alertmanager.yml'}",
                f"--storage.path={folder / 'alertmanager'}",
                f"--web.listen-address={self.alertmanager}",
                "--cluster.listen-address=",  # alone: it need not gossip
                "--log.level=warn",
            ]
            self.processes.append(Process("alertmanager", [manager, *options], folder=folder))
        else:
            self.absent.append("Alertmanager")
        prometheus = shutil.which("prometheus")
        if prometheus:
            self.prometheus = self._place("Prometheus", "/alerts")
            options = [
                f"--config.file={folder / 'prometheus.yml'}",
                f"--storage.tsdb.path={folder / 'prometheus'}",
                f"--web.listen-address={self.prometheus}",
                "--log.level=warn",
                "--rules.alert.resend-delay=1s",
            ]
            self.processes.append(Process("prometheus", [prometheus, *options], folder=folder))
        else:
            self.absent.append("Prometheus")

    def start(self) -> None:
        """Render, and start what is installed. Raises StackError where rules cannot be rendered."""
        if not self.processes:
            return
        self._render()
        self._configure()
        for process in self.processes:
            process.start()

    def kill(self) -> None:
        """End both at once."""
        for process in self.processes:
            process.kill()

    def is_ready(self) -> bool:
        """Return whether all that is installed answers, and Prometheus has scraped the service."""
        if self.alertmanager and answer_of(self.alertmanager, "/api/v2/status") is None:
            return False
        return not self.prometheus or any(value == 1 for _, value in self.query("up"))

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Return the samples of an expression, none while Prometheus does not answer."""
        answer = answer_of(self.prometheus, f"/api/v1/query?query={quote(expression)}")
        found = answer["data"]["result"] if answer is not None else []
        return [(one["metric"], float(one["value"][1])) for one in found]

    def evaluate(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """Return the samples of an expression. Raises ValueError with what Prometheus says of a wrong one."""
        address = f"http://{self.prometheus}/api/v1/query?query={quote(expression)}"
        try:
            with urllib.request.urlopen(address, timeout=_ANSWER_S) as answer:
                found = json.load(answer)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise ValueError(f"{expression}: {error.read().decode()}") from error
        return [(one["metric"], float(one["value"][1])) for one in found]

    def firing(self) -> list[Alert]:
        """Return the alerts that fire in Prometheus, but for the Watchdog."""
        answer = answer_of(self.prometheus, "/api/v1/alerts")
        found = answer["data"]["alerts"] if answer is not None else []
        alerts = (
            Alert(labels=one["labels"], annotations=one["annotations"], state=one["state"]) for one in found
        )
        return [one for one in alerts if one.state == "firing" and one.name != "MirrorwatchWatchdog"]

    def managed(self) -> list[Alert]:
        """Return the alerts that Alertmanager holds, with what inhibits each."""
        return [
            Alert(
                labels=one["labels"],
                annotations=one["annotations"],
                state=one["status"]["state"],
                inhibited_by=tuple(one["status"]["inhibitedBy"]),
            )
            for one in answer_of(self.alertmanager, "/api/v2/alerts") or []
        ]

    def fingerprints(self) -> dict[str, str]:
        """Return the name of each alert in Alertmanager by its fingerprint."""
        held = answer_of(self.alertmanager, "/api/v2/alerts") or []
        return {one["fingerprint"]: one["labels"]["alertname"] for one in held}

    def _place(self, name: str, page: str) -> str:
        address = f"127.0.0.1:{free_port()}"
        self.places.append((name, f"http://{address}{page}"))
        return address

    def _render(self) -> None:
        command = [sys.executable, "-m", "mirrorwatch", "render", str(self._config), str(self.rendered)]
        try:
            ended = subprocess.run(
                [*command, "--divide-times", f"{self._divisor:g}"],
                cwd=ROOT,
                capture_output=True,
                text=True,
                timeout=_RENDER_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise StackError(
                f"Rendering took longer than {_RENDER_S:g} s: the machine is busy; run make demo again."
            ) from error
        if ended.returncode:
            raise StackError(f"The rules cannot be rendered: {(ended.stdout + ended.stderr)[-2000:]}")

    def _configure(self) -> None:
        scrape = yaml.safe_load((self.rendered / "prometheus" / "scrape.yml").read_text())
        alertmanagers = [{"static_configs": [{"targets": [self.alertmanager]}]}] if self.alertmanager else []
        document = {
            "rule_files": [str(self.rendered / "prometheus" / "mirrorwatch.rules.yml")],
            "alerting": {"alertmanagers": alertmanagers},
            **scrape,
        }
        # JSON is YAML.
        (self._folder / "prometheus.yml").write_text(json.dumps(document), encoding="utf-8")
        routes = yaml.safe_load((self.rendered / "alertmanager" / "alertmanager.yml").read_text())
        if self._webhook:
            for receiver in routes["receivers"]:
                receiver["webhook_configs"] = [{"url": f"{self._webhook}/{receiver['name']}"}]
        (self._folder / "alertmanager.yml").write_text(json.dumps(routes), encoding="utf-8")


def answer_of(address: str, path: str) -> Any:
    """Return what Prometheus or Alertmanager at this address answers, None while it does not."""
    try:
        with urllib.request.urlopen(f"http://{address}{path}", timeout=_ANSWER_S) as answer:
            return json.load(answer)
    except (OSError, ValueError):
        return None
