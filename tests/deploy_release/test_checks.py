"""What a release is refused for, and its notes."""

from __future__ import annotations

import pytest

from deploy.release.checks import (
    ReleaseError,
    Section,
    changelog_problems,
    deb_version,
    find_section,
    naming_problems,
    read_version,
    release_notes,
    tag_problems,
    tree_problems,
)

CHANGELOG = """\
# Changelog

What changed for users.

## 0.2.0, not released yet

### Added

- Two.

## 0.1.0, 2026-11-28

### Added

- **One**: a thing.

### Fixed

- ## in a line.

## 0.0.1
"""


@pytest.mark.parametrize("version", ["0.1.0", "10.20.30", "1.2.3rc1", "1.2.3b2"])
def test_a_version_is_read(version):
    assert read_version(f'[project]\nversion = "{version}"\n') == version


@pytest.mark.parametrize("version", ["0.1", "v0.1.0", "0.1.0.dev1", "0.1.0+local", "1.2.3-rc1", ""])
def test_another_form_of_version_is_refused(version):
    with pytest.raises(ReleaseError, match=r"pyproject\.toml: invalid version '.*'; write a version"):
        read_version(f'[project]\nversion = "{version}"\n')


@pytest.mark.parametrize(
    ("version", "debian"), [("1.2.3", "1.2.3"), ("1.2.3rc1", "1.2.3~rc1"), ("1.2.3b2", "1.2.3~b2")]
)
def test_debian_orders_a_pre_release_before_the_release(version, debian):
    assert deb_version(version) == debian


@pytest.mark.parametrize(
    ("version", "section"),
    [
        ("0.2.0", Section(None, "### Added\n\n- Two.")),
        ("0.1.0", Section("2026-11-28", "### Added\n\n- **One**: a thing.\n\n### Fixed\n\n- ## in a line.")),
        ("0.0.1", Section(None, "")),
        ("0.1", None),
        ("0.3.0", None),
    ],
)
def test_a_section_ends_where_the_next_version_starts(version, section):
    assert find_section(CHANGELOG, version) == section


def test_the_notes_are_the_section_with_headings_one_level_up():
    section = find_section(CHANGELOG, "0.1.0")
    notes = (
        "# Mirrorwatch 0.1.0, 2026-11-28\n\n## Added\n\n- **One**: a thing.\n\n## Fixed\n\n- ## in a line.\n"
    )
    assert release_notes("0.1.0", section) == notes


@pytest.mark.parametrize(
    ("version", "trial", "problem"),
    [
        ("0.1.0", False, None),
        ("0.2.0", True, None),
        (
            "0.2.0",
            False,
            "section 0.2.0 has no date; write '## 0.2.0, YYYY-MM-DD', or build a trial with --trial",
        ),
        ("0.0.1", True, "section 0.0.1 is empty; write what changed for users"),
        ("0.3.0", True, "missing section of version 0.3.0; write '## 0.3.0, YYYY-MM-DD'"),
    ],
)
def test_a_version_needs_a_section_with_text_and_date(version, trial, problem):
    expected = [] if problem is None else [f"CHANGELOG.md: {problem}"]
    assert list(changelog_problems(CHANGELOG, version, trial=trial)) == expected


@pytest.mark.parametrize(
    ("status", "problem"),
    [
        ([], None),
        ([" M a.py"], "1 file not committed, first a.py"),
        (["?? b/", " M c"], "2 files not committed, first b/"),
    ],
)
def test_uncommitted_changes_are_refused(status, problem):
    expected = [] if problem is None else [f"working tree: {problem}; commit or stash them"]
    assert list(tree_problems(status)) == expected


@pytest.mark.parametrize(("tagged", "count"), [(None, 0), ("abc", 0), ("def", 1)])
def test_a_version_that_was_released_from_another_commit_is_refused(tagged, count):
    assert len(list(tag_problems("0.1.0", tagged, "abc"))) == count


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("podman build -t mirrorwatch:0.1.0 .", "0.1.0"),
        ("image: mirrorwatch-checksum:0.1.0", "0.1.0"),
        ("pip install mirrorwatch-0.1.0-py3-none-any.whl", "0.1.0"),
        ("apt install ./mirrorwatch_0.1.0_amd64.deb", "0.1.0"),
        ("apt install ./mirrorwatch_0.2.0~rc1_amd64.deb", "0.2.0rc1"),
        ("tar -xzf mirrorwatch-0.1.0-share.tar.gz --no-same-owner", "0.1.0"),
        ("the unpacked `mirrorwatch-0.1.0.tar.gz`:", "0.1.0"),
        ("`mirrorwatch-0.2.0rc1-run.cdx.json`, `mirrorwatch-0.2.0-EXTRA.cdx.json`", "0.2.0rc1"),
        ("cp -a /var/lib/mirrorwatch/. /var/backups/mirrorwatch-0.1.0", "0.1.0"),
        ("cp -a /etc/mirrorwatch/. /var/backups/mirrorwatch-0.1.0-etc", "0.1.0"),
        ("image: mirrorwatch:0.2.0", None),
        ("mirrorwatch-0.2.0.tar.gz, mirrorwatch-0.2.0-share.tar.gz", None),
        ("charts mirrorwatch-0.1.10.tgz and mirrorwatch-0.1.0rc1.tgz, kafka:3.9.2", None),
    ],
)
def test_another_version_in_the_docs_is_refused(line, found):
    expected = [] if found is None else [f"a.md:2: names version {found}; write 0.2.0"]
    assert list(naming_problems("0.2.0", {"a.md": f"x\n{line}\n"})) == expected
