"""The scripts that dpkg runs, with a systemctl that writes down what it is asked."""

from __future__ import annotations

import subprocess

import pytest

from deploy.release.deb import UNITS
from tests.house.product_files import ROOT

PRERM = ROOT / "deploy" / "release" / "debian" / "prerm"


@pytest.fixture
def system(tmp_path):
    """Give a root folder with a running systemd and the installed program."""
    (tmp_path / "run" / "systemd" / "system").mkdir(parents=True)
    (tmp_path / "opt" / "mirrorwatch" / "lib" / "__pycache__").mkdir(parents=True)
    (tmp_path / "systemctl").write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/asked\n')
    (tmp_path / "systemctl").chmod(0o755)
    return tmp_path


def remove(system, action):
    """Run the script below this root; return its exit status and what systemctl was asked."""
    script = system / "prerm"
    text = PRERM.read_text()
    for folder in ("/run/", "/opt/"):
        text = text.replace(f" {folder}", f" {system}{folder}")
    script.write_text(text)
    status = subprocess.run(
        ["sh", script, action], env={"PATH": f"{system}:/usr/bin:/bin"}, check=False, timeout=30
    ).returncode
    asked = system / "asked"
    return status, asked.read_text().splitlines() if asked.exists() else []


def test_a_removal_stops_everything_that_runs_the_program_and_disables_what_may_start_it(system):
    status, (stop, disable) = remove(system, "remove")
    assert status == 0
    assert stop == "stop mirrorwatch*.timer mirrorwatch*.service"
    startable = {unit for unit in UNITS if "[Install]" in (ROOT / "deploy" / "systemd" / unit).read_text()}
    assert set(disable.split()[2:]) == startable
    assert not (system / "opt" / "mirrorwatch" / "lib" / "__pycache__").exists()


def test_an_upgrade_stops_nothing(system):
    assert remove(system, "upgrade") == (0, [])
    assert not (system / "opt" / "mirrorwatch" / "lib" / "__pycache__").exists()


def test_a_program_that_is_gone_already_is_removed_too(system):
    (system / "opt" / "mirrorwatch" / "lib" / "__pycache__").rmdir()
    (system / "opt" / "mirrorwatch" / "lib").rmdir()
    (system / "opt" / "mirrorwatch").rmdir()
    status, asked = remove(system, "remove")
    assert (status, len(asked)) == (0, 2)
