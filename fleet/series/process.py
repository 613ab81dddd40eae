"""Series of the service process, with the usual names of Prometheus clients."""

from __future__ import annotations

from fleet.series.kinds import Group, Kind, Series, Unit


def _process(name: str, kind: Kind, unit: Unit, text: str) -> Series:
    return Series(prefix="", name=f"process_{name}", kind=kind, unit=unit, group=Group.SERVICE, help=text)


PROCESS_CPU_SECONDS_TOTAL = _process(
    "cpu_seconds_total", Kind.COUNTER, Unit.SECONDS, "CPU time of the service process, user and system."
)
PROCESS_RESIDENT_MEMORY_BYTES = _process(
    "resident_memory_bytes", Kind.GAUGE, Unit.BYTES, "Resident memory of the service process."
)
PROCESS_VIRTUAL_MEMORY_BYTES = _process(
    "virtual_memory_bytes", Kind.GAUGE, Unit.BYTES, "Virtual memory of the service process."
)
PROCESS_OPEN_FDS = _process(
    "open_fds", Kind.GAUGE, Unit.FILES, "Open file descriptors of the service process."
)
PROCESS_MAX_FDS = _process(
    "max_fds", Kind.GAUGE, Unit.FILES, "Maximum number of open file descriptors of the service process."
)
PROCESS_START_TIME_SECONDS = _process(
    "start_time_seconds", Kind.GAUGE, Unit.EPOCH_SECONDS, "Start time of the service process."
)

PROCESS_CATALOGUE = tuple(bound for bound in tuple(vars().values()) if isinstance(bound, Series))
"""Every series above, in that order."""
