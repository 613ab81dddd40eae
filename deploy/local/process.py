"""One child process of the stack: it never outlives this process, even if it is killed.

Each child is started by one thread that lives as long as this process, because the kernel's parent-death
signal (prctl(2), PR_SET_PDEATHSIG) fires when the *thread* that forked ends. `setpriv` sets the signal, and
a line of shell after it gives up when the parent had died before that.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ROOT = Path(__file__).parents[2]
_GUARD = [
    "setpriv",
    "--pdeathsig",
    "KILL",
    "--",
    "sh",
    "-c",
    '[ "$PPID" = "$1" ] || exit 1; shift; exec "$@"',
    "sh",
]
_launcher_lock = threading.Lock()
_launchers: dict[int, ThreadPoolExecutor] = {}  # by process id, so that a fork makes its own


def _launch(command: Sequence[str], log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    def popen() -> subprocess.Popen[bytes]:
        with log.open("ab") as out:
            return subprocess.Popen(
                [*_GUARD, str(os.getpid()), *command],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **environment},
                start_new_session=True,
            )

    with _launcher_lock:
        launcher = _launchers.setdefault(os.getpid(), ThreadPoolExecutor(1, thread_name_prefix="launcher"))
    return launcher.submit(popen).result()


class Process:
    """A named program with its log file; it can be started again after it ended."""

    def __init__(
        self, name: str, command: Sequence[str], *, folder: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.command = list(command)
        self.log = folder / f"{name}.log"
        self._pid_file = folder / f"{name}.pid"
        self.environment = dict(environment or {})  # over ours
        self._child: subprocess.Popen[bytes] | None = None
        self._log_start = 0

    def start(self) -> None:
        """Start the program in a process group of its own; its output is appended to `log`."""
        if self.running:
            raise RuntimeError(f"{self.name} runs already")
        if shutil.which(self.command[0]) is None:
            raise FileNotFoundError(f"{self.command[0]} is not installed; `make` says how to install it")
        self.log.parent.mkdir(parents=True, exist_ok=True)
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self._child = _launch(self.command, self.log, self.environment)
        self._pid_file.write_text(str(self._child.pid), encoding="ascii")

    @property
    def pid(self) -> int:
        """Return the process id of the newest start."""
        if self._child is None:
            raise RuntimeError(f"{self.name} was never started")
        return self._child.pid

    @property
    def running(self) -> bool:
        """Return whether the process is there, frozen or not."""
        return self._child is not None and self._child.poll() is None

    @property
    def exit_status(self) -> int | None:
        """Return the exit status, negative for a signal, or None while it runs or was never started."""
        return None if self._child is None else self._child.poll()

    def logged(self) -> str:
        """Return what was logged since the newest start."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            return log.read().decode("utf-8", "replace")

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the whole process group, if it is still there."""
        if self.running:
            os.killpg(self.pid, number)

    def freeze(self) -> None:
        """Stop the process in its tracks (SIGSTOP); its connections stay open."""
        self.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process continue (SIGCONT)."""
        self.signal(signal.SIGCONT)

    def request_stop(self) -> None:
        """Ask for an orderly end (SIGTERM) and return at once; a frozen process is thawed to hear it."""
        self.signal(signal.SIGTERM)
        self.signal(signal.SIGCONT)

    def stop(self, *, grace_s: float = 20.0) -> None:
        """End the process gracefully, or by force when it has not ended after `grace_s`."""
        self.request_stop()
        if self._child is not None:
            try:
                self._child.wait(grace_s)
            except subprocess.TimeoutExpired:
                self.kill()
        self._pid_file.unlink(missing_ok=True)

    def wait(self, *, deadline_s: float) -> int:
        """Wait for the end and return the exit status. Raises TimeoutError after the deadline."""
        if self._child is None:
            raise RuntimeError(f"{self.name} was never started")
        try:
            status = self._child.wait(deadline_s)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{self.name} did not end within {deadline_s:g} s (see {self.log})") from None
        self._pid_file.unlink(missing_ok=True)
        return status

    def kill(self) -> None:
        """End the process at once (SIGKILL)."""
        self.signal(signal.SIGKILL)
        if self._child is not None:
            self._child.wait()
        self._pid_file.unlink(missing_ok=True)


def stop_together(processes: Iterable[Process], *, grace_s: float) -> None:
    """Ask all to end, and kill those that have not ended `grace_s` later."""
    waiting = list(processes)
    until = time.monotonic() + grace_s
    for process in waiting:
        process.request_stop()
    for process in waiting:
        process.stop(grace_s=max(0.0, until - time.monotonic()))


def python_process(name: str, module: str, *arguments: str, folder: Path) -> Process:
    """Return a process that runs a module of this checkout."""
    command = [sys.executable, "-m", module, *arguments]
    return Process(name, command, folder=folder, environment={"PYTHONPATH": str(ROOT)})
