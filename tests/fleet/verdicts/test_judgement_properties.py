"""Whatever the evidence is, there is one verdict, with a sentence that a person can read."""

import re

from hypothesis import given
from hypothesis import strategies as st

from fleet.verdicts.evidence import (
    CanaryEvidence,
    CanaryState,
    ClusterEvidence,
    Control,
    Finding,
    FindingKind,
    FlowEvidence,
    PartitionEvidence,
    TopicEvidence,
)
from fleet.verdicts.judgement import beside, follow, judge
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.verdicts.words import MAX_ROWS

NOW = 1_800_000_000.0
AGES = st.floats(0.0, 1e7)
INSTANTS = st.floats(NOW - 2000, NOW + 5)
SENTENCES = st.sampled_from(["", "it is down", "it is down.", "cluster B: no answer: try again"])
OFFSETS = st.none() | st.integers(0, 2**63 - 1)


def clusters(alias):
    return st.builds(
        ClusterEvidence,
        alias=st.just(alias),
        control=st.sampled_from(Control),
        sentence=SENTENCES,
        since_at=INSTANTS,
        last_ok_at=st.none() | INSTANTS,
        last_failed_at=st.none() | INSTANTS,
    )


PARTITIONS = st.lists(
    st.builds(
        PartitionEvidence,
        partition=st.integers(0, 999),
        carried=st.booleans(),
        pending_age_s=st.none() | AGES,
        pending_offset=OFFSETS,
        unacked_age_s=st.none() | AGES,
        arrival_age_s=st.none() | AGES,
        latency_s=st.none() | AGES,
        present_age_s=st.none() | AGES,
    ),
    max_size=6,
    unique_by=lambda one: one.partition,
).map(tuple)
FINDINGS = st.lists(
    st.builds(
        Finding,
        kind=st.sampled_from(FindingKind),
        at=INSTANTS,
        topic=st.just("mirrorwatch-canary"),
        partition=st.integers(0, 999),
        source_offset=OFFSETS,
        target_offset=OFFSETS,
        sentence=st.just("the key is missing"),
        count=st.integers(1, 10**9),
        overtaken=st.booleans(),
    ),
    max_size=30,
).map(tuple)
FLOWS = st.builds(
    FlowEvidence,
    flow=st.just("A->B"),
    source=clusters("A"),
    target=clusters("B"),
    canary=st.builds(
        CanaryEvidence,
        state=st.sampled_from(CanaryState),
        sentence=SENTENCES,
        threshold_s=st.floats(0.001, 86400),
        interval_s=st.floats(0.01, 3600),
        horizon_s=st.floats(0.001, 86400),
        partitions=PARTITIONS,
        findings=FINDINGS | st.just(()),
        impaired=st.none() | st.just("its event loop stood still for 2.0 s"),
    ),
    topic=st.builds(
        TopicEvidence,
        source_topic=st.just("mirrorwatch-canary"),
        target_topic=st.just("A.mirrorwatch-canary"),
        target_exists=st.none() | st.booleans(),
        source_partitions=st.none() | st.integers(0, 1000),
        target_partitions=st.none() | st.integers(0, 1000),
        source_recreated_at=st.none() | INSTANTS,
        target_recreated_at=st.none() | INSTANTS,
        settings_within_s=st.floats(0.0, 60.0),
    ),
    exactly_once=st.booleans(),
    heartbeats_s=st.lists(AGES, max_size=3).map(lambda ages: tuple(sorted(ages))),
)
RAW_WORDS = [word.value for word in (*Cause, *Verdict, *CanaryState, *FindingKind) if "_" in word.value]


@given(FLOWS)
def test_every_evidence_has_a_verdict_with_a_sentence(flow):
    judgement = judge(flow, now_at=NOW)
    sentence = judgement.sentence
    assert sentence.endswith(".")
    assert not sentence.endswith("..")
    assert "  " not in sentence
    assert "None" not in sentence
    assert not [word for word in RAW_WORDS if word in sentence]
    assert len(judgement.evidence) <= MAX_ROWS + 2
    assert re.search(r"\b1 (?:probes|partitions)\b", sentence) is None
    # Healthy has no cause; only data that is missing may leave one out beside it.
    assert (judgement.cause is not None) or judgement.verdict in (Verdict.HEALTHY, Verdict.UNKNOWN)
    assert (judgement.cause is None) or judgement.verdict is not Verdict.HEALTHY


@given(FLOWS)
def test_what_is_told_beside_a_verdict_is_milder_and_never_healthy(flow):
    judgement = judge(flow, now_at=NOW)
    also = beside(flow, judgement, now_at=NOW)
    if also is not None:
        assert judgement.verdict in (Verdict.LOSING, Verdict.ALTERED, Verdict.REPEATING)
        assert judgement.verdict.severity < also.verdict.severity < Verdict.HEALTHY.severity
        assert also.sentence.endswith(".")


@given(FLOWS)
def test_a_cluster_is_blamed_only_where_a_control_probe_of_it_failed(flow):
    judgement = judge(flow, now_at=NOW)
    for cause, cluster in ((Cause.SOURCE_DOWN, flow.source), (Cause.TARGET_DOWN, flow.target)):
        if judgement.cause is cause:
            assert cluster.control is Control.FAILING or cluster.last_failed_at is not None


@given(FLOWS)
def test_the_mirror_is_blamed_only_where_both_clusters_answered(flow):
    judgement = judge(flow, now_at=NOW)
    if judgement.cause is Cause.MIRROR_DOWN:
        oldest_s = max(one.pending_age_s or 0.0 for one in flow.canary.partitions)
        for cluster in (flow.source, flow.target):
            assert cluster.control is Control.OK
            assert cluster.last_ok_at is None or cluster.last_ok_at > NOW - oldest_s


@given(FLOWS)
def test_a_mirror_is_told_to_run_only_where_two_lots_of_heartbeats_came_after_a_probe_began_to_wait(flow):
    judgement = judge(flow, now_at=NOW)
    if judgement.cause is Cause.NOT_MIRRORED and "own heartbeats" in judgement.sentence:
        ages = (max(one.pending_age_s or 0.0, one.unacked_age_s or 0.0) for one in flow.canary.partitions)
        oldest_s = max(ages)
        assert sum(age_s < oldest_s for age_s in flow.heartbeats_s) >= 2
        assert oldest_s >= flow.topic.settings_within_s


@given(FLOWS)
def test_a_finding_that_holds_is_never_passed_over(flow):
    held = {one.kind for one in flow.canary.findings if NOW - one.at <= 900.0}
    verdict = judge(flow, now_at=NOW).verdict
    if held & {FindingKind.LOST, FindingKind.MISROUTED}:
        assert verdict is Verdict.LOSING
    elif FindingKind.ALTERED in held:
        assert verdict is Verdict.ALTERED
    elif FindingKind.LOOPED in held:
        assert verdict in (Verdict.STALLED, Verdict.REPEATING)
    else:
        assert verdict not in (Verdict.LOSING, Verdict.ALTERED)


@given(st.lists(FLOWS, min_size=1, max_size=4))
def test_since_moves_only_with_the_verdict_be_it_told_alone_or_beside_another(flows):
    before = None
    for number, flow in enumerate(flows):
        verdict = follow(before, flow, now_at=NOW + number)
        told = [] if before is None else [before] if before.also is None else [before, before.also]
        since = {one.verdict: one.since_at for one in told}
        for one in (verdict, verdict.also):
            assert one is None or one.since_at == since.get(one.verdict, NOW + number)
        before = verdict
