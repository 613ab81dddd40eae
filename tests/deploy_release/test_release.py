"""The whole release: twice the same bytes, installed and run."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile

import pytest

from tests.house.product_files import kept_files, relative

pytestmark = [pytest.mark.real, pytest.mark.long]
IDENTITY = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
MIRROR = """\
clusters = A, B
A.bootstrap.servers = 127.0.0.1:19092
B.bootstrap.servers = 127.0.0.1:19093
A->B.enabled = true
A->B.topics = orders
"""


def call(*command, cwd, status=0, **variables):
    said = subprocess.run(
        command, cwd=cwd, env=os.environ | variables, capture_output=True, text=True, check=False, timeout=600
    )
    assert said.returncode == status, said.stdout + said.stderr
    return said.stdout + said.stderr


def release(checkout, *words, status=0, **variables):
    return call(sys.executable, "-m", "deploy.release", *words, cwd=checkout, status=status, **variables)


@pytest.fixture(scope="module")
def checkouts(tmp_path_factory):
    """Give two clones, in different folders, of what is here, whether committed or not."""
    first = tmp_path_factory.mktemp("first") / "mirrorwatch"
    for path in kept_files():
        target = first / relative(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    changelog = first / "CHANGELOG.md"
    dated = re.sub(r"(?m)^(## [\d.]+), .*$", r"\1, 2026-11-28", changelog.read_text(), count=1)
    changelog.write_text(dated)
    call("git", "init", "--quiet", cwd=first)
    call("git", "add", "--all", cwd=first)
    call("git", *IDENTITY, "commit", "--quiet", "--message", "all", cwd=first)
    second = tmp_path_factory.mktemp("in-another-folder") / "clone"
    call("git", "clone", "--quiet", first, second, cwd=first)
    return first, second


@pytest.fixture(scope="module")
def built(checkouts):
    deb = [] if shutil.which("dpkg-deb") else ["--without-deb"]
    first, second = checkouts
    release(first, *deb, TZ="Asia/Tokyo")
    release(second, *deb, "--out", "elsewhere", LC_ALL="C", PYTHONHASHSEED="1")
    return first / "dist" / "release", second / "elsewhere"


def test_two_builds_in_two_folders_are_equal(built):
    first, second = ({path.name: path.read_bytes() for path in folder.iterdir()} for folder in built)
    assert sorted(first) == sorted(second)
    assert [name for name in first if first[name] != second[name]] == []
    call("sha256sum", "--quiet", "--check", "SHA256SUMS", cwd=built[0])


def test_a_wheel_of_the_checkout_is_the_wheel_of_the_sdist_but_for_the_revision(built, checkouts, tmp_path):
    call(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path, cwd=checkouts[0])

    def content(folder):
        (wheel,) = folder.glob("*.whl")
        with zipfile.ZipFile(wheel) as opened:
            return {name: opened.read(name) for name in opened.namelist() if not name.endswith("RECORD")}

    ours, theirs = content(built[0]), content(tmp_path)
    head = call("git", "rev-parse", "HEAD", cwd=checkouts[0])
    assert ours.pop("runtime/REVISION").decode() == head
    assert ours == theirs


def test_the_wheel_is_installed_with_hashes_and_runs(built, checkouts, tmp_path):
    call(sys.executable, "-m", "venv", "venv", cwd=tmp_path)
    pip = [tmp_path / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", "--require-hashes"]
    call(*pip, "-r", "requirements-run.txt", cwd=built[0])
    mirrorwatch = tmp_path / "venv" / "bin" / "mirrorwatch"
    head = call("git", "rev-parse", "HEAD", cwd=checkouts[0]).strip()
    assert f"(revision {head}, " in call(mirrorwatch, "version", cwd=tmp_path)
    (tmp_path / "mm2.properties").write_text(MIRROR)
    assert "A->B" in call(mirrorwatch, "check", "--no-connect", "mm2.properties", cwd=tmp_path)


def test_a_refused_release_changes_nothing(built, checkouts):
    before = {path.name: path.stat().st_mtime_ns for path in built[0].iterdir()}
    spare = checkouts[0] / "spare"
    spare.write_text("x")
    try:
        refusal = "working tree: 1 file not committed, first spare; commit or stash them\n"
        assert release(checkouts[0], status=1) == refusal
    finally:
        spare.unlink()
    assert {path.name: path.stat().st_mtime_ns for path in built[0].iterdir()} == before
    taken = f"{checkouts[0] / 'docs'}: is not empty and holds no release; name another folder with --out\n"
    assert release(checkouts[0], "--out", "docs", status=1) == taken
