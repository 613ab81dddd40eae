"""All the demo's processes, started together and stopped together."""

from __future__ import annotations

import fcntl
import shutil
from typing import TYPE_CHECKING, TextIO

from deploy.local.demo.service import Service
from deploy.local.jars import StackError, kafka_version
from deploy.local.monitoring import Monitoring
from deploy.local.pair import Pair
from deploy.local.process import Process, python_process, stop_together

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_MARK = ".mirrorwatch-demo"


class DemoStack:
    """Brokers, mirror, traffic, readers, service, Prometheus and Alertmanager, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = claim(folder)
        version = kafka_version()
        # B->A mirrors nothing but its heartbeats, which is what makes those of A arrive on B.
        self.pair = Pair(folder / "kafka", flows=("A->B",))
        if self.pair.mirror is None:
            raise StackError("The demo needs a mirror")
        self.mirror = self.pair.mirror
        self.traffic = python_process("traffic", "deploy.local.traffic", str(self.pair.folder), folder=folder)
        self.readers = python_process(
            "readers", "deploy.local.demo.readers", str(self.pair.folder), folder=folder
        )
        self.service = Service(folder / "service", settings=self.mirror.settings, version=version)
        self.monitoring = Monitoring(folder / "monitoring", config=self.service.configuration)
        self.acting: Process | None = None  # the process that injects a fault

    def start(self, say: Callable[[str], None]) -> None:
        """Start everything; `say` hears what is done. Raises StackError or TimeoutError."""
        self.pair.start()
        for broker in self.pair.brokers.values():
            broker.wait_ready()
        say("Two brokers are up.")
        self.traffic.start()
        self.readers.start()
        self.service.start()
        self.mirror.wait_ready()
        say("MirrorMaker replicates.")
        self.monitoring.start()  # last, or it would alert on what has not started yet

    def all_processes(self) -> list[Process]:
        """Return every process, in the order in which they are asked to stop."""
        acting = [self.acting] if self.acting else []
        around = (self.service, self.traffic, self.readers, *self.monitoring.processes)
        return [*acting, *around, self.mirror, *self.pair.brokers.values()]

    def needed(self) -> list[Process]:
        """Return what has to run whenever nothing is broken on purpose, besides the service."""
        return [*self.pair.brokers.values(), self.mirror]

    def stop(self) -> None:
        """Stop everything gracefully, the brokers last; what does not end within 5 s is killed."""
        *clients, first, second = self.all_processes()
        stop_together(clients, grace_s=5.0)
        stop_together((first, second), grace_s=5.0)
        self._lock.close()


def claim(folder: Path) -> TextIO:
    """Empty the folder for a new demo and hold its lock, which goes with the returned file.

    Raises StackError when another demo runs there, or when the folder holds something else.
    """
    folder.mkdir(parents=True, exist_ok=True)
    mark = folder / _MARK
    if not mark.exists() and any(folder.iterdir()):
        raise StackError(f"{folder} holds other files; name an empty or a new folder with --dir")
    lock = mark.open("w", encoding="ascii")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise StackError(
            f"Another demo runs in {folder}; end it, or name another folder with --dir"
        ) from None
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        elif entry != mark:
            entry.unlink()
    return lock
