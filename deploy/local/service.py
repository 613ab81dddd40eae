"""The service in a process of its own, as an operator runs it, and what it answers and logs."""

from __future__ import annotations

import contextlib
import json
import sys
import urllib.request
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from deploy.local.jars import kafka_version
from deploy.local.ports import free_port
from deploy.local.process import ROOT, Process

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Service(Process):
    """`mirrorwatch run` with its configuration, store and log in `folder`, on a port of its own.

    `document` is its configuration, to which its address and, unless told, Kafka's version are added. Another
    `module` runs in its place and is given the configuration's file and the folder.
    """

    def __init__(self, folder: Path, document: Mapping[str, object], *, module: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        address = f"127.0.0.1:{free_port()}"
        self.url = f"http://{address}"
        self.config = folder / "mirrorwatch.yaml"
        whole = {"mirror_version": minor(kafka_version()), "http": {"listen": address}, **document}
        self.config.write_text(json.dumps(whole), encoding="utf-8")  # JSON is YAML
        arguments = ["mirrorwatch", "run", str(self.config), "--log-format", "json"]
        if module:
            arguments = [module, str(self.config), str(folder)]
        command = [sys.executable, "-m", *arguments]
        super().__init__("mirrorwatch", command, folder=folder, environment={"PYTHONPATH": str(ROOT)})

    def get(self, path: str) -> bytes:
        """Return what it answers, whole; raises OSError while it does not answer."""
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:  # noqa: S310 - our own loopback
            return bytes(answer.read())

    def flows(self) -> dict[str, dict[str, Any]]:
        """Return what it says of each flow at present, empty while it does not answer."""
        return flows_at(self.url)

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines of its log since the newest start, without what is none."""
        found = []
        for text in self.logged().splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(text))
        return found

    def last_books(self) -> dict[str, dict[str, int]]:
        """Return the counters by flow that it wrote at its orderly end."""
        return {
            line["flow"]: {name: value for name, value in line.items() if isinstance(value, int)}
            for line in self.lines()
            if line["sentence"] == "final counters"
        }


def flows_at(url: str) -> dict[str, dict[str, Any]]:
    """Return by name what the service at this address says of each flow, empty while it does not answer."""
    try:
        with urllib.request.urlopen(f"{url}/api/v1/flows", timeout=5) as answer:  # noqa: S310 - our own loopback
            return {flow["flow"]: flow for flow in json.load(answer)["flows"]}
    except (OSError, ValueError):
        return {}


def cause_of(document: Mapping[str, Any]) -> str | None:
    """Return the code of a document's cause; None where it has none."""
    cause = document.get("cause")
    return None if cause is None else str(cause["code"])


def offsets_at(url: str, flow: str) -> dict[str, Any]:
    """Return what the service at this address knows of a flow's offsets, empty while it does not answer."""
    address = f"{url}/api/v1/flows/{quote(flow)}/offsets"
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:  # noqa: S310 - our own loopback
            found: dict[str, Any] = json.load(answer)
    except (OSError, ValueError):
        return {}
    return found


def minor(version: str) -> str:
    """Return the first two numbers of a version, which is how a configuration names the mirror's."""
    return ".".join(version.split(".")[:2])
