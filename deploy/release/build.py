"""Sdist, wheel, requirements, SBOMs, the archive of man pages and completion, and sums."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
from typing import TYPE_CHECKING

from deploy.release.checks import ReleaseError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

SUMS = "SHA256SUMS"


def run(command: Sequence[str | Path], *, cwd: Path, what: str) -> str:
    """Run a command and return its output; raises ReleaseError with the last line that it wrote."""
    ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if ended.returncode:
        last = (ended.stderr or ended.stdout).strip().splitlines()[-1:] or ["no output"]
        words = " ".join(str(word) for word in command)
        raise ReleaseError(
            f"{what}: failed with status {ended.returncode}: {last[0]}; to see more, run in {cwd}: {words}"
        )
    return ended.stdout


def export(root: Path, folder: Path, *, head: str) -> None:
    """Write the files of a commit into a folder, with its name as the revision that the wheel reports."""
    folder.mkdir()
    archive = folder.with_suffix(".tar")
    run(["git", "archive", "--output", archive, head], cwd=root, what="git archive")
    run(["tar", "-xf", archive], cwd=folder, what="tar")
    (folder / "runtime" / "REVISION").write_text(f"{head}\n", encoding="ascii")


def build_packages(source: Path, scratch: Path, out: Path) -> Path:
    """Build the sdist, and the wheel from the sdist; return the wheel."""
    build: list[str | Path] = [sys.executable, "-m", "hatchling", "build", "--directory", out, "--target"]
    run([*build, "sdist"], cwd=source, what="sdist")
    (sdist,) = out.glob("*.tar.gz")
    run(["tar", "-xf", sdist], cwd=scratch, what="tar")
    run([*build, "wheel"], cwd=scratch / sdist.name.removesuffix(".tar.gz"), what="wheel")
    (wheel,) = out.glob("*.whl")
    return wheel


def write_requirements(source: Path, wheel: Path, out: Path, parts: Sequence[str]) -> None:
    """Write the requirements of the service and of each extra, each with the wheel itself and its hash."""
    for part in parts:
        pinned = (source / "requirements" / f"{part}.txt").read_text(encoding="utf-8")
        line = f"./{wheel.name} --hash=sha256:{_sha256(wheel)}\n"
        (out / f"requirements-{part}.txt").write_text(pinned + line, encoding="utf-8")


def write_sboms(source: Path, out: Path, *, version: str, parts: Sequence[str]) -> None:
    """Write the bill of materials of each requirements file as CycloneDX JSON."""
    for part in parts:
        sbom = out / f"mirrorwatch-{version}-{part}.cdx.json"
        command = [sys.executable, "-m", "cyclonedx_py", "requirements", "--output-reproducible"]
        run(
            [*command, "--pyproject", "pyproject.toml", "-o", sbom, f"requirements/{part}.txt"],
            cwd=source,
            what=f"SBOM of requirements/{part}.txt",
        )


def pack(folder: Path, archive: Path, *, epoch: int) -> None:
    """Write a folder as a tar archive with the same bytes at each build."""
    with (
        archive.open("wb") as file,
        gzip.GzipFile("", "wb", fileobj=file, mtime=epoch) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted(folder.rglob("*")):
            entry = tar.gettarinfo(path, path.relative_to(folder).as_posix())
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = epoch, 0, 0, "root", "root"
            entry.mode = 0o755 if path.is_dir() else 0o644
            with path.open("rb") if path.is_file() else io.BytesIO() as content:
                tar.addfile(entry, content)


def write_sums(out: Path) -> None:
    """Write SHA256SUMS of all files, as `sha256sum --check` reads it."""
    lines = [f"{_sha256(path)}  {path.name}\n" for path in sorted(out.iterdir()) if path.name != SUMS]
    (out / SUMS).write_text("".join(lines), encoding="ascii")


def settle_environment(epoch: int) -> None:
    """Set what a build may depend on: time stamps, permissions, language, time zone."""
    os.umask(0o022)
    os.environ |= {"SOURCE_DATE_EPOCH": str(epoch), "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def texts(root: Path, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield name and text of each committed file below the named ones, without binary files."""
    for name in run(["git", "ls-files", *names], cwd=root, what="git ls-files").splitlines():
        content = (root / name).read_bytes()
        if b"\0" not in content:
            yield name, content.decode("utf-8")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
