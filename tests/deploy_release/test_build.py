"""Man pages, completion and archives: whole, and the same bytes at each build."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile

import click
import pytest

from deploy.release.build import ReleaseError, pack, run, write_requirements, write_sums
from deploy.release.manual import COMPLETION, write_manual
from mirrorwatch.cli.main import cli
from tests.house.product_files import ROOT


@pytest.fixture(scope="module")
def manual(tmp_path_factory):
    folder = tmp_path_factory.mktemp("manual") / "share"
    write_manual(folder, version="1.2.3", date="2026-11-28")
    return folder


def commands(command, path="mirrorwatch"):
    yield path
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from commands(inner, f"{path}-{name}")


def test_every_command_has_a_man_page(manual):
    pages = {path.name for path in (manual / "share" / "man" / "man1").iterdir()}
    assert pages == {f"{path}.1" for path in commands(cli)}


def test_the_first_page_has_exit_statuses_and_its_whole_title(manual):
    page = (manual / "share" / "man" / "man1" / "mirrorwatch.1").read_text()
    assert "Exit status: 0 OK; 1 a finding;" in page
    assert "lost, late and altered records." in page.split(".SH SYNOPSIS")[0]
    assert "1.2.3" in page
    assert "2026-11-28" in page


@pytest.mark.parametrize("shell", COMPLETION)
def test_completion_asks_the_command(manual, shell):
    assert "_MIRRORWATCH_COMPLETE" in (manual / COMPLETION[shell]).read_text()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("mirrorwatch obj", ["plain,objectives"]),
        ("mirrorwatch offsets tr", ["plain,translate"]),
        ("mirrorwatch check --no", ["plain,--no-connect"]),
        ("mirrorwatch check /etc/mi", ["file,/etc/mi"]),
    ],
)
def test_bash_completes_commands_options_and_files(words, expected):
    variables = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    said = subprocess.run(
        [sys.executable, "-m", "mirrorwatch"],
        env=os.environ | variables | {"_MIRRORWATCH_COMPLETE": "bash_complete"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert said.stdout.splitlines() == expected


def test_an_archive_depends_on_content_alone(tmp_path):
    packed = []
    for name, mode in (("a", 0o600), ("b", 0o664)):
        file = tmp_path / name / "share" / "page.1"
        file.parent.mkdir(parents=True)
        file.write_text("text")
        file.chmod(mode)
        os.utime(file, (mode, mode))
        pack(tmp_path / name, tmp_path / f"{name}.tar.gz", epoch=1_000_000_000)
        packed.append((tmp_path / f"{name}.tar.gz").read_bytes())
    assert packed[0] == packed[1]
    with tarfile.open(tmp_path / "a.tar.gz") as opened:
        found = [(entry.name, entry.mode, entry.mtime, entry.uname) for entry in opened]
    assert found == [
        ("share", 0o755, 1_000_000_000, "root"),
        ("share/page.1", 0o644, 1_000_000_000, "root"),
    ]


def test_requirements_and_sums_name_the_wheel_with_its_hash(tmp_path):
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "run.txt").write_text("click==1 --hash=sha256:0\n")
    out = tmp_path / "out"
    out.mkdir()
    (out / "x.whl").write_bytes(b"abc")
    sha = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    write_requirements(tmp_path, out / "x.whl", out, ["run"])
    assert (
        out / "requirements-run.txt"
    ).read_text() == f"click==1 --hash=sha256:0\n./x.whl --hash=sha256:{sha}\n"
    write_sums(out)
    write_sums(out)
    assert (out / "SHA256SUMS").read_text().splitlines()[1:] == [f"{sha}  x.whl"]


def test_a_command_that_fails_is_one_sentence(tmp_path):
    command = [sys.executable, "-c", "import sys; print('a\\nlast', file=sys.stderr); sys.exit(3)"]
    with pytest.raises(ReleaseError) as raised:
        run(command, cwd=tmp_path, what="sdist")
    assert str(raised.value).startswith(
        f"sdist: failed with status 3: last; to see more, run in {tmp_path}: "
    )
