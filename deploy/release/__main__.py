"""Make a release: python -m deploy.release [--out DIR] [--trial] [--without-deb]."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import tomllib
from datetime import UTC, datetime
from pathlib import Path

from deploy.release import build, checks
from deploy.release.deb import build_deb
from deploy.release.manual import write_manual

ROOT = Path(__file__).parents[2]


def main() -> int:
    """Make a release and list its files; return 1 with one sentence for each problem."""
    parser = argparse.ArgumentParser(prog="python -m deploy.release", description="Make a release.")
    parser.add_argument("--out", type=Path, default=ROOT / "dist" / "release", help="the folder to write")
    parser.add_argument("--trial", action="store_true", help="accept a changelog section without a date")
    parser.add_argument("--without-deb", action="store_true", help="leave the Debian package out")
    asked = parser.parse_args()
    try:
        release(asked.out.resolve(), trial=asked.trial, deb=not asked.without_deb)
    except checks.ReleaseError as refusal:
        print(refusal, file=sys.stderr)
        return 1
    for path in sorted(asked.out.iterdir()):
        print(f"{path.stat().st_size:>12,}  {path.name}")
    return 0


def release(out: Path, *, trial: bool, deb: bool) -> None:
    """Build every file from the last commit into `out`, or raise ReleaseError and leave `out` as it was."""
    version, section, head = _check(out, trial=trial)
    epoch = int(_git("log", "-1", "--format=%ct"))
    parts = ("run", *_extras())
    build.settle_environment(epoch)
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-release-") as name:
        scratch = Path(name)
        source, manual, made = scratch / "source", scratch / "manual", scratch / "made"
        made.mkdir()
        build.export(ROOT, source, head=head)
        wheel = build.build_packages(source, scratch, made)
        build.write_requirements(source, wheel, made, parts)
        build.write_sboms(source, made, version=version, parts=parts)
        write_manual(manual, version=version, date=f"{datetime.fromtimestamp(epoch, UTC):%Y-%m-%d}")
        build.pack(manual, made / f"mirrorwatch-{version}-share.tar.gz", epoch=epoch)
        if deb:
            build_deb(source, manual, scratch, made, version=version)
        notes = checks.release_notes(version, section)
        (made / "release-notes.md").write_text(notes, encoding="utf-8")
        build.write_sums(made)
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(made, out)


def _check(out: Path, *, trial: bool) -> tuple[str, checks.Section, str]:
    """Return version, changelog section and commit; raises ReleaseError with every problem."""
    version = checks.read_version((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    head = _git("rev-parse", "HEAD").strip()
    tagged = _git("for-each-ref", "--format=%(objectname) %(*objectname)", f"refs/tags/v{version}").split()
    problems = [
        *checks.tree_problems(_git("status", "--porcelain").splitlines()),
        *checks.changelog_problems(changelog, version, trial=trial),
        *checks.tag_problems(version, tagged[-1] if tagged else None, head),
        *checks.naming_problems(version, dict(build.texts(ROOT, ["README.md", "docs", "deploy"]))),
    ]
    if out.exists() and any(out.iterdir()) and not (out / build.SUMS).exists():
        problems.append(f"{out}: is not empty and holds no release; name another folder with --out")
    section = checks.find_section(changelog, version)
    if problems or section is None:
        raise checks.ReleaseError("\n".join(problems))
    return version, section, head


def _extras() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return sorted(project["optional-dependencies"])


def _git(*words: str) -> str:
    return build.run(["git", *words], cwd=ROOT, what="git")


if __name__ == "__main__":
    sys.exit(main())
