"""What is written is whole or not there, in the place of what was; what could not be written is told before."""

from __future__ import annotations

import os
import stat
from types import SimpleNamespace

import pytest

from fleet.errors import ConfigurationError
from mirrorwatch import checksum_files
from mirrorwatch.checksum_desk import check_writable
from mirrorwatch.checksum_files import replace_file, why_not_writable


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
    with pytest.raises(ConfigurationError, match=r"--page: .*/x\.html cannot be used: permission denied"):
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
        return SimpleNamespace(st_mode=found.st_mode, st_uid=owner)

    monkeypatch.setattr(checksum_files.Path, "stat", owned)
    monkeypatch.setattr(checksum_files.os, "geteuid", lambda: ours)
    assert (why_not_writable(tmp_path / "x.json") is None) is writable
