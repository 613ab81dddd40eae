"""The service in a process of its own, as an operator runs it: its configuration, its answers, its log."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any, Self

from prometheus_client.parser import text_string_to_metric_families

from deploy.local.service import Service, cause_of, minor
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

QUICK = {"interval": "250ms", "threshold": "2s", "horizon": "8s"}
LOOK_S = 0.1


class ServiceProcess(Service):
    """`mirrorwatch run` with its store in `folder`; what it says of each flow is noted all the time."""

    def __init__(
        self,
        folder: Path,
        *,
        topic: str,
        mm2: Path | None = None,
        clusters: Mapping[str, Mapping[str, str]] | None = None,
        flows: Mapping[str, Mapping[str, Any]] | None = None,
        canary: Mapping[str, Any] | None = None,
        lag: Mapping[str, Any] | None = None,
        version: str | None = None,
    ) -> None:
        document: dict[str, Any] = {"canary": {"topic": topic, **QUICK, **(canary or {})}}
        if lag is not None:
            document["lag"] = dict(lag)
        if version is not None:
            document["mirror_version"] = minor(version)
        if mm2 is not None:
            document["mm2"] = str(mm2)
        if clusters is not None:
            document["clusters"] = {alias: dict(client) for alias, client in clusters.items()}
        if flows is not None:
            document["flows"] = {name: dict(said) for name, said in flows.items()}
        super().__init__(folder, document)
        self.said: list[tuple[float, str, str, str | None]] = []  # monotonic s, flow, verdict, cause
        self._leaving = threading.Event()
        self._listener = threading.Thread(target=self._listen, daemon=True)

    def __enter__(self) -> Self:
        self.start()
        self._listener.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._leaving.set()
        self.kill()
        self._listener.join()

    # --- what it answers

    def get(self, path: str) -> tuple[int, str]:
        """Return status and body; status 0 while it does not answer."""
        try:
            with urllib.request.urlopen(self.url + path, timeout=5) as answer:  # noqa: S310 - our own loopback
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def answer(self) -> dict[str, Any]:
        """Return the document of /api/v1/flows, empty while there is none."""
        status, body = self.get("/api/v1/flows")
        return json.loads(body) if status == 200 else {}

    def flow(self, name: str = "A->B") -> dict[str, Any]:
        """Return what it says of one flow, empty while it says nothing."""
        return self.flows().get(name, {})

    def said_of(self, name: str = "A->B") -> dict[str, Any]:
        """Return what a failed test is to show: all that it says of a flow but the long rows of latencies."""
        told = {key: value for key, value in self.flow(name).items() if key != "latency"}
        return {**told, "offsets": self.get(f"/api/v1/flows/{name}/offsets")[1]}

    def books(self, name: str = "A->B") -> dict[str, int]:
        """Return the flow's counters."""
        return self.flow(name)["counters"]

    def problems(self) -> dict[str, str]:
        """Return by place what it complains of at present."""
        return {one["where"]: one["sentence"] for one in self.answer().get("problems", ())}

    def metrics(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        """Return every sample of /metrics by its name and labels."""
        status, body = self.get("/metrics")
        assert status == 200
        return {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(body)
            for sample in family.samples
        }

    def metric(self, name: str, **labels: str) -> float | None:
        """Return one sample by its name without the prefix, None where there is none."""
        return self.metrics().get((f"mirrorwatch_{name}", frozenset(labels.items())))

    # --- waiting

    def becomes(
        self, verdict: str, *, flow: str = "A->B", cause: str | None = None, deadline_s: float = 30.0
    ) -> dict[str, Any]:
        """Wait until the flow has this verdict (and cause) and return what is said of it."""

        def look() -> dict[str, Any] | None:
            assert self.running, self.logged()[-3000:]
            found = self.flow(flow)
            fits = found.get("verdict") == verdict and cause in (None, cause_of(found))
            return found if fits else None

        try:
            return eventually(look, deadline_s, what=f"{flow} {verdict}/{cause}", every_s=LOOK_S)
        except AssertionError as error:
            raise AssertionError(f"{error}; it says {self.said_of(flow)}; {self.problems()}") from None

    def is_healthy(self, *, flow: str = "A->B", good: int = 8, deadline_s: float = 60.0) -> dict[str, Any]:
        """Wait until the flow is healthy and that many more probes of it were good."""
        wanted = self.becomes("healthy", flow=flow, deadline_s=deadline_s)["counters"]["good"] + good

        def look() -> bool:
            found = self.flow(flow)
            return found.get("verdict") == "healthy" and found["counters"]["good"] >= wanted

        eventually(look, deadline_s, what=f"{good} more good probes of {flow}", every_s=LOOK_S)
        return self.flow(flow)

    def since(self, instant: float, flow: str = "A->B") -> list[tuple[float, str, str | None]]:
        """Return what was newly said of a flow since then, with the seconds from then."""
        told = [
            (round(at - instant, 2), verdict, cause)
            for at, name, verdict, cause in self.said
            if name == flow and at >= instant
        ]
        return [one for number, one in enumerate(told) if number == 0 or one[1:] != told[number - 1][1:]]

    def verdicts(self, flow: str = "A->B") -> set[str]:
        """Return every verdict that the flow was ever seen to have."""
        return {verdict for _, name, verdict, _ in self.said if name == flow}

    # --- its end and its log

    def end(self, *, deadline_s: float = 20.0) -> dict[str, dict[str, int]]:
        """End it by SIGTERM, expect exit status 0 in time, and return the books at the end by flow."""
        self.request_stop()
        assert self.wait(deadline_s=deadline_s) == 0, self.logged()[-3000:]
        assert "Traceback" not in self.logged(), self.logged()
        return self.last_books()

    def lines(self) -> list[dict[str, Any]]:
        """Return the log since the newest start; every line has to be JSON, so a traceback would show."""
        found = []
        for text in self.logged().splitlines():
            with contextlib.suppress(ValueError):
                found.append(json.loads(text))
                continue
            raise AssertionError(f"not a line of the log: {text}")
        return found

    def warned(self, where: str) -> list[str]:
        """Return what the log said of a place, as a warning."""
        return [
            line["sentence"]
            for line in self.lines()
            if line.get("where") == where and line["level"] == "warning"
        ]

    def _listen(self) -> None:
        while not self._leaving.wait(LOOK_S):
            for name, flow in self.flows().items():
                self.said.append((time.monotonic(), name, flow["verdict"], cause_of(flow)))


def kept_as_carried(folder: Path) -> int:
    """Return of how many partitions the store in this folder knows that a flow carries them."""
    with contextlib.closing(sqlite3.connect(folder / "mirrorwatch.db", timeout=5)) as store:
        (count,) = store.execute("SELECT count(*) FROM canary_carried").fetchone()
    return int(count)
