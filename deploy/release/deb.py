"""The Debian package: a virtual environment in /opt/mirrorwatch, units, man pages, completion.

/usr/share/mirrorwatch has the files of the checksum's own virtual environment, which the user makes.

Its Python is Debian's own. Compiled libraries fit one minor version of it. So the package depends on that
version, and is built on the Debian release that it is for. dpkg runs the scripts in `debian/`.
"""

from __future__ import annotations

import gzip
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.release.build import run
from deploy.release.checks import ReleaseError, deb_version
from deploy.release.manual import COMPLETION

if TYPE_CHECKING:
    from collections.abc import Sequence

PYTHON = Path("/usr/bin/python3")
# Every extra but the checksum: PySpark is larger than all the rest, and requires Java.
PARTS = ("run", "msk", "postgresql", "render")
CHECKSUM_PARTS = ("checksum", "msk", "postgresql")
UNITS = (
    "mirrorwatch.service",
    *(f"mirrorwatch-{job}.{kind}" for job in ("checksum", "report") for kind in ("service", "timer")),
)
COMMAND = "mirrorwatch-as-service"
_SCRIPTS = Path(__file__).parent / "debian"
_ZSH = "share/zsh/vendor-completions/_mirrorwatch"  # below /usr, Debian's zsh reads this folder


def build_deb(source: Path, manual: Path, scratch: Path, out: Path, *, version: str) -> None:
    """Build the package from the wheel and the requirements in `out`."""
    if not PYTHON.exists() or shutil.which("dpkg-deb") is None:
        raise ReleaseError(
            "deb: this system lacks dpkg-deb or /usr/bin/python3; build on Debian, or use --without-deb"
        )
    tree = scratch / "deb"
    _install(tree / "opt" / "mirrorwatch", [out / f"requirements-{part}.txt" for part in PARTS], cwd=out)
    (tree / "usr" / "bin").mkdir(parents=True)
    (tree / "usr" / "bin" / "mirrorwatch").symlink_to("/opt/mirrorwatch/bin/mirrorwatch")
    (tree / "etc" / "mirrorwatch").mkdir(parents=True)
    for unit in UNITS:
        _copy(source / "deploy" / "systemd" / unit, tree / "usr" / "lib" / "systemd" / "system" / unit)
    _copy(source / "deploy" / "systemd" / COMMAND, tree / "usr" / "bin" / COMMAND)
    for path in (*(out / f"requirements-{part}.txt" for part in CHECKSUM_PARTS), *out.glob("*.whl")):
        _copy(path, tree / "usr" / "share" / "mirrorwatch" / path.name)
    _copy(source / "LICENSE", tree / "usr" / "share" / "doc" / "mirrorwatch" / "copyright")
    for shell, place in COMPLETION.items():
        _copy(manual / place, tree / "usr" / (_ZSH if shell == "zsh" else place))
    for page in (manual / "share" / "man" / "man1").iterdir():
        packed = tree / "usr" / "share" / "man" / "man1" / f"{page.name}.gz"
        packed.parent.mkdir(parents=True, exist_ok=True)
        packed.write_bytes(gzip.compress(page.read_bytes(), mtime=0))
    for script in _SCRIPTS.iterdir():
        _copy(script, tree / "DEBIAN" / script.name)
    architecture = run(["dpkg", "--print-architecture"], cwd=scratch, what="dpkg").strip()
    control = _control(version=version, architecture=architecture, size_kib=_size_kib(tree))
    (tree / "DEBIAN" / "control").write_text(control, encoding="utf-8")
    _set_modes(tree)
    package = out / f"mirrorwatch_{deb_version(version)}_{architecture}.deb"
    # One thread: the compressed bytes may depend on their number.
    command = ["dpkg-deb", "--root-owner-group", "--threads-max=1", "-Zzstd", "-z12", "--build"]
    run([*command, tree, package], cwd=scratch, what="deb")


def _install(venv: Path, requirements: Sequence[Path], *, cwd: Path) -> None:
    """Make the virtual environment; its commands find it wherever it is, so it may be built elsewhere."""
    uv: list[str | Path] = [sys.executable, "-m", "uv"]
    run([*uv, "venv", "--quiet", "--relocatable", "--python", PYTHON, venv], cwd=cwd, what="deb")
    files = [word for path in requirements for word in ("-r", path)]
    command = [
        *uv,
        "pip",
        "install",
        "--quiet",
        "--python",
        venv,
        "--require-hashes",
        "--only-binary",
        ":all:",
    ]
    run([*command, "--link-mode", "copy", *files], cwd=cwd, what="deb")
    # Commands of other packages; and a tag that makes backups leave the folder out.
    commands = [
        path for path in (venv / "bin").iterdir() if not path.name.startswith(("mirrorwatch", "python"))
    ]
    for path in [*commands, venv / "CACHEDIR.TAG", venv / ".gitignore", venv / ".lock"]:
        path.unlink(missing_ok=True)
    # Where the wheel was, and when it was read: of no use, and different at each build.
    for record in venv.glob("lib/python3*/site-packages/mirrorwatch-*.dist-info/RECORD"):
        left_out = ("direct_url.json", "uv_cache.json")
        kept = [
            line
            for line in record.read_text(encoding="utf-8").splitlines(keepends=True)
            if not any(name in line for name in left_out)
        ]
        record.write_text("".join(kept), encoding="utf-8")
        for name in left_out:
            record.with_name(name).unlink(missing_ok=True)


def _control(*, version: str, architecture: str, size_kib: int) -> str:
    found = "import sys; print(sys.version_info[1])"
    minor = int(run([PYTHON, "-c", found], cwd=Path("/"), what=str(PYTHON)))
    return f"""\
Package: mirrorwatch
Version: {deb_version(version)}
Architecture: {architecture}
Maintainer: The Mirrorwatch authors <mirrorwatch@localhost>
Depends: python3 (>= 3.{minor}), python3 (<< 3.{minor + 1}), libc6 (>= 2.28), ca-certificates
Section: net
Priority: optional
Installed-Size: {size_kib}
Description: Watches mirrored Kafka clusters
 Mirrorwatch monitors Kafka topics that MirrorMaker or another product replicates
 between clusters: canary records, lag, and reports against objectives.
 The checksum job requires Spark, which is not part of this package.
"""


def _size_kib(tree: Path) -> int:
    sizes = (path.stat().st_size for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(-(-size // 1024) for size in sizes)


def _copy(path: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, target)


def _set_modes(tree: Path) -> None:
    """Make files readable by all and writable by root, and programs and scripts of dpkg executable."""
    for path in [tree, *tree.rglob("*")]:
        if not path.is_symlink():
            program = (
                path.is_dir()
                or path.parent.name == "bin"
                or (path.parent.name == "DEBIAN" and path.name != "control")
            )
            path.chmod(0o755 if program else 0o644)
