"""What `/metrics` tells is what the catalogue says, to the last label and value."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from dataclasses import replace
from types import SimpleNamespace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from alerts.objectives import Objective, ObjectiveKind
from canary.config import CanaryConfig
from canary.flows import CanaryFlow
from canary.prober import Prober
from canary.watch.flow_summary import FlowSummary
from fleet.mm2.replication import PolicyKind
from fleet.series import catalogue as series
from fleet.series.catalogue import CATALOGUE, Kind
from fleet.series.failover import FAILOVER_CATALOGUE
from fleet.series.lag import LAG_CATALOGUE
from fleet.verdicts.vocabulary import CONDITIONS, Cause, FlowVerdict, Verdict
from mirrorwatch.audits.flow_audit import TopicAudit
from mirrorwatch.audits.series import ChecksumSeries
from mirrorwatch.configuration.reloading import LastReload
from mirrorwatch.lag.collected import CollectedCounts
from mirrorwatch.service.metrics import render
from mirrorwatch.service.samples import Sampled, ServiceSamples, service_samples
from mirrorwatch.service.view import ObjectiveView
from tests.runtime.fake_clock import FakeClock

UNKNOWN = FlowVerdict("A->B", Verdict.UNKNOWN, None, "", (), (), 0.0)
HISTOGRAM_PARTS = {"_bucket", "_sum", "_count", "_created"}
# What the lag monitor and the failover audit tell is asked of them in tests/lagmon and tests/mirrorwatch.
TOLD = [one for one in CATALOGUE if not one.opt_in and one not in (*LAG_CATALOGUE, *FAILOVER_CATALOGUE)]


def service(checksums: ChecksumSeries | None = None, *, verdict: FlowVerdict = UNKNOWN) -> ServiceSamples:
    """Return the samples of a service with one flow that has just started and has measured once."""
    return asyncio.run(_service(checksums, verdict))


async def _service(checksums: ChecksumSeries | None, verdict: FlowVerdict) -> ServiceSamples:
    client = SimpleNamespace(certificate_expires_at=1_800_000_000.0)
    canary, clock = CanaryConfig(), FakeClock()
    prober = Prober(
        [CanaryFlow("A->B", "A", "B", canary.topic, f"A.{canary.topic}", 5.0, 60.0, 1, exactly_once=False)],
        {"A": client, "B": client},
        canary,
        installation="0" * 32,
        memory=SimpleNamespace(
            incarnation="00000000000000aa",
            watch=lambda _held: None,
            note_carried=lambda *_: None,
            forget_loops=lambda _flow: None,
        ),
        inherited={},
        clock=clock,
        reporter=SimpleNamespace(problem=None, settled=None, event=None),
    )
    prober.sites["B"].mirror_topics.heartbeat_age_s = lambda _flow, _now_at: 1.2
    for site in prober.sites.values():
        site.counts.last_success_at["cluster"] = 1.0
        site.control.clock_ahead_s = 0.1
    watch = prober.flows["A->B"].watch
    watch.summary = lambda _now_ns: FlowSummary((0,), last_arrival_ns=0, recovery_point_age_s=1.0)
    policy = SimpleNamespace(kind=PolicyKind.DEFAULT)
    config = SimpleNamespace(
        canary=canary, lone=(), topology=SimpleNamespace(flow=lambda _name: SimpleNamespace(policy=policy))
    )
    of = Sampled(
        version="0.1.0",
        revision="0123abc",
        last_reload=LastReload(ok=True, ok_at=1_700_000_000.0),
        verdicts={"A->B": verdict},
        states={},
        store_errors=dict.fromkeys(series.STORE_OPERATIONS, 0),
        by_offsets={},
        lag_collected=CollectedCounts().document,
        unanswered=lambda _alias: None,
        standing=lambda _alias: None,
        checksums=checksums,
        objectives=tuple(
            ObjectiveView(
                Objective(flow="A->B", source="A", target="B", kind=ObjectiveKind(kind), target_ratio=0.99),
                0.5,
            )
            for kind in series.OBJECTIVES
        ),
    )
    return service_samples(config, prober, of, clock)


@pytest.fixture(scope="module")
def body() -> bytes:
    topic = TopicAudit(at=1.0, coverage=1.0, records={}, verified_at=1.0)
    return render(service(ChecksumSeries([(("A->B", "A", "B"), {"orders": topic})])), "text/plain")[0]


@pytest.fixture(scope="module")
def families(body):
    parsed = text_string_to_metric_families(body.decode())
    return {family.name + ("_total" if family.type == "counter" else ""): family for family in parsed}


def test_it_tells_every_series_of_the_catalogue_that_is_not_opt_in_and_no_other(families):
    assert set(families) == {one.full_name for one in TOLD}


@pytest.mark.parametrize("one", TOLD, ids=lambda one: one.name)
def test_kind_help_and_labels_are_those_of_the_catalogue(families, one):
    family = families[one.full_name]
    assert family.type == one.kind.value
    assert family.documentation == one.help
    assert family.samples
    for sample in family.samples:
        assert set(sample.labels) - {"le"} == set(one.label_names)


@pytest.mark.parametrize("one", TOLD, ids=lambda one: one.name)
def test_every_value_of_a_closed_label_is_there_from_the_start(families, one):
    for label in (label for label in one.labels if label.values is not None):
        told = {sample.labels[label.name] for sample in families[one.full_name].samples}
        # A flow has one policy, and what has not succeeded yet has no instant.
        if label.name == "policy" or one is series.COLLECTOR_LAST_SUCCESS_TIMESTAMP_SECONDS:
            assert told <= set(label.values)
        else:
            assert told == set(label.values)


def test_several_conditions_are_1_at_once_and_one_cause():
    conditions = frozenset({Verdict.LOSING, Verdict.STALLED})
    verdict = replace(UNKNOWN, cause=Cause.FILTERED, conditions=conditions)
    families = text_string_to_metric_families(render(service(verdict=verdict), "text/plain")[0].decode())
    samples = {one.name.removeprefix("mirrorwatch_flow_"): one.samples for one in families}
    held = {sample.labels["condition"] for sample in samples["condition"] if sample.value == 1}
    causes = {sample.labels["cause"] for sample in samples["cause"] if sample.value == 1}
    assert (held, causes) == (conditions, {Cause.FILTERED})
    assert (len(samples["condition"]), len(samples["cause"])) == (len(CONDITIONS), len(Cause))


def test_a_bucket_ends_at_the_threshold(families):
    samples = families["mirrorwatch_canary_latency_seconds"].samples
    edges = {float(sample.labels["le"]) for sample in samples if "le" in sample.labels}
    assert 5.0 in edges


def test_names_of_samples_are_those_of_their_family(families):
    for one in TOLD:
        ends = HISTOGRAM_PARTS if one.kind is Kind.HISTOGRAM else {""}
        assert {sample.name.removeprefix(one.full_name) for sample in families[one.full_name].samples} <= ends


@pytest.mark.real
def test_promtool_finds_nothing_to_say_about_it(body):
    promtool = shutil.which("promtool")
    assert promtool, "promtool is not installed: apt-get install prometheus"
    checked = subprocess.run(
        [promtool, "check", "metrics"], input=body, capture_output=True, check=False, timeout=30
    )
    assert checked.stdout + checked.stderr == b""
    assert checked.returncode == 0
