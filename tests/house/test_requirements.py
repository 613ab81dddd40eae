"""Every requirement is pinned with hashes, and what pyproject asks for is what is pinned."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.house.product_files import ROOT

REQUIREMENTS = ROOT / "requirements"
PINNED = re.compile(
    r"(?P<name>[A-Za-z0-9][\w.-]*)==(?P<version>[^\s;\\]+)(?:\s*;[^\\]*?)?(?P<hashes>(?:\s+--hash=sha256:[0-9a-f]{64})+)"
)


def pins(text: str) -> dict[str, str]:
    """Return version by normalised name; fail on any entry without an exact pin and hashes."""
    joined = re.sub(r"\\\n", " ", text)
    entries = [
        line.strip() for line in joined.splitlines() if line.strip() and not line.strip().startswith("#")
    ]
    found = {}
    for entry in entries:
        pinned = PINNED.fullmatch(entry)
        assert pinned, f"not an exact pin with hashes: {entry[:80]}"
        assert normal(pinned["name"]) not in found, f"twice: {pinned['name']}"
        found[normal(pinned["name"])] = pinned["version"]
    return found


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def asked(lines: list[str]) -> dict[str, str]:
    """Return version by normalised name of pyproject's own lines, which are exact too."""
    found = {}
    for line in lines:
        name, version = line.split("==")
        found[normal(name.split("[")[0])] = version
    return found


@pytest.mark.parametrize("path", sorted(REQUIREMENTS.glob("*.txt")), ids=lambda path: path.name)
def test_every_requirement_has_an_exact_version_and_hashes(path):
    assert len(pins(path.read_text())) >= 1


def wanted():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]
    return {
        "run": project["project"]["dependencies"],
        "build": project["build-system"]["requires"] + groups["build"],
        "dev": groups["dev"] + groups["docs"],
        **extras,
    }


@pytest.mark.parametrize("name", wanted())
def test_what_pyproject_asks_for_is_what_is_pinned(name):
    pinned = pins((REQUIREMENTS / f"{name}.txt").read_text())
    direct = asked(wanted()[name])
    assert {name: pinned.get(name) for name in direct} == direct


def test_no_file_of_requirements_stands_alone():
    assert {path.stem for path in REQUIREMENTS.glob("*.txt")} == set(wanted())


def test_files_that_are_installed_together_agree():
    versions = {}
    for path in REQUIREMENTS.glob("*.txt"):
        for name, version in pins(path.read_text()).items():
            versions.setdefault(name, set()).add(version)
    assert {name: found for name, found in versions.items() if len(found) > 1} == {}


HASH = " --hash=sha256:" + "0" * 64


@pytest.mark.parametrize(
    "text",
    [
        "click==8.5.1",
        "click>=8" + HASH,
        "click" + HASH,
        "click==8.5.1 --hash=md5:0",
        "-r x.txt",
        "click==1" + HASH + "\nClick==1" + HASH,
    ],
)
def test_a_loose_requirement_is_seen(text):
    with pytest.raises(AssertionError, match=r"not an exact pin|twice"):
        pins(text)


def test_a_pinned_requirement_is_read():
    text = f"# a comment\nSQLAlchemy==2.1.9 \\\n   {HASH} \\\n   {HASH}\n    # via x\ntomli==2.0 ; python_version < '3.12' \\\n {HASH}\n"
    assert pins(text) == {"sqlalchemy": "2.1.9", "tomli": "2.0"}
