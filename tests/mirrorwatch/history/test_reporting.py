"""The command `report` over real stores: what it reads, prints, writes and refuses."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from functools import partial

import pytest
from click.testing import CliRunner

from alerts.rehearsals.rehearsal import ReachedStep, Rehearsal
from alerts.rehearsals.tables import keep_rehearsal
from canary.persistence import leases, tables
from canary.tracker.minutes import COLUMNS
from fleet.errors import ConfigurationError, UnavailableError
from mirrorwatch.cli.main import cli
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.history.reporting import make_report
from mirrorwatch.service.store_parts import MIGRATIONS
from mirrorwatch.web.pages.page import Page
from runtime.store.store import Store
from tests.databases import DATABASES, address_of
from tests.mirrorwatch.markup import Markup

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


def rehearse(config, ago_s):
    """Store a rehearsal that began so many seconds ago."""

    async def work():
        found = read_configuration(config, environ=os.environ)
        store = Store(found.store.database_url(found.directory), migrations=MIGRATIONS)
        await store.open()
        at = time.time() - ago_s
        one = Rehearsal("A->B", at, at + 90, 2, complete=True, steps=(ReachedStep("replicated", at, "all"),))
        await store.write(partial(keep_rehearsal, one=one))
        await store.close()

    asyncio.run(work())


def good(count=60):
    return {"expected": count, "settled": count, "good": count}


def report(*arguments):
    return CliRunner().invoke(cli, ["report", *map(str, arguments)], standalone_mode=False)


def test_rehearsed_failovers_of_the_period(config):
    fill(config, {30: good()})
    rehearse(config, 1800.0)
    rehearse(config, 2 * 86_400.0)
    (found,) = made(config).rehearsals
    assert (found.groups, found.complete, found.sentence) == (2, True, "all")


def made(config, period_s=3600.0, *, now_at=None):
    found = read_configuration(config, environ=os.environ)
    return asyncio.run(make_report(found, period_s=period_s, now_at=now_at or time.time()))


def test_two_replicas_count_each_minute_once(config):
    minutes = dict.fromkeys(range(70), good())
    fill(config, minutes)
    fill(config, dict.fromkeys(range(70), good(58)), incarnation="b1", replica="r2")
    (one,) = made(config).objectives
    assert (one.figures.valid, one.figures.observed_minutes, one.met) == (60 * 60, 60, True)


def test_an_empty_store_shows_so_first_and_none_at_all_is_unavailable(config):
    with pytest.raises(UnavailableError, match="is not made yet; start the service first"):
        made(config)
    fill(config, {})
    assert made(config).first_line.startswith("No data: ")


def test_a_missed_objective_is_status_1_and_a_part_of_the_period_status_3(config):
    fill(config, dict.fromkeys(range(30), good()))
    partly = report(config, "--period", "1h")
    assert partly.return_value == 3
    assert "**Partly covered: 1 of 1 objective lack data" in partly.output
    fill(config, {5: good() | {"good": 0, "lost": 60}}, incarnation="a2")
    missed = report(config, "--period", "1h", "--format", "json")
    assert missed.return_value == 1
    (one,) = json.loads(missed.output)["objectives"]
    assert (one["met"], one["stretch_count"], one["stretches"][0]["cause"]) == (False, 1, "records lost")


def test_files_are_named_by_the_day_and_never_over_what_others_wrote(tmp_path):
    config = written(tmp_path, CLUSTERS + AVAILABILITY)
    fill(config, {})
    out = tmp_path / "out"
    assert report(config, "--out", out).return_value == 3
    again = report(config, "--out", out)
    assert again.return_value == 3
    names = [path.name for path in out.iterdir() if not path.name.startswith(".")]
    assert all(re.fullmatch(r"mirrorwatch-20\d\d-\d\d-\d\d-28d\.(html|md|json)", name) for name in names)
    assert report(config, "--out", out, "--period", "1h").return_value == 3
    assert len([path for path in out.iterdir() if not path.name.startswith(".")]) == 6
    (out / "mirrorwatch.md").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    refused = report(config, "--out", tmp_path / "full")
    assert refused.return_value == 2
    assert "is not empty, and report did not write what is in it" in refused.output
    below = tmp_path / "out" / "mirrorwatch.md" / "reports"
    refused = report(config, "--out", below)
    assert refused.return_value == 2
    assert refused.output.splitlines() == [
        f"{below}: cannot be written (not a directory); choose another folder",
        "Nothing was done: 1 problem.",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--period", "28"], "invalid duration '28'"),
        (["--period", "3s"], "out of range; write a duration from 1m to 400d"),
        (["--format", "pdf"], "unknown format 'pdf'"),
        (["--format", "md,json"], "Only one format can be printed"),
        (["--prometheus", "ftp://a"], "invalid address 'ftp://a'; write http:// or https://"),
        (["--prometheus", "http://user:secret@a"], "invalid address; write http:// or https://"),
    ],
)
def test_wrong_options_are_refused(tmp_path, options, said):
    config = written(tmp_path, CLUSTERS)
    refused = report(config, *options)
    assert said in str(refused.exception)
    assert "secret" not in str(refused.exception) + refused.output


def test_a_store_that_cannot_be_read_is_unavailable(tmp_path):
    (tmp_path / "mirrorwatch.db").write_text("no database, but long enough to be looked at as one" * 9)
    with pytest.raises(UnavailableError):
        made(written(tmp_path, CLUSTERS))


def test_each_objective_is_judged_over_its_own_period_unless_one_is_given(tmp_path):
    config = written(
        tmp_path,
        CLUSTERS + "objectives: [{flow: '*', kind: availability, target: 99, period: 30d},"
        " {flow: '*', kind: freshness, target: 99, period: 4d}]\n",
    )
    days = 10 * 1440
    fill(config, {30: good()} | {days + n: good() | {"good": 0, "overdue": 60} for n in range(450)})
    report_made = made(config, None)
    long, short = report_made.objectives
    assert (long.objective.kind, long.met, long.first, long.name) == (
        "availability", False, None, "availability",
    )  # fmt: skip
    assert (short.objective.kind, short.met, short.name) == ("freshness", True, "freshness over 4 d")
    assert 4 * 1440 <= short.figures.expected_minutes == report_made.until - short.first < 5 * 1440
    assert short.first % 1440 == 0
    assert "4 d" in Page().report(report_made)
    assert [(one.first, one.met) for one in made(config, 20 * 86_400.0).objectives] == [(None, False)] * 2


def exclude(*arguments):
    return CliRunner().invoke(cli, ["exclude", *map(str, arguments)], standalone_mode=False)


def at(ago):
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(time.time() - 60 * ago))


def test_excluded_time_counts_neither_as_bad_nor_as_missing(tmp_path):
    config = written(tmp_path, CLUSTERS + AVAILABILITY)
    fill(
        config,
        dict.fromkeys(range(70), good()) | {ago: {"settled": 60, "overdue": 60} for ago in range(20, 30)},
    )
    assert made(config).objectives[0].met is False
    how = ["--flow", "A:B", "--from", at(31), "--to", at(18), "--author", "Ann", "--reason", "moved | racks"]
    assert exclude(config, *how).output.startswith("Excluded as number 1: A->B, ")
    found = report(config, "--period", "1h")
    assert (found.return_value, "| Ann | moved \\| racks |" in found.output) == (0, True)
    assert "1  A->B" in exclude(config, "--list").output
    assert exclude(config, "--remove", 1).return_value == 0
    assert made(config).objectives[0].met is False
    assert exclude(config, "--list").output == "No excluded time.\n"
    assert "unknown exclusion 1; see --list" in exclude(config, "--remove", 1).output


def test_a_period_that_is_excluded_as_a_whole_is_status_0(tmp_path):
    config = written(tmp_path, CLUSTERS + AVAILABILITY)
    fill(config, dict.fromkeys(range(70), good()))
    exclude(config, "--flow", "A:B", "--from", at(100), "--to", at(-1), "--author", "Ann", "--reason", "test")
    found = report(config, "--period", "1h")
    assert found.return_value == 0
    assert "**Excluded: the whole period of the only objective.**" in found.output


def test_what_no_store_can_hold_is_refused_in_a_sentence(tmp_path):
    config = written(tmp_path, CLUSTERS)
    fill(config, {})
    assert f"unknown exclusion {10**30}; see --list" in exclude(config, "--remove", 10**30).output
    how = ["--flow", "A:B", "--from", at(9), "--to", at(0), "--author", "a"]
    refused = exclude(config, *how, "--reason", "caf\udce9")
    assert refused.return_value == 2
    assert "--reason: invalid text: not UTF-8; write it in UTF-8" in refused.output


def test_every_problem_of_an_exclusion_is_named_at_once(tmp_path):
    config = written(tmp_path, CLUSTERS)
    how = ["--flow", "A:C", "--from", "2026-11-27T10:00Z", "--to", "2026-11-27T09:00", "--author", " "]
    refused = exclude(config, *how)
    assert refused.return_value == 2
    assert refused.output.splitlines() == [
        "--reason: missing",
        "--flow: unknown flow 'A:C'; known are A:B",
        "--to: must be later than --from",
        "--author: must have from 1 to 200 characters",
        "Nothing was changed: 4 problems.",
    ]
    soon = exclude(config, "--flow", "A:B", "--from", "soon", "--to", at(0), "--author", "a", "--reason", "b")
    assert "--from: invalid time 'soon'; write for example 2026-11-27T10:00Z" in soon.output
    assert not (tmp_path / "mirrorwatch.db").exists()
    assert "Write one of: --list" in str(exclude(config).exception)


def test_the_document_for_a_browser_is_whole_and_escapes_what_others_wrote(tmp_path):
    config = written(tmp_path, CLUSTERS + AVAILABILITY)
    fill(config, dict.fromkeys(range(70), good()) | {9: {"settled": 60, "lost": 60}})
    how = [
        "--flow",
        "A:B",
        "--from",
        at(31),
        "--to",
        at(18),
        "--author",
        "<b>",
        "--reason",
        "</table><script>",
    ]
    exclude(config, *how)
    text = report(config, "--period", "1h", "--format", "html").output
    drawn = Markup(text)
    assert "</table><script>" in drawn.text
    assert "<script" not in text
    assert not re.search(r"(src|href)=", text)
    assert len(re.findall(r'<figure class="budget">', text)) == 1


def run(*arguments):
    return CliRunner().invoke(cli, [*map(str, arguments)], standalone_mode=False)


def test_objectives_go_to_openslo_and_come_back(tmp_path):
    config = written(tmp_path, CLUSTERS + 'objectives: [{flow: "*", kind: availability, good_minutes: 90}]\n')
    told = run("objectives", "to-openslo", config)
    assert told.return_value == 0
    (tmp_path / "slo.yaml").write_text(told.output + "---\n" + told.output)
    back = run("objectives", "from-openslo", tmp_path / "slo.yaml")
    again = written(tmp_path, CLUSTERS + back.output)
    (one,) = read_configuration(again, environ=os.environ).objectives
    assert (one.kind, one.target_ratio, one.slice_ratio, one.period_s) == (
        "availability",
        0.999,
        0.9,
        28 * 86_400,
    )
    (tmp_path / "other.yaml").write_text("apiVersion: openslo/v1\nkind: Service\n")
    refused = run("objectives", "from-openslo", tmp_path / "other.yaml")
    assert refused.return_value == 2
    assert "kind: Service is not supported; only SLO is" in refused.output
    limited = run("objectives", "to-openslo", written(tmp_path, CLUSTERS))
    assert limited.return_value == 3
    assert "A->B recovery point within 5 min: cannot be written" in limited.output


def test_suggestions_are_a_section_that_can_be_used(tmp_path):
    config = written(tmp_path, CLUSTERS + AVAILABILITY)
    fill(config, {}, incarnation="a0")
    short = run("objectives", "suggest", config)
    assert short.return_value == 3
    assert "# A->B availability: too little history: 0.0 of 7 days observed; the target is" in short.output
    (kept,) = read_configuration(written(tmp_path, CLUSTERS + short.output), environ=os.environ).objectives
    assert (kept.kind, kept.target_ratio) == ("availability", 0.99)
    config = written(tmp_path, CLUSTERS + AVAILABILITY)
    fill(config, {ago: good() for ago in range(3, 8 * 1440)})
    found = run("objectives", "suggest", config)
    assert found.return_value == 0
    (one,) = read_configuration(written(tmp_path, CLUSTERS + found.output), environ=os.environ).objectives
    assert one.target_ratio == 0.9999
    replayed = run("render", "--replay", config)
    assert "0 of 0 bad times" in replayed.output
    assert re.search(r"\); 11,5\d\d minutes observed over all flows\.\n", replayed.output)


def test_excluded_time_makes_no_target_lower(tmp_path):
    config = written(tmp_path, CLUSTERS + AVAILABILITY)
    bad = {"expected": 60, "settled": 60, "overdue": 60}
    fill(config, {ago: bad if 2000 <= ago < 2600 else good() for ago in range(3, 9 * 1440)})
    assert "target: 90," in run("objectives", "suggest", config).output
    exclude(config, "--flow", "A:B", "--from", at(2650), "--to", at(1950), "--author", "a", "--reason", "b")
    assert "target: 99.99," in run("objectives", "suggest", config).output


def test_minutes_are_kept_as_long_as_the_longest_period(tmp_path):
    forgetful = CLUSTERS + "store: {keep: {minutes: 7d}}\n"
    with pytest.raises(ConfigurationError) as caught:
        read_configuration(written(tmp_path, forgetful + AVAILABILITY), environ=os.environ)
    (problem,) = caught.value.problems
    assert problem.key == "store.keep.minutes"
    assert problem.sentence == (
        "must be at least 28 d, the objectives.period of availability of A->B, not 7 d; raise it, or shorten"
        " the period"
    )
    short = AVAILABILITY.replace("target: 99", "target: 99, period: 7d")
    assert read_configuration(written(tmp_path, forgetful + short), environ=os.environ).objectives


def test_an_openslo_file_with_another_objective_is_refused(tmp_path):
    told = run("objectives", "to-openslo", written(tmp_path, CLUSTERS + AVAILABILITY)).output
    for duration, said in (("1h", "must be longer than 3 d"), ("500d", "must be at most 400 d, not 500 d")):
        (tmp_path / "slo.yaml").write_text(told.replace("28d", duration))
        refused = run("objectives", "from-openslo", tmp_path / "slo.yaml")
        assert refused.return_value == 2
        assert f"spec.timeWindow.duration: {said}" in refused.output


def test_check_warns_where_three_failed_probes_page(tmp_path):
    slow = "canary: {interval: 60s, max_partitions: 1}\nobjectives: [{flow: '*', kind: freshness, target: 99.99}]\n"
    (warning,) = read_configuration(written(tmp_path, CLUSTERS + slow), environ=os.environ).warnings
    assert "3 failed probes in 1 h exceed the rate that pages; send more than" in str(warning)
    assert read_configuration(written(tmp_path, CLUSTERS), environ=os.environ).warnings == ()
