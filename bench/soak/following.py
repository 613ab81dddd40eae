"""Verdicts and events from the logs of both replicas, read while they are written."""

from __future__ import annotations

import datetime as dt
import json
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

from bench.soak.faults import Signal
from bench.soak.judging import Change, Shown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from bench.soak.stack import SoakReplica

POLL_S = 0.2
_LEADS = "this replica leads its group"
_STORE = ("store", "store: group")
_BAD_LINES = ("Traceback", "fault of mirrorwatch")
_MOST_LINES = 50


class Following(threading.Thread):
    """Reads what both logs gain, until it is stopped."""

    def __init__(self, replicas: Iterable[SoakReplica]) -> None:
        super().__init__(daemon=True, name="following logs")
        self._logs = {one.replica: one.log for one in replicas}
        self._read: dict[str, int] = dict.fromkeys(self._logs, 0)
        self._rest: dict[str, bytes] = dict.fromkeys(self._logs, b"")
        self._ending = threading.Event()
        self._lock = threading.Lock()
        self._changes: list[Change] = []
        self._shown: list[Shown] = []
        self.trouble: list[str] = []
        """Lines that no replica may log."""
        self.errors: Counter[str] = Counter()
        """Sentences that were logged as errors."""
        self.problems: Counter[str] = Counter()
        """Places of problems that were logged."""

    def run(self) -> None:
        """Read until stopped."""
        while not self._ending.wait(POLL_S):
            self._poll()
        self._poll()

    def stop(self) -> None:
        """Read the rest and end."""
        self._ending.set()
        if self.is_alive():
            self.join()

    def changes(self) -> list[Change]:
        """Return all changes of verdicts so far, in order."""
        with self._lock:
            return sorted(self._changes)

    def shown(self) -> list[Shown]:
        """Return all events so far, in order."""
        with self._lock:
            return sorted(self._shown)

    def _poll(self) -> None:
        for replica, path in self._logs.items():
            for line in self._new_lines(replica, path):
                self._take(replica, line)

    def _new_lines(self, replica: str, path: Path) -> list[str]:
        if not path.exists():
            return []
        with path.open("rb") as log:
            log.seek(self._read[replica])
            data = log.read()
        self._read[replica] += len(data)
        *lines, self._rest[replica] = (self._rest[replica] + data).split(b"\n")
        return [line.decode("utf-8", "replace") for line in lines]

    def _take(self, replica: str, text: str) -> None:
        if any(word in text for word in _BAD_LINES) and len(self.trouble) < _MOST_LINES:
            self.trouble.append(f"{replica}: {text[:300]}")
        try:
            line: dict[str, Any] = json.loads(text)
            at = dt.datetime.fromisoformat(line["time"]).timestamp()
        except (ValueError, KeyError, TypeError):
            return
        sentence = str(line.get("sentence", ""))
        with self._lock:
            if "verdict" in line and "flow" in line:
                verdict, cause = line["verdict"], line.get("cause", "none")
                self._changes.append(Change(at, line["flow"], verdict, cause, sentence, replica))
            elif line.get("level") == "error":
                self.errors[sentence[:200]] += 1
            signal = _signal(line, sentence)
            if signal is not Signal.NONE:
                self._shown.append(Shown(at, signal, replica))
            if "where" in line and line.get("level") == "warning":
                self.problems[line["where"]] += 1


def _signal(line: dict[str, Any], sentence: str) -> Signal:
    if sentence == _LEADS:
        return Signal.LEADER
    if line.get("where") in _STORE and line.get("level") == "warning":
        return Signal.STORE
    if line.get("part") == "reload" and line.get("level") == "info":
        return Signal.RELOAD
    return Signal.NONE
