"""`checksum run` in a terminal that is interrupted, and by spark-submit as `--print-submit` says."""

from __future__ import annotations

import os
import pty
import select
import shlex
import subprocess
import sys
import termios
import time

import pytest

from checksum.spark.settings import pyspark_folder
from tests.checksum_spark.test_run import RUN_S, stage, typed  # noqa: F401 - a fixture

pytestmark = pytest.mark.real
HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"
SOON_S = 5.0  # two seconds on a machine that has nothing else to do


class Typed:
    """A command in a terminal of its own, as somebody types it."""

    def __init__(self, *arguments):
        self.leader, follower = pty.openpty()
        termios.tcsetwinsize(follower, (40, 120))
        self.before = termios.tcgetattr(follower)
        self.follower = follower
        self.process = subprocess.Popen(
            ["setsid", "-c", sys.executable, "-m", "mirrorwatch", "checksum", *map(str, arguments)],
            stdin=follower, stdout=follower, stderr=follower,
            env={**os.environ, "TERM": "xterm-256color"},
        )  # fmt: skip
        self.said = b""

    def wait_for(self, text, deadline_s):
        until = time.monotonic() + deadline_s
        while text not in self.said:
            assert time.monotonic() < until, self.said.decode(errors="replace")
            assert self.process.poll() is None, self.said.decode(errors="replace")
            self.read(0.2)

    def read(self, wait_s):
        if select.select([self.leader], [], [], wait_s)[0]:
            self.said += os.read(self.leader, 65_536)

    def end(self, deadline_s):
        """Return the exit status and how long it took."""
        begun = time.monotonic()
        while self.process.poll() is None:
            assert time.monotonic() - begun < deadline_s, self.said.decode(errors="replace")
            self.read(0.05)
        took_s = time.monotonic() - begun
        self.read(0.2)
        return self.process.returncode, took_s

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.leader)
        os.close(self.follower)


@pytest.fixture
def terminal():
    opened = []

    def type_(*arguments):
        opened.append(Typed(*arguments))
        return opened[-1]

    yield type_
    for one in opened:
        one.close()


def slow(stage, folder, rate):  # noqa: F811
    """Return a configuration by which a run lasts until somebody ends it."""
    path = folder / "slow.yaml"
    path.write_text(
        f'mm2: {stage.mirror.properties_file}\nmirror_version: "4.3"\nchecksum: {{max_rate: {rate}}}\n'
        f"store: {{url: 'sqlite:///{folder}/store.db'}}\n"
    )
    return path


@pytest.mark.long
@pytest.mark.parametrize("moment", [b"Starting Spark", b"(source)", b"records/s"])
def test_ctrl_c_in_the_middle_leaves_the_terminal_clean(stage, tmp_path, terminal, moment):  # noqa: F811
    stage.write(3000)
    stage.wait_copied()
    found = terminal(
        "run", slow(stage, tmp_path, "5kB/s"), "--topic", stage.topic, "--flow", "A:B", "--master", "local[2]"
    )  # fmt: skip
    found.wait_for(moment, RUN_S)
    os.write(found.leader, b"\x03")
    status, took_s = found.end(RUN_S)
    said = found.said.decode(errors="replace")
    assert status == 130, said
    assert found.said.rfind(HIDE) <= found.said.rfind(SHOW)
    assert "Traceback" not in said
    assert termios.tcgetattr(found.follower) == found.before
    print(f"ended {took_s:.2f} s after Ctrl-C at {moment.decode()}")
    assert took_s < SOON_S


@pytest.mark.long
def test_the_printed_line_does_the_same_by_spark_submit(stage, tmp_path):  # noqa: F811
    stage.write(500)
    stage.wait_copied()
    command = (
        "run", stage.mirror.properties_file, "--topic", stage.topic, "--flow", "A:B",
        "--master", "local[2]", "--json", tmp_path / "its result.json",
    )  # fmt: skip
    status, line = typed(*command, "--print-submit")
    assert (status, line.count("\n")) == (0, 1)
    words = shlex.split(line)
    assert words[0] == "spark-submit"
    submit = pyspark_folder() / "bin" / "spark-submit"
    ended = subprocess.run(
        [submit, *words[1:]], capture_output=True, text=True, timeout=RUN_S, check=False, cwd=tmp_path
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr[-3000:]
    assert "OK: the target holds every record that was compared." in " ".join(ended.stdout.split())
    assert (tmp_path / "its result.json").exists()
    # Spark's log is on the terminal there, where nothing may look like a failure.
    assert "Exception" not in ended.stderr
    assert "group.id" not in ended.stderr
