"""The ingest process by itself, started with orders as the service starts it, and what it costs."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from bench.processes import cpu_s, pss_mb, tree
from deploy.local.process import ROOT
from fleet.errors import UnavailableError
from lagmon.ingest.orders import write_orders
from runtime.kafka.properties.translation import translate
from runtime.process import channel
from runtime.process.worker import SPARING

if TYPE_CHECKING:
    from pathlib import Path

MOST_SERIES = 1_000_000
_LOOK_S = 0.25  # asked 20 times a second, it reads up to a quarter slower
_ASK_S = 30.0
_END_S = 30.0


class Ingest:
    """A context manager: inside it the process runs, on one cluster A."""

    def __init__(
        self, folder: Path, client: dict[str, str], *, commits: str = "topic", groups_exclude: str = ""
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._socket = folder / "socket"
        self._log = folder / "ingest.log"
        self._orders = write_orders(
            {"A": translate(client, cluster="A", file="bench")},
            burrow_names={"A": "A"},
            groups=".*",
            groups_exclude=groups_exclude,
            per_partition=True,
            max_series=MOST_SERIES,
            log_level="info",
            log_format="json",
            secrets=frozenset(),
            commits=commits,
        )
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._socket.unlink(missing_ok=True)
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "lagmon"],
                stdin=subprocess.PIPE,
                stderr=log,
                cwd=ROOT,
                env=os.environ | SPARING,
            )
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({**self._orders, "socket": str(self._socket)}).encode() + b"\n")
        self._process.stdin.flush()
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    @property
    def pids(self) -> list[int]:
        """Return the process and what it has started."""
        assert self._process is not None
        return tree(self._process.pid)

    def cpu_s(self) -> float:
        """Return the processor time that it has used."""
        return cpu_s(self.pids)

    def pss_mb(self) -> float:
        """Return its proportional set size, in MiB."""
        return pss_mb(self.pids)

    def ask(self, question: str, **details: object) -> tuple[dict[str, Any], bytes]:
        """Return its answer; raises UnavailableError where there is none."""
        return asyncio.run(channel.ask(self._socket, {"question": question, **details}, timeout_s=_ASK_S))

    def state(self) -> dict[str, Any]:
        """Return what it says of its work at the cluster; raises UnavailableError as long as it does not."""
        found: dict[str, Any] = self.ask("state")[0]["A"]
        return found

    def read(self, *, deadline_s: float) -> dict[str, Any]:
        """Wait until the backlog is read; return its last state and the processor time that reading took.

        Reading begins at the last look that saw no record read. Raises TimeoutError with what it said.
        """
        began, begun_cpu_s = time.monotonic(), 0.0
        state: dict[str, Any] = {}
        while time.monotonic() - began < deadline_s:
            cpu = self.cpu_s()
            try:
                state = self.state()
            except UnavailableError:
                state = {}
            if state and state["ready_after_s"] is not None and state["total_records"]:
                return state | {"cpu_s": self.cpu_s() - begun_cpu_s, "before_cpu_s": begun_cpu_s}
            if not state.get("read_records"):
                begun_cpu_s = cpu
            time.sleep(_LOOK_S)
        raise TimeoutError(f"The backlog was not read within {deadline_s:g} s: {state}")

    def lags(self) -> dict[str, int | None]:
        """Return the lag of every group."""
        _, body = self.ask("groups", most=10_000)
        return {one["group"]: one["lag_records"] for one in json.loads(body)["groups"]}
