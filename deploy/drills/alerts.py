"""Which alerts a drill has to fire, and which Prometheus fired and Alertmanager paged for.

Faults run on rules whose times are divided, so that an alert fires within the drill. Where no alarm is
expected the rules are those of users: a restart that takes 9 s may not look like one of two minutes.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Final

from deploy.local.monitoring import DIVISOR, Monitoring
from deploy.local.waiting import wait_until
from fleet.verdicts.vocabulary import Cause, Verdict

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from deploy.drills.drill import Drill

PAGES: Final = "mirrorwatch-pages"
CRITICAL: Final = "critical"
HOLD_S: Final = 150.0  # of a fault on the usual clock: alerts that wait for a minute fire
WAIT_S: Final = 80.0  # an alert that waits for a quarter of an hour waits for 60 s of a drill
LISTEN_ON_S: Final = 25.0  # on the usual clock: a scrape and an evaluation after the flow came back
PREFIX: Final = "Mirrorwatch"
_LOOK_S: Final = 0.5
_READY_S: Final = 60.0

_STALLED: Final = frozenset({"NoRecordsArrive", "ReplicationStalled"})
_BY_CAUSE: Final = {
    Cause.SOURCE_DOWN: frozenset({"ClusterDown"}),
    Cause.TARGET_DOWN: frozenset({"ClusterDown"}),
    Cause.LOOPING: frozenset({"RecordsLoop"}),
}
_BY_VERDICT: Final = {
    Verdict.LOSING: frozenset({"RecordsLost"}),
    Verdict.ALTERED: frozenset({"DataAltered"}),
    Verdict.STALLED: _STALLED,
    Verdict.REPEATING: frozenset({"RecordsRepeat"}),
    Verdict.LATE: frozenset({"ReplicationLate", "ErrorBudgetBurn"}),
    Verdict.UNKNOWN: frozenset({"FlowUnknown"}),
}


def expected(verdict: Verdict | None, cause: Cause | None) -> frozenset[str]:
    """Return the alerts of which one has to fire, without their prefix; none for a healthy flow."""
    if verdict in (None, Verdict.HEALTHY):
        return frozenset()
    by_cause = _BY_CAUSE.get(cause) if cause is not None else None
    return by_cause or _BY_VERDICT[verdict]


def may_page(drill: Drill) -> frozenset[str]:
    """Return the alerts that may page: for what is expected, for what comes after it and on the way."""
    if drill.verdict is None:
        return frozenset()
    states = [(drill.verdict, drill.cause), (drill.then, None)]
    states += [(Verdict.STALLED, cause) for cause in drill.accepted]
    return frozenset(name for state in states for name in expected(*state))


def wrong(
    drill: Drill, fired: Collection[tuple[float, str, str]], paged: Collection[tuple[float, str]]
) -> str:
    """Return what is wrong with the alerts of a drill, empty where nothing is.

    Fired are seconds, name and severity; paged are seconds and name, as the receiver of pages got them.
    """
    wanted = expected(drill.verdict, drill.cause)
    if wanted and not any(name in wanted for _, name, _ in fired):
        return f"{' or '.join(sorted(wanted))} did not fire"
    pages = {name for _, name in paged}
    muted = sorted(name for _, name, severity in fired if name in wanted and severity == CRITICAL)
    if muted and not wanted & pages:
        return f"{muted[0]} was muted"
    others = [name for _, name in paged if name not in may_page(drill)]
    if drill.verdict is None:
        others += [name for _, name, severity in fired if severity == CRITICAL]
    return f"{others[0]} paged" if others else ""


class AlertWatch:
    """Prometheus and Alertmanager on a drill's service; notes what fires and what pages, each once.

    With `hold_s` the rules have the times of users, and the fault lasts for at least so long.
    """

    def __init__(self, folder: Path, config: Path, drill: Drill, *, hold_s: float = 0.0) -> None:
        self._wanted = expected(drill.verdict, drill.cause)
        self._hold_s = hold_s
        self._began = time.monotonic()
        self._firsts: dict[tuple[str, str], float] = {}  # by name and severity
        self._pages: dict[str, float] = {}
        self._ending = threading.Event()
        self._receiver = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._threads = [
            threading.Thread(target=self._receiver.serve_forever, daemon=True),
            threading.Thread(target=self._poll, daemon=True),
        ]
        port = self._receiver.server_address[1]
        divisor = 1.0 if drill.verdict is None or hold_s else DIVISOR
        self._monitoring = Monitoring(
            folder, config=config, divisor=divisor, webhook=f"http://127.0.0.1:{port}"
        )

    @property
    def can_watch(self) -> bool:
        """Return whether both are installed."""
        return not self._monitoring.absent

    def start(self) -> None:
        """Start both, and return once Prometheus has scraped the service. Raises TimeoutError."""
        for thread in self._threads:
            thread.start()
        self._monitoring.start()
        wait_until(
            self._monitoring.is_ready, deadline_s=_READY_S, what="Prometheus' first scrape", every_s=0.5
        )

    def begin(self) -> None:
        """Count the seconds from now on. Raises RuntimeError where an alert fires already."""
        self._began = time.monotonic()
        if self._firsts or self._pages:
            raise RuntimeError(f"before the fault these fire: {sorted(self._firsts)}")

    def has_fired(self) -> bool:
        """Return whether an alert that is expected has fired, and paged where it is to page; or none is."""
        if time.monotonic() - self._began < self._hold_s:
            return False
        found = [severity for name, severity in list(self._firsts) if name in self._wanted]
        return not self._wanted or bool(found and (CRITICAL not in found or self._wanted & set(self._pages)))

    def fired(self) -> list[tuple[float, str, str]]:
        """Return when each alert fired first, with its name and severity."""
        found = [(self._seconds(at), *which) for which, at in self._firsts.items()]
        return sorted(found)

    def paged(self) -> list[tuple[float, str]]:
        """Return when the receiver of pages first got each alert."""
        return sorted((self._seconds(at), name) for name, at in self._pages.items())

    def kill(self) -> None:
        """End both and stop noting."""
        self._ending.set()
        self._monitoring.kill()
        if self._threads[0].is_alive():
            self._receiver.shutdown()
        self._receiver.server_close()

    def _seconds(self, at: float) -> float:
        return round(at - self._began, 1)

    def _poll(self) -> None:
        while not self._ending.wait(_LOOK_S):
            for one in self._monitoring.firing():
                if one.labels["severity"] != "info":
                    which = one.name.removeprefix(PREFIX), one.labels["severity"]
                    self._firsts.setdefault(which, time.monotonic())

    def _take(self, path: str, document: bytes) -> None:
        if path == f"/{PAGES}":
            for one in json.loads(document)["alerts"]:
                if one["status"] == "firing":
                    name = one["labels"]["alertname"].removeprefix(PREFIX)
                    self._pages.setdefault(name, time.monotonic())

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        take = self._take

        class Handler(BaseHTTPRequestHandler):
            """Takes what Alertmanager notifies of."""

            def do_POST(self) -> None:
                take(self.path, self.rfile.read(int(self.headers["Content-Length"])))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                """Log nothing."""

        return Handler
