"""Ctrl-C ends a command soon: by itself where it can, and at once where something holds it up."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

STUCK = {
    "in what ignores it": """
try:
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(60)
""",
    "in a thread that reads": "asyncio.run(asyncio.to_thread(time.sleep, 60))",
    "in what fails by it, by itself": """
try:
    time.sleep(60)
except KeyboardInterrupt:
    raise ConnectionError("what it asked has ended") from None
""",
    "in what comes back by itself": """
try:
    time.sleep(60)
except KeyboardInterrupt:
    ended = True
    raise
""",
}
PROGRAM = """
import asyncio, pathlib, sys, time
from mirrorwatch.checksums.interrupt import exit_after_interrupt
scratch = pathlib.Path(sys.argv[1])
with exit_after_interrupt(scratch, say=lambda: print('interrupted', flush=True), grace_s=1.0):
    print("ready", flush=True)
{}
"""


@pytest.mark.parametrize("where", STUCK)
def test_it_ends_soon_after_ctrl_c(where, tmp_path):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (scratch / "file").touch()
    body = "\n".join(f"    {line}" for line in STUCK[where].splitlines())
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(body), scratch], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert program.stdout.readline() == b"ready\n"
        time.sleep(0.2)
        begun = time.monotonic()
        program.send_signal(signal.SIGINT)
        said, _ = program.communicate(timeout=30)
        took_s = time.monotonic() - begun
    finally:
        program.kill()
        program.communicate()
    assert said == b"interrupted\n"  # at once, whatever holds it up
    by_itself = where.endswith("by itself")
    assert program.returncode == (-signal.SIGINT if by_itself else 130)
    assert scratch.exists() == by_itself  # whoever made it takes it away, where there is time
    assert took_s < 10
    if not by_itself:
        assert took_s >= 0.9


HELD_UP = {
    "nobody reads what it writes": ("print('x' * 1_000_000, flush=True)", "time.sleep(60)"),
    "nobody reads, and all else ends by itself": ("print('x' * 1_000_000, flush=True)", "raise"),
    "there is nothing to write to": ("sys.stdout.close() or print('interrupted')", "time.sleep(60)"),
}


@pytest.mark.parametrize("why", HELD_UP)
def test_it_ends_soon_where_nothing_can_be_said(why, tmp_path):
    say, then = HELD_UP[why]
    body = f"    try:\n        time.sleep(60)\n    except KeyboardInterrupt:\n        {then}"
    text = PROGRAM.format(body).replace("print('interrupted', flush=True)", say)
    assert say in text
    program = subprocess.Popen(
        [sys.executable, "-c", text, tmp_path / "scratch"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert program.stdout.readline() == b"ready\n"
        time.sleep(0.2)
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=15) == 130
    finally:
        program.kill()
        program.communicate()


def test_without_ctrl_c_nothing_happens(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format("    time.sleep(1.3)\nprint('done')"), tmp_path],
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\ndone\n", "")
    assert tmp_path.exists()


def test_another_signal_ends_nothing_early(tmp_path):
    body = "    import signal\n    signal.signal(signal.SIGUSR1, lambda *_: print('heard', flush=True))\n    time.sleep(3)"
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM.format(body), tmp_path], stdout=subprocess.PIPE, text=True
    )
    assert program.stdout.readline() == "ready\n"
    time.sleep(0.3)
    program.send_signal(signal.SIGUSR1)
    said, _ = program.communicate(timeout=30)
    assert (program.returncode, said) == (0, "heard\n")
