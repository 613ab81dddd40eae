"""A service that watches a stack in its own process, asked as any client would ask it."""

from __future__ import annotations

import json
import signal
import sys
import urllib.request
from typing import TYPE_CHECKING, Any

from deploy.local.ports import free_port
from deploy.local.process import Process
from fleet.vocabulary import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from deploy.local.pair import Pair

_FLOW = "A->B"


class Watched:
    """A service of our own, in its own process and with its own store."""

    def __init__(
        self,
        folder: Path,
        pair: Pair,
        *,
        topic: str,
        canary: Mapping[str, str],
        told: Mapping[str, str] | None = None,
    ) -> None:
        assert pair.mirror is not None
        folder.mkdir()
        port = free_port()
        self.topic = topic
        self._url = f"http://127.0.0.1:{port}/api/v1/flows"
        # The mirror's file as it is now: what a fault changes of it later, the service has to find out.
        known = folder / "mm2.properties"
        lines = "".join(f"{key}={value}\n" for key, value in (told or {}).items())  # the last one counts
        known.write_bytes(pair.mirror.properties_file.read_bytes() + lines.encode("ascii"))
        document = {
            "mm2": str(known),
            "mirror_version": "4.3",
            "clusters": {alias: broker.client_properties() for alias, broker in pair.brokers.items()},
            "http": {"listen": f"127.0.0.1:{port}"},
            "canary": {"topic": topic, **canary},
        }
        config = folder / "mirrorwatch.yaml"
        config.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML
        command = [sys.executable, "-m", "mirrorwatch", "run", str(config)]
        self.process = Process("mirrorwatch", command, folder=folder)

    def flow(self) -> dict[str, Any]:
        """Return what the service says of the flow; empty while it does not answer."""
        try:
            with urllib.request.urlopen(self._url, timeout=2) as answer:  # noqa: S310 - our own loopback
                document = json.load(answer)
        except (OSError, ValueError):
            return {}
        return next((flow for flow in document["flows"] if flow["flow"] == _FLOW), {})

    def is_well(self) -> bool:
        """Tell whether the flow is healthy and has been for some probes."""
        flow = self.flow()
        return flow.get("verdict") == Verdict.HEALTHY and flow["books"]["good"] > 6

    def end(self) -> int | None:
        """Stop it by SIGTERM and return its exit status, None where it did not end in time."""
        self.process.signal(signal.SIGTERM)
        return self.process.wait(deadline_s=60)
