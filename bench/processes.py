"""What processes cost: processor time and memory, with all that they have started, and of the machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

# What a thread is there for, by how its name begins (the kernel keeps fifteen characters of it).
_GROUPS = (
    (r"loop$", "event loop"),
    (r"sending-", "schedules"),
    (r"sender-", "producers' reports"),
    (r"tap-.*-l[azy]*$", "lazy taps"),
    (r"tap-", "taps"),
    (r"rdk:broker", "client library, its connections"),
    (r"rdk:", "client library, the rest"),
)


def tree(pid: int) -> list[int]:
    """Return this process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            fields = _stat(int(folder.name))
            if fields:
                children.setdefault(int(fields[1]), []).append(int(folder.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def cpu_s(pids: list[int]) -> float:
    """Return the processor time that these have used, user and system."""
    ticks = sum(int(fields[11]) + int(fields[12]) for fields in map(_stat, pids) if fields)
    return ticks / os.sysconf("SC_CLK_TCK")


def thread_cpu_s(pids: list[int]) -> dict[str, float]:
    """Return the processor time of the threads that run now, by what they are there for."""
    found = dict.fromkeys([group for _, group in _GROUPS] + ["other threads"], 0.0)
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").iterdir():
            try:
                _, _, rest = (task / "stat").read_text(encoding="utf-8").partition("(")
            except (FileNotFoundError, ProcessLookupError):
                continue
            name, _, text = rest.rpartition(")")
            fields = text.split()
            group = next((group for start, group in _GROUPS if re.match(start, name)), "other threads")
            found[group] += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def pss_mb(pids: list[int]) -> float:
    """Return the proportional set size of these, in MiB."""
    total_kb = 0
    for pid in pids:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        total_kb += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total_kb / 1024


def machine_s() -> tuple[float, float]:
    """Return the processor time of the whole machine that was used, and all there was."""
    fields = [
        int(one) for one in Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:9]
    ]
    idle = fields[3] + fields[4]
    hertz = os.sysconf("SC_CLK_TCK")
    return (sum(fields) - idle) / hertz, sum(fields) / hertz


def _stat(pid: int) -> list[str]:
    """Return the fields after a process's name, none if it has gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    except (FileNotFoundError, ProcessLookupError):
        return []
