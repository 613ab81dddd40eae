"""Identity of a process, so that another process on the same host can see whether it still runs.

Process ids are reused, and differ between containers. So the identity also has the boot id of the host, the
namespace of process ids, and the start time of the process (proc(5), field 22).
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

FOREIGN_LEASE_S = 600.0  # no clock of another machine is so wrong


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process on one host since its last boot; unknown parts are empty."""

    boot: str
    namespace: str
    pid: int
    began: str

    def text(self) -> str:
        """Return it as one line for the store."""
        return json.dumps(asdict(self), separators=(",", ":"))


def this_process() -> ProcessIdentity:
    """Return the identity of this process."""
    pid = os.getpid()
    return ProcessIdentity(_boot(), _namespace(), pid, _began(pid) or "")


def is_gone(text: str) -> bool | None:
    """Return whether the process of this line has ended; None if unknown."""
    told = _read_line(text)
    if told is None or not told.began or (told.boot, told.namespace) != (_boot(), _namespace()):
        return None
    began = _began(told.pid)
    if began is None:
        return None
    return began != told.began


def pid_here(text: str) -> int | None:
    """Return the process id of this line where it means the same process here; None where it does not."""
    told = _read_line(text)
    same = told is not None and (told.boot, told.namespace) == (_boot(), _namespace())
    return told.pid if told is not None and same else None


def on_this_machine(text: str) -> bool:
    """Tell whether the process of this line surely had the same clock: it ran here since the last boot."""
    told = _read_line(text)
    return told is not None and told.boot == _boot()


def lease_s(text: str, own_s: float) -> float:
    """Return how long the process of this line may give no sign: `own_s` where its clock is surely ours."""
    return own_s if on_this_machine(text) else FOREIGN_LEASE_S


def _read_line(text: str) -> ProcessIdentity | None:
    try:
        told = ProcessIdentity(**json.loads(text))
    except (ValueError, TypeError):
        return None
    return told if told.boot and told.namespace else None


def _boot() -> str:
    return _read(Path("/proc/sys/kernel/random/boot_id"))


def _namespace() -> str:
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def _began(pid: int) -> str | None:
    """Return when a process began, in ticks since the boot; empty where it is dead, None where it is hidden.

    A mount option hides the processes of other users as if they were not there: then even the first is not.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except FileNotFoundError:
        return "" if Path("/proc/1").exists() else None
    except ProcessLookupError:
        return ""
    except OSError:
        return None
    after_name = stat.rpartition(")")[2].split()
    if len(after_name) < 20 or after_name[0] in "ZX":
        return ""
    return after_name[19]


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""
