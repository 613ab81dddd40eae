"""The service as an operator runs it, and what it says: by its API while it runs, by its log afterwards."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.local.jars import StackError
from deploy.local.ports import free_port
from deploy.local.process import Process
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Mapping


_LOOK_S = 0.25


@dataclass(frozen=True, slots=True)
class Change:
    """A new verdict of a flow, at an instant of the wall clock in epoch seconds."""

    flow: str
    at: float
    verdict: str
    cause: str
    sentence: str


class WatchedService(Process):
    """`mirrorwatch run` with its configuration, store and log in `folder`."""

    def __init__(self, folder: Path, *, mm2: Path, version: str, canary: Mapping[str, str]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        config = folder / "mirrorwatch.yaml"
        document = {
            "mm2": str(mm2),
            "mirror_version": ".".join(version.split(".")[:2]),
            "http": {"listen": f"127.0.0.1:{port}"},
            "canary": dict(canary),
        }
        config.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML
        command = [sys.executable, "-m", "mirrorwatch", "run", str(config), "--log-format", "json"]
        super().__init__("mirrorwatch", command, folder=folder)

    def flows(self) -> dict[str, dict[str, Any]]:
        """Return what it says of each flow at present, empty while it does not answer."""
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/flows", timeout=5) as answer:  # noqa: S310  (our own loopback)
                return {flow["flow"]: flow for flow in json.load(answer)["flows"]}
        except (OSError, ValueError, urllib.error.URLError):
            return {}

    def wait_healthy(self, *flows: str, deadline_s: float, held_s: float = 0.0) -> float:
        """Wait until all of these flows were healthy for `held_s`; return the seconds until that began.

        With less than the threshold, a flow that has just begun to stall may still pass for healthy. Raises
        TimeoutError with what it said last, and StackError when it has ended.
        """
        said: dict[str, dict[str, Any]] = {}
        began = healthy_since = time.monotonic()

        def look() -> bool:
            nonlocal healthy_since
            if not self.running:
                raise StackError(f"The service ended with status {self.exit_status}: {self.logged()[-1000:]}")
            said.clear()
            said.update(self.flows())
            if not all(said.get(flow, {}).get("verdict") == "healthy" for flow in flows):
                healthy_since = time.monotonic() + _LOOK_S  # at the next look at the earliest
            return time.monotonic() >= healthy_since + held_s

        try:
            wait_until(look, deadline_s=deadline_s, what="It", every_s=_LOOK_S)
        except TimeoutError:
            told = "; ".join(f"{flow}: {one['cause']['sentence']}" for flow, one in said.items())
            raise TimeoutError(
                f"{' and '.join(flows)} were not healthy within {deadline_s:g} s. {told}"
            ) from None
        return healthy_since - began

    def lines(self) -> list[dict[str, Any]]:
        """Return the lines of its log, without what is none."""
        found = []
        for text in self.logged().splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(text))
        return found

    def changes(self) -> list[Change]:
        """Return every verdict that it ever gave, in order, from its log."""
        return [
            Change(
                flow=line["flow"],
                at=dt.datetime.fromisoformat(line["time"]).timestamp(),
                verdict=line["verdict"],
                cause=line.get("cause", "none"),
                sentence=line["sentence"],
            )
            for line in self.lines()
            if "verdict" in line and "flow" in line
        ]

    def last_books(self) -> dict[str, dict[str, int]]:
        """Return the books by flow that it wrote at its orderly end."""
        return {
            line["flow"]: {name: value for name, value in line.items() if isinstance(value, int)}
            for line in self.lines()
            if line["sentence"] == "the books at the end"
        }

    def pss_mb(self) -> float:
        """Return the memory of the service and of the processes that it started, in MB."""
        return round(sum(pss_mb(pid) for pid in _family(self.pid)), 1)


def pss_mb(pid: int) -> float:
    """Return the proportional set size of one process in MB."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _family(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text(encoding="ascii").split():
            found += _family(int(child))
    return found
