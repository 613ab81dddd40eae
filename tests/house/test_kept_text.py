"""What must not stand in any file that git keeps: registries, paths of a machine, promises to finish."""

from __future__ import annotations

import re

import pytest

from tests.house.product_files import kept_files, relative

# Split, so that this file may be read by its own test.
REGISTRIES = [
    "py" + "pi.org",
    "pythonhosted" + ".org",
    "repo1." + "maven.org",
    "repo.maven." + "apache.org",
    "maven" + "central",
    "npm" + "js.org",
    "docker" + ".io",
    "ghcr" + ".io",
    "quay" + ".io",
    "proxy.golang" + ".org",
    "crates" + ".io",
    "deb.debian" + ".org",
]
FORBIDDEN = [
    (re.compile("|".join(re.escape(host) for host in REGISTRIES), re.IGNORECASE), "a registry's host"),
    (re.compile(r"--(?:(?:extra-)?index-url|trusted-host|find-links)"), "a registry chosen by an option"),
    (re.compile(r"(?<![\w.$}*-])/(?:work|" + r"root)(?:/|\b)"), "a path of one machine"),
    (re.compile(r"\b" + "TO" + "DO" + r"\b|\b" + "FIX" + "ME" + r"\b"), "a promise to finish"),
]


def findings(name: str, text: str) -> list[str]:
    """Return file, line and what was found for everything that must not be there."""
    return [
        f"{name}:{number}: {what}: {found[0]}"
        for number, line in enumerate(text.splitlines(), start=1)
        for pattern, what in FORBIDDEN
        if (found := pattern.search(line))
    ]


def test_no_kept_file_names_a_registry_a_machine_or_something_unfinished():
    found = []
    for path in kept_files():
        content = path.read_bytes()
        if b"\0" not in content:  # pictures and stores hold no lines
            found += findings(relative(path), content.decode("utf-8"))
    assert found == []


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("see https://" + REGISTRIES[0] + "/simple", "a registry's host"),
        ("image: DOCKER" + ".IO/library/python", "a registry's host"),
        ("pip install --index" + "-url x", "a registry chosen by an option"),
        ("cd /" + "work/main", "a path of one machine"),
        ("HOME=/" + "root", "a path of one machine"),
        ("'/" + "root/.m2'", "a path of one machine"),
        ("# TO" + "DO: later", "a promise to finish"),
        ("FIX" + "ME", "a promise to finish"),
    ],
)
def test_each_is_seen(line, what):
    assert [what in found for found in findings("a", line)] == [True]


@pytest.mark.parametrize(
    "line", ["tests/work/plan", "the net" + "work/path", "tmp_path / 'root'", "${dir}/work/x", "mastodon"]
)
def test_what_only_looks_like_it_passes(line):
    assert findings("a", line) == []
