"""A real Spark cluster on this machine: a master and workers as processes of their own, with PySpark's own jars."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from typing import TYPE_CHECKING, Self

from checksum.spark.settings import pyspark_folder
from tests.eventually import eventually

if TYPE_CHECKING:
    from pathlib import Path

_UP_S = 60.0
_MASTER = re.compile(r"Starting Spark master at (spark://\S+)")


class StandaloneCluster:
    """A master and its workers of one core each; with the block they end, and their executors with them."""

    def __init__(self, folder: Path, *, workers: int) -> None:
        self.url = ""
        self._folder = folder
        self._workers = workers
        self._running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        try:
            self.url = self._seen(self._start("master.Master", "--port", "0"), _MASTER)
            for number in range(self._workers):
                work = self._folder / f"work-{number}"
                log = self._start(
                    "worker.Worker", "--cores", "1", "--memory", "1g", "--work-dir", str(work), self.url
                )
                self._seen(log, re.compile("Successfully registered with master (spark://)"))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_error: object) -> None:
        for one in reversed(self._running):
            os.killpg(one.pid, signal.SIGKILL)
            one.wait()

    def _start(self, what: str, *arguments: str) -> Path:
        home = pyspark_folder()
        log = self._folder / f"spark-{len(self._running)}.log"
        with log.open("wb") as out:
            started = subprocess.Popen(
                [
                    home / "bin" / "spark-class", f"org.apache.spark.deploy.{what}",
                    "--host", "127.0.0.1", "--webui-port", "0", *arguments,
                ],
                stdout=out, stderr=subprocess.STDOUT, start_new_session=True,
                env={**os.environ, "SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m"},
            )  # fmt: skip
        self._running.append(started)
        return log

    def _seen(self, log: Path, pattern: re.Pattern[str]) -> str:
        def look() -> str:
            found = pattern.search(log.read_text(errors="replace"))
            assert self._running[-1].poll() is None, log.read_text()
            return found[1] if found else ""

        return eventually(look, _UP_S, what=f"{pattern.pattern} in {log.name}")
