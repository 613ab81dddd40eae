"""The service as the demo runs it: a process of its own that knows nothing but its configuration."""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from deploy.local.ports import free_port
from deploy.local.process import Process
from deploy.local.properties import write_properties
from deploy.local.service import cause_of, flows_at, minor

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

USUAL_PORT = 9699

# Quicker than the defaults (1 s, 5 s, 60 s), so that a round takes seconds and not minutes.
_CONFIGURATION = """\
# The configuration of the demo.
mm2: mm2.properties
mirror_version: "{version}"
canary: {{interval: 500ms, threshold: 3s, horizon: 20s}}
http: {{listen: "127.0.0.1:{port}"}}
store: {{url: "sqlite:///mirrorwatch.db"}}
"""


@dataclass(frozen=True, slots=True)
class Said:
    """What the service says of a flow, in its own words."""

    verdict: str
    cause: str
    sentence: str

    def __str__(self) -> str:
        cause = f" ({self.cause})" if self.cause else ""
        return f"{self.verdict}{cause}: {self.sentence}" if self.sentence else f"{self.verdict}{cause}"


class Service(Process):
    """`mirrorwatch run` on the stack in `folder`, with the mm2.properties that an operator would have."""

    def __init__(self, folder: Path, *, settings: Mapping[str, str], version: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.port = service_port()
        self.url = f"http://127.0.0.1:{self.port}"
        # The transformation that faults use is left out: the service has to find out by itself.
        known = {key: value for key, value in settings.items() if ".transforms" not in key}
        write_properties(folder / "mm2.properties", known)
        self.configuration = folder / "mirrorwatch.yml"
        text = _CONFIGURATION.format(version=minor(version), port=self.port)
        self.configuration.write_text(text, encoding="utf-8")
        super().__init__(
            "service", [sys.executable, "-m", "mirrorwatch", "run", str(self.configuration)], folder=folder
        )

    def forget(self) -> None:
        """Stop the service and empty its store."""
        self.stop()
        for file in self.folder.glob("mirrorwatch.db*"):
            file.unlink()

    def says(self, flow: str) -> Said | None:
        """Return what the API says of a flow now, or None while it does not answer or does not know it."""
        said = flows_at(self.url).get(flow)
        if said is None:
            return None
        return Said(str(said.get("verdict")), cause_of(said) or "", str(said.get("sentence") or ""))


def service_port() -> int:
    """Return the usual port if it is free, or else another free one."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", USUAL_PORT))
        except OSError:
            return free_port()
    return USUAL_PORT
