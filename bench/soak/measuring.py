"""What is measured all the time: processes, tables of the store, scrapes and pages."""

from __future__ import annotations

import os
import random
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from bench.processes import cpu_s, tree
from bench.soak.scrape import OK, read_scrape
from bench.soak.slopes import Life, Sample

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench.soak.scrape import Scrape
    from bench.soak.stack import SoakReplica, SoakStack

SAMPLE_S = 10.0
SCRAPE_S = 5.0
SCRAPE_TIMEOUT_S = 10.0  # as of Prometheus
PAGE_S = 7.0
STORE_TIMEOUT_S = 5
LAG, AUDIT = "lag monitor", "failover audit"
SERVICE, STANDBY = "service", "standby"
_PARTS = {"lagmon": LAG, "mirrorwatch.failover.audit": AUDIT}
PAGES = (
    "/",
    "/flows/A:B",
    "/flows/B:A/offsets",
    "/groups",
    "/incidents",
    "/api/v1/flows",
    "/api/v1/flows/A:B/offsets",
    "/api/v1/groups",
    "/api/v1/failover",
    "/api/v1/incidents",
    "/-/healthy",
)
# None while a process is down or frozen; 503 while no replica leads.
_UNANSWERED = (0, 503)
_MOST = 50  # sentences that are kept
_TABLES = """
    select c.relname, pg_total_relation_size(c.oid)
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where c.relkind = 'r' and n.nspname = 'public'
"""


@dataclass(slots=True)
class Answers:
    """How requests of one kind were answered."""

    took_s: list[float] = field(default_factory=list)
    size_bytes: list[int] = field(default_factory=list)
    failed: int = 0


class Turns(threading.Thread):
    """Does something at intervals, until it is stopped."""

    def __init__(self, name: str, act: Callable[[], None], *, every_s: float) -> None:
        super().__init__(daemon=True, name=name)
        self._act = act
        self._every_s = every_s
        self.errors: list[str] = []
        self._ending = threading.Event()

    def run(self) -> None:
        """Take turns; a long one is followed by the next at once."""
        due = time.monotonic()
        while not self._ending.wait(max(0.0, due - time.monotonic())):
            try:
                self._act()
            except Exception as error:  # noqa: BLE001 - one failed turn must not end the measurement
                self.errors.append(f"{self.name}: {error!r}")
            due = max(due + self._every_s, time.monotonic())

    def stop(self) -> None:
        """Let it end."""
        self._ending.set()


