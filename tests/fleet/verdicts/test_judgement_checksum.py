"""One verdict of canary, offsets and audits: the rule table, for how long it holds, and what it may never hide."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.verdicts.checksum import HOLD_FOUND_S, is_quiet, part_sentence
from fleet.verdicts.evidence import CanaryState, Control, FindingKind
from fleet.verdicts.judgement import beside, follow, follow_calm, judge
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.verdicts.words import MAX_ROWS
from tests.fleet.checksums import LOST_SAID, audited, found, row
from tests.fleet.offsets import deleted, lag
from tests.fleet.verdicts import test_judgement_properties as properties
from tests.fleet.verdicts.test_judgement import ALL_STAND, NOW, Row, cluster, finding, flow, repeated
from tests.fleet.verdicts.test_judgement_offsets_properties import LAGS

LOSING, ALTERED, REPEATING = Verdict.LOSING, Verdict.ALTERED, Verdict.REPEATING
CLAUSE = LOST_SAID.replace(": ", "; ")
HOUR_S = 3600.0


def seen(*runs, offsets=None, **more):
    return replace(flow(**more), checksum=audited(*runs), lag=offsets)


ROWS = (
    Row(
        "one record was lost in the night",
        seen(found(ago_s=6 * HOUR_S)),
        LOSING,
        Cause.UNEXPLAINED,
        f"The checksum that ended 6 h ago found: {CLAUSE}.",
    ),
    Row(
        "several, of several topics, with the cause that the findings name",
        seen(found(cause=Cause.FILTERED, topics=(("orders", 12), ("payments", 5)), more_topics=3)),
        LOSING,
        Cause.FILTERED,
        "The checksum that ended 1 h ago found 17 records (12 of orders, 5 of payments and more of 3 others)"
        f" missing on B. The first: {CLAUSE}.",
    ),
    Row(
        "not all were told apart",
        seen(found(topics=(("orders", 1),), least=True)),
        LOSING,
        Cause.UNEXPLAINED,
        f"The checksum that ended 1 h ago found at least 1 record of orders missing on B. The first: {CLAUSE}.",
    ),
    Row(
        "more than one run found some",
        seen(found(ago_s=25 * HOUR_S, topics=(("orders", 4),)), found(topics=(("orders", 2),))),
        LOSING,
        Cause.UNEXPLAINED,
        f"The checksum that ended 1 h ago found 2 records of orders missing on B. The first: {CLAUSE}. Another"
        " run of the last 1 d 2 h found 4 such records.",
    ),
    Row(
        "altered, misrouted, out of order or from nowhere",
        seen(found(ALTERED, Cause.TRANSFORMED, topics=(("orders", 3),))),
        ALTERED,
        Cause.TRANSFORMED,
        "The checksum that ended 1 h ago found 3 records of orders that differ between A and B. The first:"
        f" {CLAUSE}.",
    ),
    Row(
        "second copies of a mirror that delivers exactly once",
        seen(found(REPEATING, Cause.DUPLICATING, topics=(("orders", 3),)), exactly_once=True),
        REPEATING,
        Cause.DUPLICATING,
        "The checksum that ended 1 h ago found 3 records of orders repeated on B, although the mirror is"
        f" configured for exactly-once delivery. The first: {CLAUSE}.",
    ),
    Row(
        "copies of what the source has given up, of a mirror that delivers exactly once",
        seen(found(ALTERED, Cause.ABORTED_TRANSACTION, topics=(("orders", 3),)), exactly_once=True),
        ALTERED,
        Cause.ABORTED_TRANSACTION,
        "The checksum that ended 1 h ago found 3 records of orders that differ between A and B. The first:"
        f" {CLAUSE}.",
    ),
    Row(
        "the worst of one run is the verdict",
        seen(found(ALTERED, Cause.TRANSFORMED), found()),
        LOSING,
        Cause.UNEXPLAINED,
        f"The checksum that ended 1 h ago found: {CLAUSE}.",
    ),
    Row(
        "what the canary lost and what an audit found are one verdict, with the canary's cause",
        seen(found(cause=Cause.MISROUTED), findings=(finding(FindingKind.LOST, overtaken=True),)),
        LOSING,
        Cause.OVERTAKEN,
        "1 canary record lost (partition 0): the log on A starts after it, so it was deleted before the mirror"
        f" read it. The checksum that ended 1 h ago found: {CLAUSE}.",
    ),
    Row(
        "an audit's cause counts where the others have none",
        seen(found(cause=Cause.FILTERED), offsets=lag(findings=[deleted(cause=Cause.UNEXPLAINED)])),
        LOSING,
        Cause.FILTERED,
        "Of orders-0, 123 records were deleted on A before they were copied."
        f" The checksum that ended 1 h ago found: {CLAUSE}.",
    ),
    Row(
        "what an audit found goes before a flow of which nothing is known",
        seen(found(), source=cluster("A", Control.FAILING), partitions=()),
        LOSING,
        Cause.UNEXPLAINED,
        f"The checksum that ended 1 h ago found: {CLAUSE}.",
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_rule_table(row):
    told = judge(row.evidence, now_at=NOW)
    assert (told.verdict, told.cause, told.sentence) == (row.verdict, row.cause, row.sentence)
    assert told.ended or row.evidence.canary.findings


@pytest.mark.parametrize(("ago_s", "verdict"), [(HOLD_FOUND_S, LOSING), (HOLD_FOUND_S + 1, Verdict.HEALTHY)])
def test_a_finding_holds_for_a_day_and_a_little_and_then_no_more(ago_s, verdict):
    evidence = seen(found(ago_s=ago_s))
    assert judge(evidence, now_at=NOW).verdict is verdict
    assert is_quiet(evidence.checksum, NOW) is (verdict is Verdict.HEALTHY)


@pytest.mark.parametrize(
    ("known_s", "verdict"), [(HOLD_FOUND_S, LOSING), (HOLD_FOUND_S + 1, Verdict.HEALTHY)]
)
def test_a_finding_that_was_told_days_after_it_was_made_holds_from_then_on(known_s, verdict):
    told = judge(seen(found(ago_s=72 * HOUR_S, known_at=NOW - known_s)), now_at=NOW)
    assert told.verdict is verdict
    if verdict is LOSING:
        assert told.sentence == f"The checksum that ended 3 d ago found: {CLAUSE}."


def test_a_loss_of_three_in_the_morning_is_there_at_nine_and_until_the_next_nights_run_has_ended():
    evidence = seen(found(ago_s=0))
    for hours in (0, 6, 24, 25):
        assert judge(evidence, now_at=NOW + hours * HOUR_S).verdict is LOSING


def test_a_later_clean_run_takes_nothing_back():
    evidence = replace(flow(), checksum=audited(found(ago_s=20 * HOUR_S), ago_s=60.0, findings=0))
    assert judge(evidence, now_at=NOW).verdict is LOSING
    assert "no finding" in dict(follow(None, evidence, now_at=NOW).parts)["checksum"]


def test_of_several_runs_the_newest_names_the_cause_and_its_rows_come_first():
    old = found(cause=Cause.FILTERED, ago_s=25 * HOUR_S, rows=(row("the older"),))
    new = found(cause=Cause.RECORD_REJECTED, rows=(row("the newer"), row("and this")))
    told = judge(seen(old, new), now_at=NOW)
    assert told.cause is Cause.RECORD_REJECTED
    assert [one.sentence for one in told.evidence] == ["the newer", "and this", "the older"]


def test_how_the_flow_is_right_now_stands_beside_it():
    evidence = replace(flow(*ALL_STAND), checksum=audited(found()))
    told = follow(None, evidence, now_at=NOW)
    assert (told.verdict, told.also.verdict, told.also.cause) == (
        LOSING,
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
    )
    well = follow(None, replace(flow(), checksum=audited(found())), now_at=NOW)
    assert well.also is None


@pytest.mark.parametrize(
    ("findings", "expected"),
    [
        ((finding(FindingKind.ALTERED, sentence="its value differs"),), ALTERED),
        ((finding(FindingKind.LOOPED),), REPEATING),
        (repeated(3.0), None),
    ],
)
def test_a_finding_of_the_night_hides_no_milder_one_of_the_day(findings, expected):
    evidence = replace(flow(findings=findings), checksum=audited(found()))
    also = follow(None, evidence, now_at=NOW).also
    assert (None if also is None else also.verdict) is expected


def test_beside_it_what_is_right_now_goes_before_what_has_ended():
    altered = finding(FindingKind.ALTERED, ago_s=300, sentence="its value differs")
    evidence = replace(flow(*ALL_STAND, findings=(altered,)), checksum=audited(found()))
    assert follow(None, evidence, now_at=NOW).also.verdict is Verdict.STALLED


@pytest.mark.parametrize(
    ("evidence", "sentence"),
    [
        (
            audited(ago_s=60),
            "The last run ended 1 min ago: 1,000 records of the source compared, everything verified, no finding.",
        ),
        (
            audited(found(), coverage=0.99999, records=1),
            "The last run ended 1 h ago: 1 record of the source compared, 99.99 % of it verified, 1 finding.",
        ),
        (
            replace(audited(ago_s=60), untold=3),
            (
                "The last run ended 1 min ago: 1,000 records of the source compared, everything verified,"
                " no finding, 3 records undecided."
            ),
        ),
        (audited(records=0), "The last run ended 1 h ago and had nothing to compare."),
        (
            audited(ago_s=-5),
            "The last run ended 0 s ago: 1,000 records of the source compared, everything verified, no finding.",
        ),
    ],
)
def test_what_the_part_says(evidence, sentence):
    assert part_sentence(evidence, NOW) == sentence


def test_without_any_run_nothing_is_said():
    assert dict(follow(None, flow(), now_at=NOW).parts).keys() == {"canary"}


def test_the_short_way_says_the_same():
    from fleet.verdicts.evidence import Calm  # noqa: PLC0415 - of this test alone

    evidence = replace(flow(), checksum=audited(found(ago_s=HOLD_FOUND_S + 5)))
    long = follow(None, evidence, now_at=NOW)
    calm = Calm("A->B", 5.0, 4, 0.04)
    assert follow_calm(None, calm, now_at=NOW, checksum=evidence.checksum) == long


FOUND = st.builds(
    found,
    st.sampled_from([LOSING, ALTERED, REPEATING]),
    st.sampled_from([Cause.UNEXPLAINED, Cause.FILTERED, Cause.TRANSFORMED, Cause.DUPLICATING]),
    ago_s=st.floats(0, 2 * HOLD_FOUND_S),
    topics=st.lists(
        st.tuples(st.sampled_from(["orders", "payments"]), st.integers(1, 10**9)), min_size=1, max_size=3
    ),
    more_topics=st.integers(0, 5),
    least=st.booleans(),
    rows=st.integers(1, MAX_ROWS).map(lambda count: tuple(row() for _ in range(count))),
)
AUDITS = st.builds(
    lambda runs, **more: audited(*sorted(runs, key=lambda one: one.at), **more),
    st.lists(FOUND, max_size=4),
    coverage=st.floats(0, 1),
    records=st.integers(0, 10**12),
)


def moved(checksum):
    """Return the same around the instant of the other properties."""
    by_s = properties.NOW - NOW
    runs = tuple(replace(one, at=one.at + by_s) for one in checksum.found)
    return replace(checksum, ended_at=checksum.ended_at + by_s, found=runs)


@given(properties.FLOWS, st.none() | LAGS, AUDITS.map(moved))
def test_whatever_is_seen_the_worst_is_told_and_reads_as_one(flow, lag, checksum):
    without = replace(flow, lag=lag)
    whole = replace(without, checksum=checksum)
    alone, both = judge(without, now_at=properties.NOW), judge(whole, now_at=properties.NOW)
    assert both.verdict.severity <= alone.verdict.severity
    held = [one for one in checksum.found if properties.NOW - one.at <= HOLD_FOUND_S]
    assert is_quiet(checksum, properties.NOW) is (not held)
    for one in held:
        assert both.verdict.severity <= one.verdict.severity
    if not held:
        assert both == alone
    assert len(both.evidence) <= 3 * MAX_ROWS + 2
    also = beside(whole, both, now_at=properties.NOW)
    for told in (both, also):
        if told is not None:
            assert told.sentence.endswith(".")
            assert ".." not in told.sentence
            assert "  " not in told.sentence
            assert "None" not in told.sentence
    if also is not None:
        assert both.verdict.severity < also.verdict.severity < Verdict.HEALTHY.severity
    if both.verdict is not alone.verdict and alone.verdict is not Verdict.HEALTHY:
        assert also is not None  # an audit hides nothing


def test_a_canary_that_is_off_leaves_audits_their_say():
    evidence = replace(
        flow(state=CanaryState.OFF, sentence="canary.mode is off.", partitions=()), checksum=audited(found())
    )
    told = follow(None, evidence, now_at=NOW)
    assert (told.verdict, told.also.verdict) == (LOSING, Verdict.UNKNOWN)
