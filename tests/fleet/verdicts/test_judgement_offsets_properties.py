"""Whatever canary and offsets say: the worst is told, and nothing follows from what is not known."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import event, given
from hypothesis import strategies as st

from fleet.verdicts.evidence import CanaryState, LagEvidence, LagFinding
from fleet.verdicts.judgement import beside, follow, judge
from fleet.verdicts.offsets import is_quiet
from fleet.verdicts.vocabulary import Cause, Evidence, Verdict
from fleet.verdicts.words import HOLD_S, MAX_ROWS
from tests.fleet.verdicts.test_judgement_properties import FLOWS, INSTANTS, NOW, OFFSETS

TOPICS = st.sampled_from(["mirrorwatch-canary", "orders", "payments"])
PROVED = [
    (Verdict.LOSING, Cause.OVERTAKEN),
    (Verdict.LOSING, Cause.TOPIC_RECREATED),
    (Verdict.LOSING, Cause.FILTERED),
    (Verdict.ALTERED, Cause.RETIMED),
    (Verdict.REPEATING, Cause.DUPLICATING),
]
PRESENT = [
    (Verdict.STALLED, Cause.MIRROR_DOWN),
    (Verdict.STALLED, Cause.TASK_STUCK),
    (Verdict.STALLED, Cause.TASK_FAILED),
    (Verdict.STALLED, Cause.TOPIC_MISSING),
    (Verdict.STALLED, None),
    (Verdict.REPEATING, Cause.DUPLICATING),
    (Verdict.LATE, None),
    (Verdict.UNKNOWN, Cause.OFFSETS_NOT_COMMITTING),
    (Verdict.UNKNOWN, Cause.TOPIC_RECREATED),
    (Verdict.UNKNOWN, None),
    (Verdict.HEALTHY, None),
]
FOUND = st.builds(
    lambda kind, **more: LagFinding(*kind, **more),
    st.sampled_from(PROVED),
    topic=TOPICS,
    partition=st.none() | st.integers(0, 999),
    at=INSTANTS,
    sentence=st.just("Of orders-0, 3 records were deleted"),
    records=st.none() | st.integers(1, 10**12),
    first_offset=OFFSETS,
    last_offset=OFFSETS,
)
ROWS = st.lists(
    st.builds(Evidence, part=st.just("lag"), sentence=st.just("it stands"), at=INSTANTS), max_size=MAX_ROWS
).map(tuple)
LAGS = st.builds(
    lambda present, **more: LagEvidence(*present, **more),
    st.sampled_from(PRESENT),
    sentence=st.sampled_from(["orders-0: it stands", "3 partitions move."]),
    since_at=INSTANTS,
    settles_s=st.floats(30.0, 300.0),
    lag_s=st.none() | st.floats(0.0, 1e6),
    standing=st.lists(TOPICS, max_size=3, unique=True).map(tuple),
    moved=st.lists(INSTANTS, max_size=3).map(lambda some: tuple(sorted(some))),
    rows=ROWS,
    findings=st.lists(FOUND, max_size=5).map(tuple),
)
SILENT = st.builds(
    LagEvidence,
    st.just(Verdict.UNKNOWN),
    st.just(None),
    sentence=st.just("No answer from the lag monitor for 12 s."),
    since_at=INSTANTS,
    settles_s=st.floats(0.0, 300.0),
)


def verdict_of(flow):
    return judge(flow, now_at=NOW).verdict


@given(FLOWS, LAGS)
def test_offsets_hide_nothing_that_the_canary_shows(flow, lag):
    alone, both = verdict_of(flow), verdict_of(replace(flow, lag=lag))
    event(f"{alone} and {lag.verdict} make {both}")
    if flow.canary.state is not CanaryState.OFF:
        assert both.severity <= alone.severity


@given(FLOWS, LAGS)
def test_the_canary_hides_nothing_that_offsets_prove(flow, lag):
    both = verdict_of(replace(flow, lag=lag))
    for one in lag.findings:
        if NOW - one.at <= HOLD_S:
            assert both.severity <= one.verdict.severity
    if lag.verdict is Verdict.STALLED and lag.cause is Cause.TASK_STUCK and {*lag.standing} & {"orders"}:
        assert both.severity <= Verdict.STALLED.severity


@given(FLOWS, SILENT)
def test_what_offsets_do_not_know_changes_nothing(flow, lag):
    alone, both = judge(flow, now_at=NOW), judge(replace(flow, lag=lag), now_at=NOW)
    if flow.canary.state is CanaryState.OFF:  # then it is said why nothing is known
        assert alone.verdict == both.verdict
        assert both.cause in (alone.cause, Cause.SOURCE_DOWN, Cause.TARGET_DOWN)
    else:
        assert alone == both


@given(FLOWS, LAGS)
def test_a_flow_that_is_well_becomes_unknown_only_where_the_mirror_writes_no_offsets(flow, lag):
    alone, both = judge(flow, now_at=NOW), judge(replace(flow, lag=lag), now_at=NOW)
    if (alone.verdict, both.verdict) == (Verdict.HEALTHY, Verdict.UNKNOWN):
        assert both.cause is Cause.OFFSETS_NOT_COMMITTING


@given(FLOWS, LAGS)
def test_no_mirror_is_down_whose_probes_arrive(flow, lag):
    both = judge(replace(flow, lag=lag), now_at=NOW)
    canary = flow.canary
    if (
        canary.state is CanaryState.RUNNING
        and canary.impaired is None
        and judge(flow, now_at=NOW).cause is None
    ):
        patience_s = canary.threshold_s + canary.interval_s
        if any(
            one.arrival_age_s is not None and one.arrival_age_s <= patience_s for one in canary.partitions
        ):
            assert both.cause is not Cause.MIRROR_DOWN


@given(FLOWS, LAGS)
def test_what_is_quiet_leaves_every_flow_that_is_well_as_it_is(flow, lag):
    alone = judge(flow, now_at=NOW)
    if flow.canary.state is CanaryState.RUNNING and alone.verdict is Verdict.HEALTHY and is_quiet(lag, NOW):
        assert judge(replace(flow, lag=lag), now_at=NOW) == alone


@given(FLOWS, LAGS)
def test_both_together_read_as_one_and_are_bounded(flow, lag):
    flow = replace(flow, lag=lag)
    told = judge(flow, now_at=NOW)
    also = beside(flow, told, now_at=NOW)
    assert len(told.evidence) <= 2 * MAX_ROWS + 2
    for one in (told, also):
        if one is not None:
            assert one.sentence.endswith(".")
            assert ".." not in one.sentence
            assert "None" not in one.sentence
            assert "  " not in one.sentence
            assert (one.cause is not None) or one.verdict in (Verdict.HEALTHY, Verdict.UNKNOWN)
    if also is not None:
        assert told.verdict.severity < also.verdict.severity < Verdict.HEALTHY.severity
    assert [name for name, _ in follow(None, flow, now_at=NOW).parts] == ["canary", "lag"]
