"""One verdict of canary and offsets: the rule table, and what may never follow from offsets."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fleet.verdicts.evidence import Calm, CanaryState, Control, FindingKind
from fleet.verdicts.judgement import beside, follow, follow_calm, judge
from fleet.verdicts.offset_findings import lost_records
from fleet.verdicts.offsets import is_quiet
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.verdicts.words import HOLD_S, MAX_ROWS, Judgement, ended, joined
from tests.fleet.offsets import CANARY, SAYS, deleted, lag, row, seen, unprobed
from tests.fleet.verdicts.test_judgement import (
    ALL_STAND,
    LOST,
    NOW,
    Row,
    cluster,
    finding,
    flow,
    moving,
    standing,
)

STALLED, LATE, UNKNOWN, LOSING = Verdict.STALLED, Verdict.LATE, Verdict.UNKNOWN, Verdict.LOSING
HEALTHY, REPEATING = Verdict.HEALTHY, Verdict.REPEATING
WELL = "Canary records arrive within 5 s; the newest took at most 0.04 s."
DOWN = (
    "No canary records replicated for 6.15 s on any partition: both clusters are up, so the mirror is down"
    " or hangs."
)
FILTERED = (
    "1 canary record lost (partition 0): newer ones arrived, so the mirror drops records, as by a transform"
    " or errors.tolerance=all."
)
BOTH_WAYS = (deleted(), deleted(topic="payments", partition=3, first=7, last=7))
MOVING = (NOW - 40, NOW - 29, NOW - 2)
BEFORE, BACK = (NOW - 97,), (NOW - 29, NOW - 2)

ROWS = (
    # --- losing
    Row(
        "retention has overtaken the mirror in one partition, and the canary goes on",
        seen(offsets=lag(findings=[deleted()])),
        LOSING,
        Cause.OVERTAKEN,
        "Of orders-0, 123 records were deleted on A before they were copied.",
    ),
    Row(
        "in several partitions, counted by partition",
        seen(offsets=lag(findings=BOTH_WAYS)),
        LOSING,
        Cause.OVERTAKEN,
        "By offsets, 124 records (123 of orders-0, 1 of payments-3) are lost between A and B: the log on A"
        " starts after them, so they were deleted before they were read.",
    ),
    Row(
        "a while ago",
        seen(offsets=lag(findings=[deleted(ago_s=300)])),
        LOSING,
        Cause.OVERTAKEN,
        "Of orders-0, 123 records were deleted on A before they were copied. The last was found 5 min ago.",
    ),
    Row(
        "what the canary lost and what offsets show are one verdict, with the canary's cause",
        seen(offsets=lag(findings=[deleted()]), findings=(finding(LOST, overtaken=True),)),
        LOSING,
        Cause.OVERTAKEN,
        "1 canary record lost (partition 0): the log on A starts after it, so it was deleted before the"
        " mirror read it. Of orders-0, 123 records were deleted on A before they were copied.",
    ),
    Row(
        "what offsets show elsewhere says nothing about why probes are dropped",
        seen(offsets=lag(findings=[deleted()]), findings=(finding(LOST),)),
        LOSING,
        Cause.FILTERED,
        f"{FILTERED} Of orders-0, 123 records were deleted on A before they were copied.",
    ),
    Row(
        "what they show of the canary's own topic does",
        seen(offsets=lag(findings=[deleted(topic="mirrorwatch-canary")]), findings=(finding(LOST),)),
        LOSING,
        Cause.OVERTAKEN,
        f"{FILTERED} Of mirrorwatch-canary-0, 123 records were deleted on A before they were copied.",
    ),
    # --- altered
    Row(
        "a topic that is stamped anew",
        seen(
            offsets=lag(
                findings=[
                    deleted(
                        verdict=Verdict.ALTERED,
                        cause=Cause.RETIMED,
                        partition=None,
                        records=None,
                        sentence="A.orders on B is stamped with the time of writing",
                    )
                ]
            )
        ),
        Verdict.ALTERED,
        Cause.RETIMED,
        "A.orders on B is stamped with the time of writing.",
    ),
    # --- stalled
    Row(
        "other topics stand while the canary goes on",
        seen(offsets=lag(STALLED)),
        STALLED,
        Cause.TASK_STUCK,
        SAYS[STALLED],
    ),
    Row(
        "what a task leaves out while it goes on with others is no task that stands",
        seen(standing(0), moving(1), offsets=lag(STALLED, Cause.FILTERED)),
        STALLED,
        Cause.FILTERED,
        SAYS[STALLED],
    ),
    Row(
        "where nothing comes at all, what is left out elsewhere is not why",
        seen(*ALL_STAND, offsets=lag(STALLED, Cause.FILTERED)),
        STALLED,
        Cause.MIRROR_DOWN,
        f"{DOWN} {SAYS[STALLED]}",
    ),
    Row(
        "a transaction that hangs holds none of the canary's partitions",
        seen(offsets=lag(STALLED, Cause.UNEXPLAINED)),
        STALLED,
        Cause.UNEXPLAINED,
        SAYS[STALLED],
    ),
    Row(
        "a task that has failed carries none of the canary's partitions",
        seen(offsets=lag(STALLED, Cause.TASK_FAILED)),
        STALLED,
        Cause.TASK_FAILED,
        SAYS[STALLED],
    ),
    Row(
        "a connector that somebody has halted carries none of the canary's partitions",
        seen(offsets=lag(STALLED, Cause.PAUSED)),
        STALLED,
        Cause.PAUSED,
        SAYS[STALLED],
    ),
    Row(
        "no partition moves, neither the canary's",
        seen(*ALL_STAND, offsets=lag(STALLED, Cause.MIRROR_DOWN)),
        STALLED,
        Cause.MIRROR_DOWN,
        f"{DOWN} {SAYS[STALLED]}",
    ),
    Row(
        "the canary stands, offsets had no time to tell",
        seen(*ALL_STAND, offsets=lag()),
        STALLED,
        Cause.MIRROR_DOWN,
        DOWN,
    ),
    Row(
        "the canary stands, and other topics move since: no more than its tasks stand",
        seen(*(standing(number, 60.0) for number in range(2)), offsets=lag(moved=MOVING)),
        STALLED,
        Cause.TASK_STUCK,
        "No canary records replicated for 1 min 1 s on any partition: the mirror's offsets of other topics"
        " advance, so a task of the mirror hangs or is throttled by a quota.",
    ),
    Row(
        "offsets that were written while the mirror ended say nothing of the kind",
        seen(*(standing(number, 16.0) for number in range(2)), offsets=lag(moved=MOVING)),
        STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 17 s on any partition: both clusters are up, so the mirror is"
        " down or hangs.",
    ),
    Row(
        "the whole mirror was down, and goes on with other topics first: the rest may follow",
        seen(*(standing(number, 96.0) for number in range(2)), offsets=lag(moved=(*BEFORE, *BACK))),
        STALLED,
        Cause.UNEXPLAINED,
        "No canary records replicated for 1 min 37 s on any partition: the mirror's offsets of other topics"
        " advanced 29 s ago, and the next polls show whether this topic follows.",
    ),
    Row(
        "the rest had the time to follow, and did not",
        seen(*(standing(number, 97.0) for number in range(2)), offsets=lag(moved=(NOW - 30, *BACK))),
        STALLED,
        Cause.TASK_STUCK,
        "No canary records replicated for 1 min 38 s on any partition: the mirror's offsets of other topics"
        " advance, so a task of the mirror hangs or is throttled by a quota.",
    ),
    Row(
        "what a task has failed on explains the canary's standstill too",
        seen(*ALL_STAND, offsets=lag(STALLED, Cause.TASK_FAILED)),
        STALLED,
        Cause.TASK_FAILED,
        f"{DOWN} {SAYS[STALLED]}",
    ),
    Row(
        "a cluster that takes no control probes is the cause, whatever offsets say of the mirror",
        seen(
            *ALL_STAND,
            target=cluster("B", Control.FAILING),
            offsets=lag(STALLED, Cause.TOPIC_MISSING),
        ),
        STALLED,
        Cause.TARGET_DOWN,
        f"No canary records replicated for 6.15 s on any partition: control probes fail on B too. {SAYS[STALLED]}",
    ),
    Row(
        "without a canary",
        unprobed(lag(STALLED, Cause.MIRROR_DOWN)),
        STALLED,
        Cause.MIRROR_DOWN,
        SAYS[STALLED],
    ),
    Row(
        "without a canary, and a cluster is away",
        unprobed(lag(STALLED, Cause.MIRROR_DOWN), target=cluster("B", Control.FAILING)),
        STALLED,
        Cause.TARGET_DOWN,
        f"{SAYS[STALLED]} B does not answer.",
    ),
    Row(
        "without a canary, and what seems to be left out may have to do with a cluster that is away",
        unprobed(lag(STALLED, Cause.FILTERED), target=cluster("B", Control.FAILING)),
        STALLED,
        Cause.TARGET_DOWN,
        f"{SAYS[STALLED]} B does not answer.",
    ),
    Row(
        "without a canary, and a transaction may seem to hang because a cluster is away",
        unprobed(lag(STALLED, Cause.TRANSACTION_HANGS), source=cluster("A", Control.FAILING)),
        STALLED,
        Cause.SOURCE_DOWN,
        f"{SAYS[STALLED]} A does not answer.",
    ),
    Row(
        "without a canary, and a cluster was away until a moment ago",
        unprobed(lag(STALLED, Cause.MIRROR_DOWN), source=cluster("A", failed_s=40)),
        STALLED,
        Cause.SOURCE_DOWN,
        f"{SAYS[STALLED]} A was down until 40 s ago.",
    ),
    Row(
        "a canary that waits for its topic leaves a standstill to offsets",
        seen(offsets=lag(STALLED), state=CanaryState.WAITING, sentence="the topic is not there yet"),
        STALLED,
        Cause.TASK_STUCK,
        SAYS[STALLED],
    ),
    # --- repeating
    Row(
        "the mirror went back a while ago",
        seen(
            offsets=lag(
                findings=[
                    deleted(
                        ago_s=100, verdict=REPEATING, cause=Cause.DUPLICATING, sentence="orders-0 went back."
                    )
                ]
            )
        ),
        REPEATING,
        Cause.DUPLICATING,
        "orders-0 went back. The last was found 1 min 40 s ago.",
    ),
    Row("it is back there now", seen(offsets=lag(REPEATING)), REPEATING, Cause.DUPLICATING, SAYS[REPEATING]),
    # --- late
    Row("another topic falls behind", seen(offsets=lag(LATE)), LATE, Cause.UNEXPLAINED, SAYS[LATE]),
    Row(
        "so does the canary",
        seen(moving(0, latency_s=9.0), offsets=lag(LATE)),
        LATE,
        Cause.UNEXPLAINED,
        "Canary records arrive late on partition 0: up to 9 s (threshold 5 s). orders-0 falls behind.",
    ),
    Row(
        "a transaction that hangs holds a topic that the canary is not on",
        seen(offsets=lag(STALLED, Cause.TRANSACTION_HANGS)),
        STALLED,
        Cause.TRANSACTION_HANGS,
        SAYS[STALLED],
    ),
    # --- unknown
    Row(
        "offsets that are not written are no standstill",
        seen(offsets=lag(STALLED, Cause.MIRROR_DOWN)),
        UNKNOWN,
        Cause.OFFSETS_NOT_COMMITTING,
        "Canary records arrive, but the mirror commits no offsets. Its progress on other topics is unknown, and a"
        f" restart would replicate records again. {SAYS[STALLED]}",
    ),
    Row(
        "nor where the offsets of other partitions are",
        seen(offsets=lag(UNKNOWN, Cause.OFFSETS_NOT_COMMITTING, sentence="orders-0 reaches B.")),
        UNKNOWN,
        Cause.OFFSETS_NOT_COMMITTING,
        "Canary records arrive, but the mirror commits no offsets. Its progress on other topics is unknown,"
        " and a restart would replicate records again. orders-0 reaches B.",
    ),
    Row(
        "without a canary too",
        unprobed(lag(UNKNOWN, Cause.OFFSETS_NOT_COMMITTING, sentence="orders-0 reaches B.")),
        UNKNOWN,
        Cause.OFFSETS_NOT_COMMITTING,
        "orders-0 reaches B.",
    ),
    Row(
        "without a canary, and offsets have only now begun to stand while records come",
        unprobed(
            lag(UNKNOWN, Cause.OFFSETS_NOT_COMMITTING, sentence="orders-0 reaches B.", since_at=NOW - 29)
        ),
        UNKNOWN,
        None,
        "A->B has no canary: canary.mode is off. orders-0 reaches B.",
    ),
    Row(
        "neither canary nor offsets",
        unprobed(lag(UNKNOWN)),
        UNKNOWN,
        None,
        "A->B has no canary: canary.mode is off. The mirror's offsets are not read yet.",
    ),
    Row(
        "neither of both, because a cluster is away",
        unprobed(lag(UNKNOWN), target=cluster("B", Control.FAILING)),
        UNKNOWN,
        Cause.TARGET_DOWN,
        "A->B has no canary: canary.mode is off. The mirror's offsets are not read yet. B does not answer.",
    ),
    Row(
        "a cluster that is away while a topic on it stands",
        seen(offsets=lag(STALLED), target=cluster("B", Control.FAILING)),
        STALLED,
        Cause.TARGET_DOWN,
        f"{SAYS[STALLED]} Control probes fail on B too.",
    ),
    Row(
        "a topic was made anew, and there is no canary",
        unprobed(lag(UNKNOWN, Cause.TOPIC_RECREATED, sentence="orders was made anew.")),
        UNKNOWN,
        Cause.TOPIC_RECREATED,
        "A->B has no canary: canary.mode is off. orders was made anew.",
    ),
    Row(
        "a canary that waits is not well because offsets are",
        seen(offsets=lag(), state=CanaryState.WAITING, sentence="the topic is not there yet"),
        UNKNOWN,
        None,
        "No canary records are sent: the topic is not there yet.",
    ),
    # --- healthy
    Row("both are well", seen(offsets=lag()), HEALTHY, None, WELL),
    Row("offsets are not known", seen(offsets=lag(UNKNOWN)), HEALTHY, None, WELL),
    Row(
        "a topic was made anew under a mirror that runs",
        seen(offsets=lag(UNKNOWN, Cause.TOPIC_RECREATED)),
        HEALTHY,
        None,
        WELL,
    ),
    Row(
        "without a canary, well by offsets",
        unprobed(lag()),
        HEALTHY,
        None,
        "6 partitions move or have nothing to copy. There is no canary: canary.mode is off.",
    ),
    Row(
        "what stands by offsets is the canary's own topic, whose probes arrive",
        seen(offsets=lag(STALLED, standing=(CANARY,), since_at=NOW - 20)),
        HEALTHY,
        None,
        WELL,
    ),
    Row(
        "after a standstill probes come at once, and offsets with the next that are written",
        seen(moving(0, late_age_s=20.0), offsets=lag(STALLED, Cause.MIRROR_DOWN)),
        HEALTHY,
        None,
        WELL,
    ),
    Row(
        "so it is where offsets are only seen to be behind",
        seen(offsets=lag(UNKNOWN, Cause.OFFSETS_NOT_COMMITTING, since_at=NOW - 29)),
        HEALTHY,
        None,
        WELL,
    ),
    Row(
        "what was deleted more than a quarter of an hour ago holds no more",
        seen(offsets=lag(findings=[deleted(ago_s=HOLD_S + 1)])),
        HEALTHY,
        None,
        WELL,
    ),
)


@pytest.mark.parametrize("entry", ROWS, ids=lambda entry: entry.name)
def test_the_table(entry):
    judgement = judge(entry.evidence, now_at=NOW)
    assert (judgement.verdict, judgement.cause) == (entry.verdict, entry.cause)
    assert judgement.sentence == entry.sentence


LAG_IN_ORDER = (
    (lag(findings=[deleted()]), LOSING),
    (lag(findings=[deleted(verdict=Verdict.ALTERED, cause=Cause.RETIMED)]), Verdict.ALTERED),
    (lag(STALLED), STALLED),
    (lag(REPEATING), REPEATING),
    (lag(LATE), LATE),
    (lag(UNKNOWN, Cause.OFFSETS_NOT_COMMITTING), UNKNOWN),
    (lag(), HEALTHY),
)
CANARY_IN_ORDER = (
    (flow(findings=(finding(LOST),)), LOSING),
    (flow(findings=(finding(FindingKind.ALTERED),)), Verdict.ALTERED),
    (flow(*ALL_STAND), STALLED),
    (flow(findings=(finding(FindingKind.LOOPED),)), REPEATING),
    (flow(moving(0, latency_s=9.0)), LATE),
    (flow(impaired="it is blind"), UNKNOWN),
    (flow(), HEALTHY),
)


@pytest.mark.parametrize(("offsets", "by_offsets"), LAG_IN_ORDER)
@pytest.mark.parametrize(("evidence", "by_canary"), CANARY_IN_ORDER)
def test_the_worse_of_both_is_told(evidence, by_canary, offsets, by_offsets):
    told = judge(replace(evidence, lag=offsets), now_at=NOW).verdict
    assert told is min(by_canary, by_offsets, key=lambda verdict: verdict.severity)


def test_a_mirror_that_comes_back_task_by_task_was_down_and_nothing_of_it_is_stuck():
    told, causes = None, []
    for second in range(101):  # it stops at 0, copies other topics from 95 on, and the canary's from 98 on
        now_at = NOW + second
        moved = (NOW - 1.0, *(NOW + at for at in range(95, second + 1)))
        waits = [standing(0, float(second)) if 0 < second < 98 else moving(0, late_age_s=1.0)]
        both_well = {side: replace(cluster(side), last_ok_at=now_at - 0.5) for side in "AB"}
        evidence = seen(*waits, offsets=lag(moved=moved), source=both_well["A"], target=both_well["B"])
        told = follow(told, evidence, now_at=now_at)
        causes.append(told.cause)
    assert list(dict.fromkeys(causes)) == [None, Cause.MIRROR_DOWN]
    assert (causes[97], told.verdict) == (Cause.MIRROR_DOWN, HEALTHY)


def test_evidence_of_both_is_shown_where_both_see_a_standstill():
    judgement = judge(seen(*ALL_STAND, offsets=lag(STALLED, Cause.MIRROR_DOWN)), now_at=NOW)
    assert [one.part for one in judgement.evidence] == ["canary"] * 4 + ["lag"]
    assert judgement.evidence[-1] == row()


def test_what_was_deleted_is_shown_by_partition_and_bounded():
    many = [deleted(partition=number, ago_s=number) for number in range(40)]
    judgement = judge(unprobed(lag(findings=many)), now_at=NOW)
    assert [(one.part, one.partition, one.source_offset) for one in judgement.evidence] == [
        ("lag", number, 1001) for number in range(MAX_ROWS)
    ]
    assert "4,920 records (123 of orders-39, 123 of orders-38," in judgement.sentence
    assert "and 35 more)" in judgement.sentence


def test_several_losses_of_one_partition_are_counted_together():
    twice = [deleted(ago_s=60), deleted(first=2000, last=2009)]
    assert "133 records (133 of orders-0)" in judge(unprobed(lag(findings=twice)), now_at=NOW).sentence


def test_what_is_not_counted_is_told_as_the_least():
    some = [deleted(), deleted(topic="payments", partition=None, records=None)]
    assert (
        "at least 123 records (123 of orders-0, payments)"
        in judge(unprobed(lag(findings=some)), now_at=NOW).sentence
    )


def test_losses_of_several_causes_are_told_each_with_its_own():
    dropped = deleted(
        topic="Payments", last=1002, cause=Cause.FILTERED, sentence="2 of Payments-0 are left out"
    )
    some = [deleted(ago_s=300), deleted(ago_s=200, partition=1), dropped]
    told = judge(seen(offsets=lag(findings=some)), now_at=NOW)
    assert told.cause is Cause.FILTERED
    assert told.sentence == (
        "By offsets, 248 records are lost between A and B. 2 of Payments-0 are left out. 246 records (123"
        " of orders-0, 123 of orders-1): the log on A starts after them, so they were deleted before they"
        " were read."
    )


def test_where_more_was_found_than_is_listed_the_count_is_the_least():
    told = judge(seen(offsets=lag(findings=BOTH_WAYS, more_found=True)), now_at=NOW)
    assert told.sentence.startswith(
        "By offsets, at least 124 records (123 of orders-0, 1 of payments-3) are lost"
    )


def test_a_sum_has_no_upper_bound_where_one_of_its_parts_has_none():
    both = (deleted(records_most=None), deleted(topic="payments", first=1, last=1))
    assert judge(unprobed(lag(findings=both)), now_at=NOW).sentence.startswith(
        "By offsets, at least 124 records (at least 123 of orders-0, 1 of payments-0) are lost"
    )
    assert lost_records(lag(findings=both), NOW, without="") == (124, None)


@pytest.mark.parametrize(
    ("verdict", "ago_s", "expected"),
    [
        (HEALTHY, HOLD_S, (123, 123)),
        (HEALTHY, HOLD_S + 1, (0, 0)),
        (UNKNOWN, HOLD_S, (123, 123)),
        (UNKNOWN, HOLD_S + 1, (0, None)),
    ],
)
def test_without_a_current_verdict_nothing_shows_that_no_records_are_lost(verdict, ago_s, expected):
    assert lost_records(lag(verdict, findings=[deleted(ago_s=ago_s)]), NOW, without="") == expected


def test_a_sum_has_the_bounds_of_its_parts():
    both = (deleted(records_most=200), deleted(topic="payments", first=1, last=1))
    told = judge(seen(offsets=lag(findings=both)), now_at=NOW)
    assert told.sentence.startswith(
        "By offsets, between 124 and 201 records (between 123 and 200 of orders-0, 1 of payments-0) are lost"
    )


@pytest.mark.parametrize("control", Control)
def test_where_offsets_are_not_watched_a_flow_without_a_canary_has_no_cause_whatever_a_cluster_does(control):
    away = unprobed(None, source=cluster("A", control), target=cluster("B", control))
    told = judge(away, now_at=NOW)
    assert (told.verdict, told.cause) == (UNKNOWN, None)
    assert told.sentence == "A->B has no canary: canary.mode is off."


@pytest.mark.parametrize("evidence", [seen(*ALL_STAND, offsets=lag(findings=[deleted()]))])
def test_beside_what_offsets_show_to_be_lost_stands_how_the_flow_is_now(evidence):
    told = follow(None, evidence, now_at=NOW)
    assert (told.verdict, told.cause) == (LOSING, Cause.OVERTAKEN)
    assert told.also is not None
    assert (told.also.verdict, told.also.cause) == (STALLED, Cause.MIRROR_DOWN)
    assert STALLED in told.conditions


def test_nothing_stands_beside_it_where_all_is_well_again():
    for evidence in (seen(offsets=lag(findings=[deleted()])), unprobed(lag(findings=[deleted()]))):
        assert beside(evidence, judge(evidence, now_at=NOW), now_at=NOW) is None


def test_a_standstill_by_offsets_stands_beside_what_the_canary_lost_a_while_ago():
    told = follow(None, seen(offsets=lag(STALLED), findings=(finding(LOST, ago_s=80),)), now_at=NOW)
    assert told.also is not None
    assert (told.also.verdict, told.also.cause) == (STALLED, Cause.TASK_STUCK)
    assert [one.part for one in told.evidence] == ["canary", "lag"]


def test_both_parts_have_their_sentence():
    assert dict(follow(None, seen(offsets=lag()), now_at=NOW).parts) == {
        "canary": "Canary records arrive on 4 of 4 partitions.",
        "lag": SAYS[HEALTHY],
    }


def test_of_a_partition_that_stands_for_the_canary_offsets_make_it_no_worse_and_no_better():
    partly = (standing(0), *(moving(number) for number in range(1, 4)))
    alone = judge(flow(*partly), now_at=NOW)
    both = judge(seen(*partly, offsets=lag(STALLED, Cause.MIRROR_DOWN)), now_at=NOW)
    assert (alone.verdict, alone.cause, alone.sentence) == (both.verdict, both.cause, both.sentence)


@pytest.mark.parametrize(
    ("offsets", "quiet"),
    [
        (None, True),
        (lag(), True),
        (lag(UNKNOWN), True),
        (lag(UNKNOWN, Cause.TOPIC_RECREATED), True),
        (lag(UNKNOWN, Cause.OFFSETS_NOT_COMMITTING), False),
        (lag(STALLED), False),
        (lag(LATE), False),
        (lag(findings=[deleted()]), False),
        (lag(findings=[deleted(ago_s=HOLD_S + 1)]), True),
    ],
)
def test_what_is_quiet_leaves_a_flow_that_is_plainly_well_as_it_is(offsets, quiet):
    assert is_quiet(offsets, NOW) is quiet
    if quiet:
        assert judge(seen(offsets=offsets), now_at=NOW) == judge(flow(), now_at=NOW)


def test_what_came_again_is_told_once_with_its_number_where_both_say_it():
    again = deleted(
        first=300, last=304, cause=Cause.DUPLICATING, verdict=Verdict.REPEATING, sentence="5 again."
    )
    of_verdict = replace(again, records=None, sentence="It went back.")
    told = judge(unprobed(lag(findings=[again, of_verdict])), now_at=NOW)
    assert (told.verdict, told.cause, told.sentence) == (Verdict.REPEATING, Cause.DUPLICATING, "5 again.")
    alone = judge(unprobed(lag(findings=[of_verdict])), now_at=NOW)
    assert alone.sentence == "It went back."


@pytest.mark.parametrize("sentence", ["So.", "So. (2 more such findings are listed.)", "So. (Really?)"])
def test_a_sentence_that_is_ended_gets_no_second_full_stop(sentence):
    assert ended(sentence) == sentence
    assert ended(f"{sentence} And (so)") == f"{sentence} And (so)."


def test_the_rows_of_the_cause_come_first():
    made_anew = {"cause": Cause.TOPIC_RECREATED, "topic": "users"}
    offsets = lag(findings=[deleted(ago_s=3), deleted(ago_s=2, **made_anew), deleted(ago_s=1)])
    found = judge(unprobed(offsets), now_at=NOW)
    assert found.cause is Cause.OVERTAKEN
    assert [one.topic for one in found.evidence] == ["orders", "orders", "users"]
    assert lost_records(offsets, NOW, without="") == (3 * 123, 3 * 123)
    assert lost_records(offsets, NOW, without="orders") == (123, 123)


def test_where_offsets_know_the_cause_their_rows_come_first():
    probe, told = row("mirrorwatch-canary"), row()
    mirror = Judgement(Verdict.STALLED, Cause.TASK_FAILED, "Task 0 has failed.", (told,))
    canary = Judgement(Verdict.STALLED, Cause.TASK_STUCK, "Nothing comes.", (probe,))
    assert joined(canary, mirror, cause=Cause.TASK_FAILED).evidence == (told, probe)
    assert joined(canary, mirror).evidence == (probe, told)


def test_what_stands_beside_a_loss_is_told_in_one_sentence():
    standing = lag(
        Verdict.STALLED, findings=[deleted()], sentence="orders stands. users stands. 3 more wait."
    )
    found = follow(None, unprobed(standing), now_at=NOW)
    assert (found.verdict, found.also.verdict) == (Verdict.LOSING, Verdict.STALLED)
    assert found.also.sentence == "orders stands."
    assert found.evidence == (*found.evidence[:1], row())


def test_a_permission_that_is_missing_pages_nobody_and_is_not_passed_over_in_silence():
    why = "Lag of 2 partitions of topic orders is unknown: no READ permission on topic orders on A."
    blind = lag(Verdict.UNKNOWN, unread=why)
    with_canary = judge(seen(offsets=blind), now_at=NOW)
    assert (with_canary.verdict, with_canary.cause) == (Verdict.HEALTHY, None)
    assert with_canary.sentence.endswith(f". {why}")
    assert judge(unprobed(blind), now_at=NOW).verdict is Verdict.UNKNOWN
    assert why not in judge(seen(offsets=lag(Verdict.UNKNOWN)), now_at=NOW).sentence
    calm = Calm("A->B", 5.0, 3, 0.1)
    assert follow_calm(None, calm, now_at=NOW, lag=blind).sentence.endswith(f". {why}")
