"""A PostgreSQL server on the loopback address, with passwords, as a store for several processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.local.ports import free_port
from deploy.local.process import Process
from deploy.local.waiting import wait_until

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

USER = "mirrorwatch"
PASSWORD = "pg-Pa55/wörd"  # noqa: S105 - of a server that nobody else reaches
_NOBODY = 65534  # PostgreSQL refuses to run as root
_READY_S = 30.0


class PostgreSql:
    """One server with an empty folder of its own, which goes with it."""

    def __init__(self) -> None:
        self._programs = _programs()
        self._port = free_port()
        # Not below the folder of the run: whom the server runs as may not enter there.
        self._folder = Path(tempfile.mkdtemp(prefix="mirrorwatch-postgresql-"))
        self._data = self._folder / "data"
        self._as_root = os.getuid() == 0
        self._process = Process("postgresql", self._command(), folder=self._folder)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def start(self) -> None:
        """Start it and wait until it answers; the first time, make its files."""
        if not self._data.exists():
            password = self._folder / "password"
            password.write_text(PASSWORD, encoding="utf-8")
            if self._as_root:
                for path in (self._folder, password):
                    os.chown(path, _NOBODY, _NOBODY)
            self._run(
                "initdb", "-D", self._data, "-U", USER, "--pwfile", password, "--no-sync",
                "--auth=scram-sha-256", "--encoding=UTF8", "--locale=C",
            )  # fmt: skip
        self._process.start()
        ready = [str(self._programs / "pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self._port)]
        wait_until(
            lambda: subprocess.run(ready, check=False).returncode == 0, deadline_s=_READY_S, what="PostgreSQL"
        )

    def kill(self) -> None:
        """End it at once, as kill -9 does."""
        self._process.kill()

    def freeze(self) -> None:
        """Have the server and all that work for it hang: connections stay open."""
        for pid in self._pids():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it continue."""
        for pid in self._pids():
            os.kill(pid, signal.SIGCONT)

    def close(self) -> None:
        """End it and remove its files."""
        if self._process.running:
            self.thaw()  # what hangs does not see its server end
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def url(self, database: str = "postgres", *, user: str = USER, password: str = PASSWORD) -> str:
        """Return the address of a database, as it is written into store.url."""
        quoted = "".join(f"%{byte:02X}" for byte in password.encode())
        return f"postgresql://{user}:{quoted}@127.0.0.1:{self._port}/{database}"

    def say(self, *statements: str, database: str = "postgres") -> None:
        """Have the superuser say something."""
        for statement in statements:
            self._run(
                "psql", "-q", "-h", "127.0.0.1", "-p", str(self._port), "-U", USER, "-d", database,
                "-v", "ON_ERROR_STOP=1", "-c", statement,
            )  # fmt: skip

    def _pids(self) -> list[int]:
        workers = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text("ascii")
        return [self._process.pid, *map(int, workers.split())]

    def _command(self) -> Sequence[str]:
        server = [
            str(self._programs / "postgres"), "-D", str(self._data), "-p", str(self._port),
            "-c", "listen_addresses=127.0.0.1", "-c", f"unix_socket_directories={self._folder}",
            "-c", "fsync=off",
        ]  # fmt: skip
        if not self._as_root:
            return server
        ids = str(_NOBODY)
        # To become somebody else takes off the signal at the parent's death.
        return ["setpriv", "--reuid", ids, "--regid", ids, "--clear-groups", "--pdeathsig", "KILL", *server]

    def _run(self, program: str, *arguments: object) -> None:
        as_nobody = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if self._as_root else {}
        done = subprocess.run(
            [str(self._programs / program), *map(str, arguments)],
            check=False,
            capture_output=True,
            text=True,
            cwd=self._folder,
            env={**os.environ, "PGPASSWORD": PASSWORD},
            **as_nobody,  # type: ignore[call-overload]
        )
        if done.returncode != 0:
            raise RuntimeError(f"{program} failed: {done.stderr.strip()}")


def _programs() -> Path:
    """Return the folder of the newest server's programs: Debian puts them on no path.

    Raises FileNotFoundError if there is none.
    """
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda one: float(one.parts[-3]))
    if not versions:
        raise FileNotFoundError("PostgreSQL is not installed; `make database` installs it")
    return versions[-1].parent
