"""`mirrorwatch checksum run` as an operator types it: how long it takes, and the memory of its driver."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.processes import pss_mb, tree
from deploy.local.process import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

_LOOK_S = 0.2
_DEADLINE_S = 300.0


@dataclass(slots=True)
class _Peaks:
    java_mb: float = 0.0
    python_mb: float = 0.0
    whole_mb: float = 0.0

    def look(self, pid: int) -> None:
        java_mb = python_mb = 0.0
        for one in tree(pid):
            try:
                name, size_mb = Path(f"/proc/{one}/comm").read_text(encoding="utf-8"), pss_mb([one])
            except OSError:  # it has ended, and what started it may not have taken note of that yet
                continue
            if name == "java\n":
                java_mb += size_mb
            else:
                python_mb += size_mb
        self.java_mb = max(self.java_mb, java_mb)
        self.python_mb = max(self.python_mb, python_mb)
        self.whole_mb = max(self.whole_mb, java_mb + python_mb)


def configuration(folder: Path, clusters: Mapping[str, Mapping[str, str]], source: str, target: str) -> Path:
    """Write the configuration of a flow whose mirror keeps offsets, and return its file."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {
        "mirror_version": "4.3",
        "clusters": {alias: dict(client) for alias, client in clusters.items()},
        "flows": {f"{source}->{target}": {"topics": ".*", "lag_from": "equal-offsets"}},
    }
    path = folder / "mirrorwatch.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")  # JSON is YAML
    return path


def run(config: Path, topic: str, *, flow: str, master: str) -> dict[str, Any]:
    """Compare a topic whose sides are equal; the peaks are proportional set sizes in MiB.

    Raises RuntimeError with what it said where it does not end well, and where it takes too long.
    """
    told = config.parent / f"{topic}.json"
    command = [
        *(sys.executable, "-m", "mirrorwatch", "checksum", "run", str(config), "--topic", topic),
        *("--flow", flow, "--master", master, "--json", str(told)),
    ]
    log, peaks, began = config.parent / f"{topic}.log", _Peaks(), time.monotonic()
    with (
        log.open("wb") as said,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=ROOT) as process,
    ):
        try:
            while process.poll() is None:
                peaks.look(process.pid)
                if time.monotonic() - began > _DEADLINE_S:
                    raise RuntimeError(f"The run took longer than {_DEADLINE_S:g} s: {_end(log)}")
                time.sleep(_LOOK_S)
        finally:
            process.terminate()  # nothing, where it has ended
    took_s = time.monotonic() - began
    if process.returncode != 0:
        raise RuntimeError(f"The run ended with {process.returncode}: {_end(log)}")
    (found,) = json.loads(told.read_text(encoding="utf-8"))["runs"]
    return {
        "whole_s": round(took_s, 1),
        "source_records": found["source_records"],
        "target_records": found["target_records"],
        "java_mb": round(peaks.java_mb),
        "python_mb": round(peaks.python_mb),
        "driver_mb": round(peaks.whole_mb),
    }


def _end(log: Path) -> str:
    return log.read_text(encoding="utf-8", errors="replace")[-1500:]