class Measuring:
    """All measurements of a run, in threads of their own."""

    def __init__(self, stack: SoakStack, *, seed: int) -> None:
        self._stack = stack
        self._dice = random.Random(seed)  # noqa: S311 - reproducible, not secret
        self._lock = threading.Lock()
        self._samples: dict[tuple[str, str], list[Sample]] = {}  # by name and part
        self._leads: dict[str, bool] = {}
        self.tables: list[tuple[float, dict[str, int]]] = []
        """At each instant the bytes of each table."""
        self.scrapes = Answers()
        self.standby_scrapes = Answers()
        self.pages: dict[str, Answers] = {}
        self.pages_by_status: Counter[int] = Counter()
        self.checked = 0
        """Scrapes whose counters were added up."""
        self.series_most = 0
        self.wrong: list[str] = []
        """Counters that do not add up or must be 0."""
        self.bad_answers: list[str] = []
        self.unanswered: list[tuple[float, str]] = []
        """Requests without an answer, which may be only in windows."""
        self.groups: list[tuple[float, str, float]] = []
        """Instant, group and status, if it is not OK."""
        self.audit_ages: list[tuple[float, float]] = []
        self.loads: list[float] = []
        """Load averages of the machine."""
        self._turns = [
            Turns("samples", self._sample, every_s=SAMPLE_S),
            Turns("pages", self._ask_page, every_s=PAGE_S),
            *(
                Turns(f"scrape {name}", lambda one=one: self._scrape(one), every_s=SCRAPE_S)  # type: ignore[misc]
                for name, one in stack.replicas.items()
            ),
        ]

    def start(self) -> None:
        """Start to measure."""
        for one in self._turns:
            one.start()

    def stop(self) -> None:
        """Stop and wait for the turns that run."""
        for one in self._turns:
            one.stop()
        for one in self._turns:
            if one.is_alive():
                one.join(SCRAPE_TIMEOUT_S + 5.0)

    def errors(self) -> list[str]:
        """Return what failed in the measurement itself."""
        return [f"measuring: {error}" for one in self._turns for error in one.errors[:_MOST]]

    def lives(self) -> list[Life]:
        """Return each process in each of its roles."""
        with self._lock:
            return [
                Life(name, part, tuple(samples)) for (name, part), samples in self._samples.items() if samples
            ]

    # --- processes and tables

    def _sample(self) -> None:
        for name, replica in self._stack.replicas.items():
            if not replica.running:
                continue
            pids = tree(replica.pid)
            # A standby has no processes of its own. Its series show the lead later, at the next scrape.
            own = SERVICE if self._leads.get(name) or len(pids) > 1 else STANDBY
            for pid in pids:
                part = own if pid == replica.pid else _part(pid)
                sample = _sampled(pid)
                if sample is not None and part:
                    with self._lock:
                        self._samples.setdefault((f"{name} {pid}", part), []).append(sample)
        self.loads.append(os.getloadavg()[0])
        tables = _tables(self._stack.store_url())
        if tables:
            self.tables.append((time.time(), tables))

    # --- requests

    def _scrape(self, replica: SoakReplica) -> None:
        if not replica.running:
            return
        pid = replica.pid
        status, body, took_s = _get(f"{replica.url}/metrics")
        if status != 200:
            self.scrapes.failed += 1
            self._leads[replica.replica] = False
            self.unanswered.append((time.time(), f"{replica.replica}/metrics: status {status}"))
            return
        try:
            found = read_scrape(body.decode())
        except ValueError as error:
            self._keep(self.wrong, f"{replica.replica}: /metrics cannot be read: {error}")
            return
        if replica.pid == pid:
            self._leads[replica.replica] = found.leads
        answers = self.scrapes if found.leads else self.standby_scrapes
        answers.took_s.append(took_s)
        answers.size_bytes.append(len(body))
        self._judge(replica.replica, found)

    def _judge(self, replica: str, found: Scrape) -> None:
        now = time.time()
        if found.counters:
            self.checked += 1
        self.series_most = max(self.series_most, found.series)
        for sentence in found.wrong():
            self._keep(self.wrong, f"{replica}: {sentence}")
        self.groups += [(now, group, status) for group, status in found.groups.items() if status != OK]
        self.audit_ages += [(now, now - at) for at in found.audit_at.values()]

    def _ask_page(self) -> None:
        path = self._dice.choice(PAGES)
        replica = self._dice.choice(list(self._stack.replicas.values()))
        if not replica.running:
            return
        status, body, took_s = _get(replica.url + path)
        answers = self.pages.setdefault(path, Answers())
        self.pages_by_status[status] += 1
        if status == 200:
            answers.took_s.append(took_s)
            answers.size_bytes.append(len(body))
        else:
            answers.failed += 1
        if status in _UNANSWERED:
            self.unanswered.append((time.time(), f"{replica.replica}{path}: status {status}"))
        elif status != 200:
            self._keep(self.bad_answers, f"{replica.replica}{path}: status {status}: {body[:200]!r}")

    @staticmethod
    def _keep(sentences: list[str], sentence: str) -> None:
        if sentence not in sentences and len(sentences) < _MOST:
            sentences.append(sentence)
            print(f"WRONG {sentence}", flush=True)


def _part(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return next((part for module, part in _PARTS.items() if module.encode() in words), "")


def _sampled(pid: int) -> Sample | None:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        files = sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir())
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None
    fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
    if "VmRSS" not in fields:  # it has ended and waits to be reaped
        return None
    rss_mib = int(fields["VmRSS"].split()[0]) / 1024
    return Sample(time.time(), rss_mib, files, int(fields["Threads"]), cpu_s([pid]))


def _tables(url: str) -> dict[str, int]:
    """Return the bytes of each table; nothing while the store is down."""
    try:
        with psycopg.connect(url, connect_timeout=STORE_TIMEOUT_S, autocommit=True) as connection:
            return dict(connection.execute(_TABLES).fetchall())
    except psycopg.Error:
        return {}


def _get(url: str) -> tuple[int, bytes, float]:
    """Return status, body and seconds of an answer; status 0 without one."""
    began = time.monotonic()
    try:
        with urllib.request.urlopen(url, timeout=SCRAPE_TIMEOUT_S) as answer:  # noqa: S310 - loopback
            return answer.status, answer.read(), time.monotonic() - began
    except urllib.error.HTTPError as error:
        return error.code, error.read(), time.monotonic() - began
    except (OSError, HTTPException):  # the latter if it ends within its answer
        return 0, b"", time.monotonic() - began
