"""Ten checksums are right only if each of them found nothing, and they compared something."""

from __future__ import annotations

import subprocess

import pytest

from deploy.drills.checksum_runs import LABEL, TIMES, _once, section, wrong
from deploy.drills.page import page
from deploy.drills.result import Result, as_line, from_line


def ended(*verdicts, records=70_000):
    said = [(20.0 + number, verdict, None) for number, verdict in enumerate(verdicts)]
    return Result(LABEL, said=said, books={"records": records, "findings": 0}, day="2026-11-22")


FINE = ["nothing found"] * TIMES


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (ended(*FINE), ""),
        (ended(*FINE[1:]), "9 of 10 were run"),
        (ended(*FINE[1:], "status 1"), "status 1"),
        (ended(*FINE, records=0), "nothing was compared"),
    ],
)
def test_what_is_right(result, told):
    assert wrong(result) == told
    assert ("**no**" in section(result)) is bool(told)


def test_one_that_hangs_is_reported_and_the_others_go_on(tmp_path, monkeypatch):
    def hang(command, **how):
        raise subprocess.TimeoutExpired(command, how["timeout"])

    monkeypatch.setattr(subprocess, "run", hang)
    result = ended(*FINE[1:])
    _once(tmp_path / "mirrorwatch.yaml", tmp_path / "told.json", result)
    assert wrong(result) == "did not end"


def test_the_page_has_them_where_they_were_run():
    kept = from_line(as_line(ended(*FINE)))
    assert "70,000 records of each side compared, 0 findings, 20 to 29 s" in page({LABEL: kept})
    assert "The checksum of a mirror" not in page({})
