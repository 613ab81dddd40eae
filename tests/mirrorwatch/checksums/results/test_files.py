"""What is written is whole or not there, in the place of what was; what could not be written is told before."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from fleet.errors import ConfigurationError
from mirrorwatch.checksums.results import files as checksum_files
from mirrorwatch.checksums.results.files import replace_file, why_not_writable
from mirrorwatch.checksums.session import check_writable


def test_a_file_is_made_as_others_are_and_written_anew_as_it_is(tmp_path):
    path = tmp_path / "result.json"
    before = os.umask(0o027)
    try:
        replace_file(path, "first")
    finally:
        os.umask(before)
    assert (path.read_text(), stat.S_IMODE(path.stat().st_mode)) == ("first", 0o640)
    path.chmod(0o604)
    replace_file(path, "ä")
    assert (path.read_text(encoding="utf-8"), stat.S_IMODE(path.stat().st_mode)) == ("ä", 0o604)
    assert [one.name for one in tmp_path.iterdir()] == ["result.json"]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_what_was_there_stays_where_the_new_cannot_be_written(tmp_path, monkeypatch, failing):
    path = tmp_path / "result.json"
    path.write_text("of last night")

    def full(*_given):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checksum_files.os if failing == "fsync" else checksum_files.Path, failing, full)
    with pytest.raises(OSError, match="No space left"):
        replace_file(path, "half")
    assert path.read_text() == "of last night"
    assert [one.name for one in tmp_path.iterdir()] == ["result.json"]


def test_a_link_goes_on_leading_where_it_leads(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "link.json"
    link.symlink_to(tmp_path / "there" / "result.json")
    for text in ("first", "second"):
        assert why_not_writable(link) is None
        replace_file(link, text)
        assert (link.is_symlink(), (tmp_path / "there" / "result.json").read_text()) == (True, text)


def test_what_is_no_file_is_written_to_as_it_is(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    assert why_not_writable(path) is None
    replace_file(path, "told")
    assert os.read(reader, 100) == b"told"
    os.close(reader)
    assert stat.S_ISFIFO(path.stat().st_mode)


IN_ANOTHER_PROCESS = """\
import os, sys
from pathlib import Path
from mirrorwatch.checksums.results.files import replace_file, why_not_writable

print("before", flush=True)
for name in sys.argv[1:]:
    assert why_not_writable(Path(name)) is None
    replace_file(Path(name), f"for {name}\\n")
print("after", flush=True)
"""


def typed(line, folder):
    """Have a shell run a program that writes to `$@`, and return what the log of the night holds then."""
    log = folder / "cron.log"
    log.write_text("of last night\n")
    subprocess.run(
        ["/bin/sh", "-c", line],
        env=os.environ | {"CODE": IN_ANOTHER_PROCESS, "PYTHON": sys.executable, "LOG": str(log)},
        check=True,
    )
    assert [one.name for one in folder.iterdir()] == ["cron.log"]
    return log.read_text().replace(str(log), "cron.log").splitlines()


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "$LOG"])
def test_a_log_that_stdout_goes_to_keeps_what_it_holds(tmp_path, name):
    after = ["before", f"for {name.replace('$LOG', 'cron.log')}", "after"]
    assert typed(f'"$PYTHON" -c "$CODE" {name} >> "$LOG"', tmp_path) == ["of last night", *after]
    assert typed(f'"$PYTHON" -c "$CODE" {name} > "$LOG"', tmp_path) == after


def test_a_log_that_stderr_goes_to_or_another_descriptor_keeps_what_it_holds(tmp_path):
    held = ["of last night", "for /dev/stderr"]
    assert typed('"$PYTHON" -c "$CODE" /dev/stderr 2>> "$LOG" > /dev/null', tmp_path) == held
    held = ["of last night", "for /dev/fd/3"]
    assert typed('"$PYTHON" -c "$CODE" /dev/fd/3 3>> "$LOG" > /dev/null', tmp_path) == held


def test_a_file_that_lies_below_dev_is_replaced_as_others_are(tmp_path):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        path = Path(folder) / "result.json"
        for text in ("first", "second"):
            replace_file(path, text)
            assert path.read_text() == text


def test_a_name_as_long_as_a_file_s_may_be_can_be_written(tmp_path):
    path = tmp_path / ("x" * 255)
    assert why_not_writable(path) is None
    replace_file(path, "told")
    assert path.read_text() == "told"
    assert "file name too long" in why_not_writable(tmp_path / ("x" * 256))


def test_a_folder_that_may_not_be_entered_is_told(tmp_path, monkeypatch):
    def hidden(_path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(checksum_files.Path, "exists", hidden)
    with pytest.raises(ConfigurationError, match=r"--page: cannot write to .*/x\.html: permission denied"):
        check_writable(tmp_path / "x.html", "--page")


@pytest.mark.parametrize(
    ("sticky", "ours", "writable"),
    [(True, 7, False), (True, 8, True), (True, 9, True), (True, 0, True), (False, 7, True)],
)
def test_another_one_s_file_in_a_folder_such_as_tmp_is_not_ours_to_replace(
    tmp_path, monkeypatch, sticky, ours, writable
):
    (tmp_path / "x.json").touch()
    tmp_path.chmod(0o1777 if sticky else 0o777)
    whole = checksum_files.Path.stat

    def owned(path, **how):
        found, owner = whole(path, **how), 8 if path.name == "x.json" else 9
        told = {"st_mode": found.st_mode, "st_dev": found.st_dev, "st_ino": found.st_ino}
        return SimpleNamespace(**told, st_uid=owner)

    monkeypatch.setattr(checksum_files.Path, "stat", owned)
    monkeypatch.setattr(checksum_files.os, "geteuid", lambda: ours)
    assert (why_not_writable(tmp_path / "x.json") is None) is writable


@pytest.mark.parametrize("path", ["", ".", "/"])
def test_a_folder_is_no_file(path):
    with pytest.raises(ConfigurationError, match=r"--page: \S+ is a folder; name a file"):
        check_writable(Path(path), "--page")
