"""The wheel holds the product, whole, and nothing else."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile

import pytest

from tests.house.product_files import ROOT, kept_files, relative

TOP_LEVEL = {"alerts", "canary", "checksum", "dashboards", "fleet", "lagmon", "mirrorwatch", "runtime"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    where = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--no-index"]
    built = subprocess.run(
        [*command, "--disable-pip-version-check", "--wheel-dir", where, ROOT],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = where.iterdir()
    with zipfile.ZipFile(path) as opened:
        yield opened


def test_the_top_level_names_are_these_and_no_others(wheel):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    metadata = f"{project['name']}-{project['version']}.dist-info"
    assert {name.split("/")[0] for name in wheel.namelist()} == TOP_LEVEL | {metadata}


def test_every_file_of_the_packages_is_in_it_and_no_other(wheel):
    # Templates, style sheets and scripts are files of their package like any module.
    expected = {relative(path) for path in kept_files() if relative(path).split("/")[0] in TOP_LEVEL}
    packed = {name for name in wheel.namelist() if name.split("/")[0] in TOP_LEVEL}
    assert packed == expected


def test_templates_and_static_files_are_in_it(wheel):
    packed = [
        name
        for name in wheel.namelist()
        if name.startswith(("mirrorwatch/templates/", "mirrorwatch/static/"))
    ]
    suffixes = {name.rsplit(".", maxsplit=1)[-1] for name in packed}
    assert {"html", "css"} <= suffixes


def test_it_carries_the_licence_the_command_and_every_dependency(wheel):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    prefix = f"{project['name']}-{project['version']}.dist-info"
    assert f"{prefix}/licenses/LICENSE" in wheel.namelist()
    entry_points = wheel.read(f"{prefix}/entry_points.txt").decode()
    assert f"mirrorwatch = {project['scripts']['mirrorwatch']}" in entry_points
    metadata = wheel.read(f"{prefix}/METADATA").decode()
    for requirement in project["dependencies"]:
        assert f"\nRequires-Dist: {requirement}\n" in metadata
