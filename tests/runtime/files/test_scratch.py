from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from runtime.files.scratch import ScratchFolder

PREFIX = "mirrorwatch-test-"
OTHER = f"""
import sys
from runtime.files.scratch import ScratchFolder
print(ScratchFolder({PREFIX!r}).name, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def room(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_it_is_for_this_user_alone_and_goes():
    folder = ScratchFolder(PREFIX)
    assert Path(folder.name).stat().st_mode & 0o777 == 0o700
    (Path(folder.name) / "snapshot").write_text("x")
    folder.cleanup()
    assert not Path(folder.name).exists()
    folder.cleanup()


def test_the_folder_of_a_process_stays_while_it_lives_and_goes_after_it_was_killed(room):
    command = [sys.executable, "-c", OTHER]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"TMPDIR": str(room)}
    ) as other:
        left = Path(other.stdout.readline().strip())
        first = ScratchFolder(PREFIX)
        assert left.is_dir()
        other.kill()
        other.wait(20)
    second = ScratchFolder(PREFIX)
    assert not left.exists()
    assert Path(first.name).is_dir()
    for one in (first, second):
        one.cleanup()


def test_what_is_no_folder_of_ours_stays(room):
    elsewhere = room / "kept"
    elsewhere.mkdir()
    (elsewhere / ".lock").touch()
    (room / f"{PREFIX}link").symlink_to(elsewhere)
    (room / f"{PREFIX}no-lock").mkdir()
    (room / f"{PREFIX}file").touch()
    ScratchFolder(PREFIX).cleanup()
    assert sorted(one.name for one in room.iterdir()) == [
        "kept", f"{PREFIX}file", f"{PREFIX}link", f"{PREFIX}no-lock",
    ]  # fmt: skip
    assert (elsewhere / ".lock").exists()
