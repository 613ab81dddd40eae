"""The command `report` over real stores: what it reads, prints, writes and refuses."""

from __future__ import annotations

import asyncio
import json
import os
import time

import pytest
from click.testing import CliRunner

from canary import leases, tables
from canary.minutes import COLUMNS
from fleet.errors import UnavailableError
from mirrorwatch.cli import cli
from mirrorwatch.config_reading import read_configuration
from mirrorwatch.reporting import make_report
from mirrorwatch.store_parts import MIGRATIONS
from runtime.store import Store
from tests.databases import DATABASES, address_of

CLUSTERS = """\
clusters:
  A: {bootstrap.servers: "127.0.0.1:1"}
  B: {bootstrap.servers: "127.0.0.1:2"}
flows:
  A->B: {}
"""
AVAILABILITY = 'objectives: [{flow: "*", kind: availability, target: 99}]\n'


@pytest.fixture(params=DATABASES)
def config(request, tmp_path):
    address = address_of(request, tmp_path).render_as_string(hide_password=False)
    return written(tmp_path, CLUSTERS + AVAILABILITY + f'store: {{url: "{address}"}}\n')


def written(folder, text):
    path = folder / "mirrorwatch.yaml"
    path.write_text(text)
    return path


def fill(config, minutes, *, incarnation="a1", replica="r1"):
    """Write rows of the flow: by minute before now, the counts of its probes."""

    async def work():
        found = read_configuration(config, environ=os.environ)
        store = Store(found.store.database_url(found.directory), migrations=MIGRATIONS)
        await store.open()
        now = int(time.time() // 60)
        rows = {
            ("A->B", incarnation, now - ago): tuple(counts.get(name, 0) for name in COLUMNS)
            for ago, counts in minutes.items()
        }

        def write(connection):
            leases.begin(
                connection, incarnation, replica=replica, process="{}", flows=["A->B"], now_at=time.time()
            )
            tables.keep_minutes(connection, rows, replica=replica, incarnation=incarnation)

        await store.write(write)
        await store.close()

    asyncio.run(work())


def good(count=60):
    return {"expected": count, "settled": count, "good": count}


def report(*arguments):
    return CliRunner().invoke(cli, ["report", *map(str, arguments)], standalone_mode=False)


def made(config, period_s=3600.0, *, now_at=None):
    found = read_configuration(config, environ=os.environ)
    return asyncio.run(make_report(found, period_s=period_s, now_at=now_at or time.time()))


def test_two_replicas_count_each_minute_once(config):
    minutes = dict.fromkeys(range(70), good())
    fill(config, minutes)
    fill(config, dict.fromkeys(range(70), good(58)), incarnation="b1", replica="r2")
    (one,) = made(config).objectives
    assert (one.figures.valid, one.figures.observed_minutes, one.met) == (60 * 60, 60, True)


def test_an_empty_store_and_none_at_all_say_so_first(config):
    missing = made(config)
    assert missing.first_line.startswith("No data: ")
    fill(config, {})
    assert made(config).first_line == missing.first_line
    assert made(config).notes == ()


def test_a_missed_objective_is_status_1_and_a_part_of_the_period_status_3(config):
    fill(config, dict.fromkeys(range(30), good()))
    partly = report(config, "--period", "1h")
    assert partly.return_value == 3
    assert "**Partly covered: 1 of 1 objective" in partly.output
    fill(config, {5: good() | {"good": 0, "lost": 60}}, incarnation="a2")
    missed = report(config, "--period", "1h", "--format", "json")
    assert missed.return_value == 1
    (one,) = json.loads(missed.output)["objectives"]
    assert (one["met"], one["stretch_count"], one["stretches"][0]["cause"]) == (False, 1, "lost")


def test_files_are_named_by_the_day_and_never_over_what_others_wrote(tmp_path):
    config = written(tmp_path, CLUSTERS + AVAILABILITY)
    out = tmp_path / "out"
    assert report(config, "--out", out).return_value == 3
    again = report(config, "--out", out)
    assert again.return_value == 3
    names = [path.name for path in out.iterdir() if not path.name.startswith(".")]
    assert all(name.startswith("mirrorwatch-20") for name in names)
    (out / "mirrorwatch.md").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    refused = report(config, "--out", tmp_path / "full")
    assert refused.return_value == 2
    assert "is not empty, and report did not write what is in it" in refused.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--period", "28"], "invalid duration '28'"),
        (["--period", "3s"], "out of range; write a duration from 1m to 400d"),
        (["--format", "pdf"], "unknown format 'pdf'"),
        (["--format", "md,json"], "Only one format can be printed"),
    ],
)
def test_wrong_options_are_refused(tmp_path, options, said):
    config = written(tmp_path, CLUSTERS)
    refused = report(config, *options)
    assert said in str(refused.exception)


def test_a_store_that_cannot_be_read_is_unavailable(tmp_path):
    (tmp_path / "mirrorwatch.db").write_text("no database, but long enough to be looked at as one" * 9)
    with pytest.raises(UnavailableError):
        made(written(tmp_path, CLUSTERS))
