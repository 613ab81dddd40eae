"""What a release is refused for, and its notes; pure."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_VERSION = re.compile(r"\d+\.\d+\.\d+(?:(?:a|b|rc)\d+)?")
_HEADING = re.compile(r"^## +(?P<version>[^\s,]+)(?:, *(?P<when>.*\S))? *$", re.MULTILINE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
# An image, a file of the release, or a folder named like one. A chart may have a version of its own.
_NAMED = re.compile(
    r"\bmirrorwatch(?:-checksum)?[:_-](?P<version>(?>\d+\.\d+\.\d+(?:~?(?:a|b|rc)\d+)?))(?!\.tgz)"
)


class ReleaseError(Exception):
    """The release cannot be made; has a sentence for each problem."""


class Section(NamedTuple):
    """A section of the changelog: its date, if it has one, and its text without the heading."""

    date: str | None
    body: str


def read_version(pyproject: str) -> str:
    """Return the version in the text of pyproject.toml."""
    version = str(tomllib.loads(pyproject)["project"]["version"])
    if not _VERSION.fullmatch(version):
        raise ReleaseError(
            f"pyproject.toml: invalid version '{version}'; write a version such as 1.2.3 or 1.2.3rc1"
        )
    return version


def deb_version(version: str) -> str:
    """Return the version as Debian orders it: 1.2.3~rc1 is before 1.2.3."""
    return re.sub(r"(?<=\d)(a|b|rc)(?=\d+$)", r"~\1", version)


def find_section(changelog: str, version: str) -> Section | None:
    """Return the changelog's section of a version, or None."""
    headings = list(_HEADING.finditer(changelog))
    for number, heading in enumerate(headings):
        if heading["version"] == version:
            end = headings[number + 1].start() if number + 1 < len(headings) else len(changelog)
            date = heading["when"] if heading["when"] and _DATE.fullmatch(heading["when"]) else None
            return Section(date, changelog[heading.end() : end].strip())
    return None


def release_notes(version: str, section: Section) -> str:
    """Return the notes of a release: the changelog's section, with headings one level up."""
    title = f"# Mirrorwatch {version}" + (f", {section.date}" if section.date else "")
    body = re.sub(r"^#(#+ )", r"\1", section.body, flags=re.MULTILINE)
    return f"{title}\n\n{body}\n"


def changelog_problems(changelog: str, version: str, *, trial: bool) -> Iterator[str]:
    """Yield what the changelog lacks for this version; a trial needs no date."""
    section = find_section(changelog, version)
    if section is None:
        yield f"CHANGELOG.md: missing section of version {version}; write '## {version}, YYYY-MM-DD'"
    elif not section.body:
        yield f"CHANGELOG.md: section {version} is empty; write what changed for users"
    elif section.date is None and not trial:
        yield (
            f"CHANGELOG.md: section {version} has no date; "
            f"write '## {version}, YYYY-MM-DD', or build a trial with --trial"
        )


def tree_problems(status: Sequence[str]) -> Iterator[str]:
    """Yield a problem if `git status --porcelain` lists files."""
    if status:
        files = "1 file" if len(status) == 1 else f"{len(status)} files"
        first = status[0][3:]
        yield f"working tree: {files} not committed, first {first}; commit or stash them"


def tag_problems(version: str, tagged: str | None, head: str) -> Iterator[str]:
    """Yield a problem if the version's tag is on another commit."""
    if tagged not in {None, head}:
        yield f"tag v{version}: points to another commit; raise the version in pyproject.toml"


def naming_problems(version: str, texts: Mapping[str, str]) -> Iterator[str]:
    """Yield each line of docs and deployment files that names an image or a file of another version."""
    for name, text in texts.items():
        for number, line in enumerate(text.splitlines(), start=1):
            others = {found["version"].replace("~", "") for found in _NAMED.finditer(line)} - {version}
            if others:
                yield f"{name}:{number}: names version {min(others)}; write {version}"
