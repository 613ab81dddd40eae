"""The catalogue of series: the conventions of Prometheus and of Mirrorwatch, and the generated reference."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from fleet.series import catalogue as series
from fleet.series import checksum as series_checksum
from fleet.series import failover as series_failover
from fleet.series import lag as series_lag
from fleet.series import process as series_process
from fleet.series.catalogue import CATALOGUE, Group, Kind, Label, Series, Unit
from fleet.series.page import metrics_page
from fleet.series.process import PROCESS_CATALOGUE, PROCESS_START_TIME_SECONDS
from fleet.verdicts.vocabulary import Cause, Verdict

ROOT = Path(__file__).parents[3]
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")

# https://prometheus.io/docs/practices/naming: base units, written out.
NOT_BASE_UNITS = {
    "ms", "us", "ns", "millis", "milliseconds", "microseconds", "nanoseconds", "minutes", "hours", "days",
    "kb", "mb", "gb", "kilobytes", "megabytes", "percent",
}  # fmt: skip


TIME = {Unit.SECONDS, Unit.EPOCH_SECONDS}
LONGEST_HELP = 100
RESERVED_LABELS = {"le", "quantile", "job", "instance"}


def stem(one: Series) -> str:
    return one.name.removesuffix("_total")


# What must hold, and what to report if it does not. tests/house/test_words.py checks the words on the page.
CONVENTIONS = [
    (lambda one: NAME.fullmatch(one.name), "name"),
    (lambda one: one.prefix == series.PREFIX or one in PROCESS_CATALOGUE, "no prefix"),
    (lambda one: not one.name.startswith(series.PREFIX), "prefix written twice"),
    (
        lambda one: (one.kind is Kind.COUNTER) == one.name.endswith("_total"),
        "_total is for counters, and for all of them",
    ),
    (lambda one: not one.name.endswith(("_count", "_sum", "_bucket")), "suffix that a histogram takes"),
    (
        lambda one: (one.unit in TIME) == stem(one).endswith("_seconds"),
        "time ends in _seconds, and nothing else does",
    ),
    (
        lambda one: (
            one is PROCESS_START_TIME_SECONDS
            or (one.unit is Unit.EPOCH_SECONDS) == stem(one).endswith("_timestamp_seconds")
        ),
        "an instant ends in _timestamp_seconds",
    ),
    (lambda one: (one.unit is Unit.INFO) == one.name.endswith("_info"), "what is always 1 ends in _info"),
    (lambda one: not NOT_BASE_UNITS & set(one.name.split("_")), "not a base unit"),
    (
        lambda one: one.kind is not Kind.HISTOGRAM or one.unit is Unit.SECONDS,
        "histogram of something else than time",
    ),
    (lambda one: re.fullmatch(r"[A-Z](?:[^.\n]|\.(?! ))*\.", one.help), "help is not one noun phrase"),
    (lambda one: len(one.help) <= LONGEST_HELP, "help is too long"),
    (lambda one: re.fullmatch(r"(?:[A-Z0-9][^\n]*\.)?", one.notes), "notes are not sentences"),
    (lambda one: len(set(one.label_names)) == len(one.label_names), "label twice"),
    (
        lambda one: all(NAME.fullmatch(name) and name not in RESERVED_LABELS for name in one.label_names),
        "name of a label",
    ),
    (lambda one: all(label.help.endswith(".") for label in one.labels), "help of a label"),
    (
        lambda one: all(len(set(label.values or ())) == len(label.values or ()) for label in one.labels),
        "value of a label twice",
    ),
]


def breaches(one: Series) -> list[str]:
    """Return what is wrong with a series by the naming conventions, in words."""
    return [sentence for holds, sentence in CONVENTIONS if not holds(one)]


@pytest.mark.parametrize("one", CATALOGUE, ids=lambda one: one.name)
def test_every_series_keeps_the_conventions(one):
    assert breaches(one) == []


def made(**changes):
    fields = {
        "name": "probes_total",
        "kind": Kind.COUNTER,
        "unit": Unit.PROBES,
        "group": Group.CANARY,
        "help": "Probes.",
    }
    return Series(**(fields | changes))


@pytest.mark.parametrize(
    ("bad", "breach"),
    [
        (made(name="Probes_total"), "name"),
        (made(name="mirrorwatch_probes_total"), "prefix written twice"),
        (made(name="probes"), "_total is for counters, and for all of them"),
        (made(kind=Kind.GAUGE), "_total is for counters, and for all of them"),
        (made(name="probes_count", kind=Kind.GAUGE), "suffix that a histogram takes"),
        (
            made(name="delay", kind=Kind.GAUGE, unit=Unit.SECONDS),
            "time ends in _seconds, and nothing else does",
        ),
        (made(name="probes_seconds_total"), "time ends in _seconds, and nothing else does"),
        (
            made(name="start_seconds", kind=Kind.GAUGE, unit=Unit.EPOCH_SECONDS),
            "an instant ends in _timestamp_seconds",
        ),
        (made(name="build", kind=Kind.GAUGE, unit=Unit.INFO), "what is always 1 ends in _info"),
        (made(name="delay_ms_seconds", kind=Kind.GAUGE, unit=Unit.SECONDS), "not a base unit"),
        (made(name="probes", kind=Kind.HISTOGRAM), "histogram of something else than time"),
        (made(help="probes"), "help is not one noun phrase"),
        (made(help="Probes. Some are late."), "help is not one noun phrase"),
        (made(help=f"{'Probes ' * 15}."), "help is too long"),
        (made(notes="Absent if unknown"), "notes are not sentences"),
        (made(labels=(Label("a", "A."), Label("a", "A."))), "label twice"),
        (made(labels=(Label("le", "A."),)), "name of a label"),
        (made(labels=(Label("a", "no sentence"),)), "help of a label"),
        (made(labels=(Label("a", "A.", ("x", "x")),)), "value of a label twice"),
    ],
)
def test_a_breach_of_each_convention_is_seen(bad, breach):
    assert breach in breaches(bad)


def test_each_name_stands_once_and_no_name_is_that_of_a_histograms_part():
    names = [one.name for one in CATALOGUE]
    assert len(set(names)) == len(names)
    parts = {
        f"{one.name}_{part}"
        for one in CATALOGUE
        if one.kind is Kind.HISTOGRAM
        for part in ("bucket", "sum", "count")
    }
    assert parts.isdisjoint(names)


def test_every_series_bound_in_the_catalogue_is_in_it_under_its_own_name():
    parts = series, series_lag, series_checksum, series_failover, series_process
    catalogues = {name: bound for part in parts for name, bound in vars(part).items()}
    bound = {name: value for name, value in catalogues.items() if isinstance(value, Series)}
    assert set(bound.values()) == set(CATALOGUE)
    assert len(bound) == len(CATALOGUE)
    assert all(name == one.name.upper() for name, one in bound.items())


def test_what_tells_about_a_flow_carries_its_three_labels_and_what_tells_about_a_cluster_its_one():
    for one in CATALOGUE:
        match one.group:
            case Group.FLOW | Group.CANARY | Group.REPLICATION | Group.CHECKSUM:
                assert one.label_names[:3] == ("flow", "source_cluster", "target_cluster")
            case Group.CLUSTER | Group.GROUPS:
                assert one.label_names[:1] == ("kafka_cluster",)
            case Group.SERVICE:
                assert not {"flow", "kafka_cluster"} & set(one.label_names)


def test_a_label_means_the_same_wherever_it_stands():
    # But for two, whose values differ with what ends and with what is judged: a probe, a flow, a record.
    meanings = {}
    for one in CATALOGUE:
        for label in one.labels:
            if label.name not in {"outcome", "verdict"}:
                assert meanings.setdefault(label.name, label) == label


def test_the_closed_lists_are_those_of_the_vocabulary():
    by_name = {one.name: {label.name: label.values for label in one.labels} for one in CATALOGUE}
    assert by_name["flow_verdict"]["verdict"] == tuple(Verdict)
    assert by_name["flow_cause"]["cause"] == tuple(Cause)
    assert by_name["checksum_records"]["verdict"] == series_checksum.RECORD_VERDICTS
    assert by_name["store_errors_total"]["operation"] == series.STORE_OPERATIONS
    for name in ("collector_errors_total", "collector_last_success_timestamp_seconds"):
        assert by_name[name]["collector"] == series.COLLECTORS
    assert by_name["canary_probes_total"]["outcome"] == series.OUTCOMES
    assert by_name["canary_probe_flags_total"]["flag"] == series.FLAGS
    assert set(series.OUTCOMES).isdisjoint(series.FLAGS)
    assert set(series.PARTITION_OUTCOMES) < set(series.OUTCOMES)
    assert set(series.CONTROL_OUTCOMES) < set(series.OUTCOMES)


def test_what_grows_with_partitions_is_opt_in():
    growing = [one.name for one in CATALOGUE if "partition" in one.label_names]
    of_groups = ["replica_leader"]  # with store.group alone
    assert of_groups + growing == [one.name for one in CATALOGUE if one.opt_in]
    assert len(growing) == 5


def test_the_reference_is_the_catalogue_of_today():
    page = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    assert page == metrics_page(), "run: python -m fleet.series.page > docs/reference/metrics.md"


def test_the_reference_is_written_by_the_command_that_it_names():
    written = subprocess.run(
        [sys.executable, "-m", "fleet.series.page"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert written.stdout == metrics_page()
    assert written.stderr == ""


def test_the_reference_names_every_series_label_and_value():
    page = metrics_page()
    for one in CATALOGUE:
        assert one.notes in page
        assert f"| `{one.full_name}` | {one.kind.value} |" in page
        for label in one.labels:
            assert f"| `{label.name}` |" in page
            assert all(f"`{value}`" in page for value in label.values or ())


class EverySeries:
    """A collector that exposes one sample of each series."""

    def collect(self):
        for one in CATALOGUE:
            values = [label.values[0] if label.values else "x" for label in one.labels]
            match one.kind:
                case Kind.COUNTER:
                    family = CounterMetricFamily(one.full_name, one.help, labels=one.label_names)
                    family.add_metric(values, 0)
                case Kind.GAUGE:
                    family = GaugeMetricFamily(one.full_name, one.help, labels=one.label_names)
                    family.add_metric(values, 0)
                case Kind.HISTOGRAM:
                    family = HistogramMetricFamily(one.full_name, one.help, labels=one.label_names)
                    family.add_metric(values, [("1.0", 0), ("+Inf", 0)], 0)
            yield family


@pytest.mark.real
def test_promtool_finds_nothing_to_say_about_any_series():
    promtool = shutil.which("promtool")
    assert promtool, "promtool is not installed: apt-get install prometheus"
    registry = CollectorRegistry()
    registry.register(EverySeries())
    exposition = generate_latest(registry)
    for one in CATALOGUE:
        assert f"# TYPE {one.full_name} {one.kind.value}\n".encode() in exposition
    checked = subprocess.run(
        [promtool, "check", "metrics"], input=exposition, capture_output=True, check=False, timeout=30
    )
    assert checked.stdout + checked.stderr == b""
    assert checked.returncode == 0
