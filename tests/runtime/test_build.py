"""What is said of the build: from the environment, from a file that the build wrote, or unknown."""

from __future__ import annotations

import platform

import pytest

from runtime.build import FILE, python_version, revision, version


@pytest.mark.parametrize(
    ("environ", "written", "said"),
    [
        ({}, None, "unknown"),
        ({}, "0123abc\n", "0123abc"),
        ({"MIRRORWATCH_REVISION": "v0.1.0-3-g0123abc"}, "other", "v0.1.0-3-g0123abc"),
        ({"MIRRORWATCH_REVISION": ""}, "0123abc", "0123abc"),
        ({}, "", "unknown"),
        ({}, "two words", "unknown"),
        ({}, "caf\u00e9", "unknown"),
        ({"MIRRORWATCH_REVISION": "x" * 101}, None, "unknown"),
    ],
)
def test_the_revision(environ, written, said, tmp_path):
    file = tmp_path / "REVISION"
    if written is not None:
        file.write_text(written, encoding="utf-8")
    assert revision(environ, file) == said


def test_the_file_is_beside_the_module_where_a_wheel_has_it():
    assert (FILE.parent.name, FILE.name) == ("runtime", "REVISION")


def test_version_and_python():
    assert version()[0].isdigit()
    assert python_version() == platform.python_version()
