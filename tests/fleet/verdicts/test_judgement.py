"""The rule table: evidence in; verdict, cause and the exact sentence out."""

from dataclasses import dataclass, replace

import pytest

from fleet.verdicts.evidence import (
    CanaryEvidence,
    CanaryState,
    ClusterEvidence,
    Control,
    Finding,
    FindingKind,
    FlowEvidence,
    PartitionEvidence,
    TaskEvidence,
    TopicEvidence,
)
from fleet.verdicts.judgement import HOLD_CAUSE_S, follow, judge
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.verdicts.words import HOLD_S, MAX_ROWS

NOW = 10_000.0
SAYS_NO = "cluster B at b1:9092: producing to __mirrorwatch-control failed: the connection is refused"

REFUSES = "A.mirrorwatch-canary on B takes no more than 200 bytes at once. Raise max.message.bytes."

# What this version has no evidence for: each belongs to a part that does not exist yet.
LATER = {
    Cause.THROTTLED: "quotas of the mirror's clients",
}


def cluster(alias, control=Control.OK, *, ok_s=0.5, failed_s=None, sentence=""):
    return ClusterEvidence(
        alias,
        control,
        sentence or (SAYS_NO if control is Control.FAILING else ""),
        since_at=NOW - 60,
        last_ok_at=None if ok_s is None else NOW - ok_s,
        last_failed_at=None if failed_s is None else NOW - failed_s,
    )


def moving(number, **more):
    found = PartitionEvidence(
        partition=number,
        carried=True,
        pending_age_s=0.02,
        pending_offset=99,
        unacked_age_s=None,
        arrival_age_s=0.8,
        latency_s=0.04,
        present_age_s=0.84,
    )
    return replace(found, **more)


def standing(number, age_s=6.0, **more):
    return (
        moving(
            number,
            pending_age_s=age_s,
            arrival_age_s=age_s + 0.9,
            present_age_s=age_s + 1.0,
            pending_offset=7,
        )
        if not more
        else replace(standing(number, age_s), **more)
    )


def fresh(number, **more):
    """A partition that was never carried and has nothing that counts."""
    return (
        PartitionEvidence(number, False, None, None, None, None, None, None)
        if not more
        else replace(fresh(number), **more)
    )


def finding(kind, *, ago_s=3.0, partition=0, count=1, sentence="it is gone", overtaken=False):
    return Finding(kind, NOW - ago_s, "mirrorwatch-canary", partition, 40, None, sentence, count, overtaken)


def nameless(**said):
    """A changed copy that does not tell which probe it was."""
    return replace(finding(FindingKind.ALTERED, **said), named=False)


def flow(*partitions, source=None, target=None, topic=None, exactly_once=False, **canary):
    names = {"source_topic": "mirrorwatch-canary", "target_topic": "A.mirrorwatch-canary"}
    seen = {"target_exists": True, "source_partitions": 4, "target_partitions": 4}
    said = {
        "state": CanaryState.RUNNING,
        "sentence": "",
        "threshold_s": 5.0,
        "interval_s": 1.0,
        "horizon_s": 60.0,
        "partitions": partitions or tuple(moving(number) for number in range(4)),
    }
    return FlowEvidence(
        flow="A->B",
        source=source or cluster("A"),
        target=target or cluster("B"),
        canary=CanaryEvidence(**(said | canary)),
        topic=TopicEvidence(**(names | seen | (topic or {}))),
        exactly_once=exactly_once,
    )


def repeated(*instants_ago, partition=0):
    return tuple(
        finding(
            FindingKind.DUPLICATED, ago_s=ago, partition=partition, sentence="a copy of it had arrived before"
        )
        for ago in sorted(instants_ago, reverse=True)
    )


@dataclass(frozen=True)
class Row:
    name: str
    evidence: FlowEvidence
    verdict: Verdict
    cause: Cause | None
    sentence: str


def source_task(number, *partitions):
    return TaskEvidence(f"MirrorSourceConnector-{number}", partitions)


ALL_STAND = tuple(standing(number, 6.0 - number / 4) for number in range(4))
LOST = FindingKind.LOST

ROWS = (
    # --- losing
    Row(
        "filtered",
        flow(findings=(finding(LOST),)),
        Verdict.LOSING,
        Cause.FILTERED,
        "1 canary record lost (partition 0): newer ones arrived, so the mirror drops records, as by a"
        " transform or errors.tolerance=all.",
    ),
    Row(
        "filtered in several partitions",
        flow(findings=(finding(LOST, count=3), finding(LOST, partition=2))),
        Verdict.LOSING,
        Cause.FILTERED,
        "4 canary records lost (partitions 0 and 2): newer ones arrived, so the mirror drops records, as by"
        " a transform or errors.tolerance=all.",
    ),
    Row(
        "overtaken",
        flow(findings=(finding(LOST, count=40, overtaken=True),)),
        Verdict.LOSING,
        Cause.OVERTAKEN,
        "40 canary records lost (partition 0): the log on A starts after them, so they were deleted before"
        " the mirror read them.",
    ),
    Row(
        "one overtaken",
        flow(findings=(finding(LOST, overtaken=True),)),
        Verdict.LOSING,
        Cause.OVERTAKEN,
        "1 canary record lost (partition 0): the log on A starts after it, so it was deleted before the"
        " mirror read it.",
    ),
    Row(
        "the newest loss says why",
        flow(findings=(finding(LOST, ago_s=600, count=40, overtaken=True), finding(LOST, ago_s=5))),
        Verdict.LOSING,
        Cause.FILTERED,
        "41 canary records lost (partition 0): newer ones arrived, so the mirror drops records, as by a"
        " transform or errors.tolerance=all.",
    ),
    Row(
        "lost with the topic on the target",
        flow(findings=(finding(LOST, ago_s=20),), topic={"target_recreated_at": NOW - 22}),
        Verdict.LOSING,
        Cause.TOPIC_RECREATED,
        "1 canary record lost (partition 0): the topic was re-created on B. The last was found 20 s ago.",
    ),
    Row(
        "lost long before the topic was re-created",
        flow(findings=(finding(LOST, ago_s=600),), topic={"source_recreated_at": NOW - 22}),
        Verdict.LOSING,
        Cause.FILTERED,
        "1 canary record lost (partition 0): newer ones arrived, so the mirror dropped records, as by a"
        " transform or errors.tolerance=all. The last was found 10 min ago.",
    ),
    Row(
        "misrouted",
        flow(findings=(finding(FindingKind.MISROUTED, partition=3),)),
        Verdict.LOSING,
        Cause.MISROUTED,
        "1 canary record misrouted, found in partition 3 of A.mirrorwatch-canary on B: the mirror routes"
        " records elsewhere, as by a transform.",
    ),
    Row(
        "misrouted, counted apart from the lost",
        flow(findings=(finding(LOST, count=9), finding(FindingKind.MISROUTED, partition=3, count=2))),
        Verdict.LOSING,
        Cause.MISROUTED,
        "2 canary records misrouted, found in partition 3 of A.mirrorwatch-canary on B: the mirror routes"
        " records elsewhere, as by a transform.",
    ),
    Row(
        "the target's topic takes no record as large as a probe, and the mirror goes past them",
        flow(findings=(finding(LOST, count=3),), topic={"target_refuses": REFUSES, "target_refused_at": NOW}),
        Verdict.LOSING,
        Cause.RECORD_REJECTED,
        "3 canary records lost (partition 0): A.mirrorwatch-canary on B takes no more than 200 bytes at"
        " once. Raise max.message.bytes.",
    ),
    Row(
        "it took none until a moment ago",
        flow(findings=(finding(LOST, count=3),), topic={"target_refused_at": NOW - 40}),
        Verdict.LOSING,
        Cause.RECORD_REJECTED,
        "3 canary records lost (partition 0): A.mirrorwatch-canary on B rejected such records until a"
        " moment ago.",
    ),
    Row(
        "that it took none long ago explains no loss of now",
        flow(findings=(finding(LOST, ago_s=1),), topic={"target_refused_at": NOW - 90}),
        Verdict.LOSING,
        Cause.FILTERED,
        "1 canary record lost (partition 0): newer ones arrived, so the mirror drops records, as by a"
        " transform or errors.tolerance=all.",
    ),
    Row(
        "that it takes none since shortly after a loss was proved may explain it",
        flow(
            findings=(finding(LOST, ago_s=30),),
            topic={
                "target_refuses": REFUSES,
                "target_refused_since": NOW - 22.5,
                "target_refused_at": NOW,
                "settings_within_s": 7.5,
            },
        ),
        Verdict.LOSING,
        Cause.RECORD_REJECTED,
        "1 canary record lost (partition 0): A.mirrorwatch-canary on B takes no more than 200 bytes at"
        " once. Raise max.message.bytes. The last was found 30 s ago.",
    ),
    Row(
        "that it takes none now, and did not refuse any then, explains no loss of a while ago",
        flow(
            findings=(finding(LOST, ago_s=30),),
            topic={
                "target_refuses": REFUSES,
                "target_refused_since": NOW - 22,
                "target_refused_at": NOW,
                "settings_within_s": 7.5,
            },
        ),
        Verdict.LOSING,
        Cause.FILTERED,
        "1 canary record lost (partition 0): newer ones arrived, so the mirror dropped records, as by a"
        " transform or errors.tolerance=all. The last was found 30 s ago.",
    ),
    Row(
        "misrouted a while ago",
        flow(findings=(finding(FindingKind.MISROUTED, partition=3, ago_s=80),)),
        Verdict.LOSING,
        Cause.MISROUTED,
        "1 canary record misrouted, found in partition 3 of A.mirrorwatch-canary on B: the mirror routed"
        " records elsewhere, as by a transform. The last was found 1 min 20 s ago.",
    ),
    # --- altered
    Row(
        "a transform alters every record: nothing intact ever arrives",
        flow(
            *(fresh(number, carried=True) for number in range(4)),
            findings=(
                finding(
                    FindingKind.ALTERED, ago_s=2, count=4, sentence="the value is not the one that was sent"
                ),
                finding(FindingKind.ALTERED, ago_s=1, count=4, sentence="the key is missing"),
            ),
        ),
        Verdict.ALTERED,
        Cause.TRANSFORMED,
        "8 canary records changed on B. In the newest, the key is missing. Look for a transform, or for a"
        " converter other than ByteArrayConverter.",
    ),
    Row(
        "altered, and what is past its threshold is no stall of its own",
        flow(*ALL_STAND, findings=(finding(FindingKind.ALTERED, sentence="the key is missing"),)),
        Verdict.ALTERED,
        Cause.TRANSFORMED,
        "1 canary record changed on B. In it, the key is missing. Look for a transform, or for a converter"
        " other than ByteArrayConverter.",
    ),
    Row(
        "a converter leaves nothing by which a probe could be told, and none arrives any more",
        flow(
            standing(0, 3.0),
            standing(1, 3.0),
            findings=tuple(nameless(ago_s=ago, partition=ago % 2) for ago in (2, 1)),
        ),
        Verdict.ALTERED,
        Cause.TRANSFORMED,
        "2 canary records changed on B. In the newest, it is gone. Look for a transform, or for a converter"
        " other than ByteArrayConverter.",
    ),
    Row(
        "a flood of what looks like one holds a probe up for two seconds",
        flow(
            moving(0, pending_age_s=2.4, arrival_age_s=2.9, present_age_s=2.9),
            moving(1),
            findings=(nameless(ago_s=2.0, count=9000),),
        ),
        Verdict.HEALTHY,
        None,
        "Canary records arrive within 5 s; the newest took at most 0.04 s.",
    ),
    Row(
        "such copies, and the probes lost that they stand for",
        flow(findings=(nameless(ago_s=20, count=2), finding(LOST, ago_s=18, count=2))),
        Verdict.ALTERED,
        Cause.TRANSFORMED,
        "2 canary records changed on B. In the newest, it is gone. Look for a transform, or for a converter"
        " other than ByteArrayConverter. The last was found 20 s ago.",
    ),
    Row(
        "more probes lost than such copies came",
        flow(findings=(nameless(ago_s=20, count=2), finding(LOST, ago_s=18, count=5))),
        Verdict.LOSING,
        Cause.FILTERED,
        "3 canary records lost (partition 0): newer ones arrived, so the mirror dropped records, as by a"
        " transform or errors.tolerance=all. The last was found 18 s ago.",
    ),
    Row(
        "another program writes what looks like one into the target's topic, and every probe comes",
        flow(findings=(nameless(ago_s=5, count=400), nameless(ago_s=1, partition=1, count=300))),
        Verdict.HEALTHY,
        None,
        "Canary records arrive within 5 s; the newest took at most 0.04 s.",
    ),
    # --- what came back and ended
    Row(
        "a loop a while ago",
        flow(findings=(finding(FindingKind.LOOPED, ago_s=6),)),
        Verdict.REPEATING,
        Cause.LOOPING,
        "Canary records return to A, where they were sent: the mirrors form a loop and keep topic names."
        " Exclude the topics from one of these mirrors, or use DefaultReplicationPolicy for all of them."
        " The last was found 6 s ago.",
    ),
    # --- stalled
    Row(
        "the mirror stands",
        flow(*ALL_STAND),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 6.15 s on any partition: both clusters are up, so the mirror is"
        " down or hangs.",
    ),
    Row(
        "the mirror stands again, less than a horizon after it let late ones through",
        flow(*(standing(number, late_age_s=20.0) for number in range(4))),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 6.9 s on any partition: both clusters are up, so the mirror is"
        " down or hangs, or is throttled by a quota.",
    ),
    Row(
        "late ones came long before the mirror stood",
        flow(*(standing(number, late_age_s=60.1) for number in range(4))),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 6.9 s on any partition: both clusters are up, so the mirror is"
        " down or hangs.",
    ),
    Row(
        "the mirror stands, as the first partition shows",
        flow(standing(0, 5.1), *(moving(n, pending_age_s=5.1 - n / 4, arrival_age_s=5.9) for n in (1, 2, 3))),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 6 s on partition 0: both clusters are up, so the mirror is down"
        " or hangs.",
    ),
    Row(
        "the target's topic takes no record as large as a probe, and the mirror's tasks stand",
        flow(*ALL_STAND, topic={"target_refuses": REFUSES, "target_refused_at": NOW}),
        Verdict.STALLED,
        Cause.RECORD_REJECTED,
        "No canary records replicated for 6.15 s on any partition: A.mirrorwatch-canary on B takes no more"
        " than 200 bytes at once. Raise max.message.bytes.",
    ),
    Row(
        "the target's topic refused what waits until a moment ago",
        replace(flow(*ALL_STAND, topic={"target_refused_at": NOW - 4}), heartbeats_s=(2.5, 4.5, 6.5)),
        Verdict.STALLED,
        Cause.RECORD_REJECTED,
        "No canary records replicated for 6.15 s on any partition: A.mirrorwatch-canary on B rejected such"
        " records until 4 s ago, and the mirror has not recovered yet.",
    ),
    Row(
        "that it refused some before those that wait were due explains nothing",
        flow(*ALL_STAND, topic={"target_refused_at": NOW - 6.1}),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 6.15 s on any partition: both clusters are up, so the mirror is"
        " down or hangs.",
    ),
    Row(
        "the mirror runs, as its heartbeats show, and carries this topic no more",
        replace(flow(*ALL_STAND), heartbeats_s=(2.5, 4.5, 6.5)),
        Verdict.STALLED,
        Cause.NOT_MIRRORED,
        "No canary records replicated for 6.15 s on any partition: the mirror runs, as its heartbeats"
        " arrive on B, but no record of mirrorwatch-canary does; the mirror excludes the topic, drops all"
        " its records, or the tasks of the topic hang.",
    ),
    Row(
        "the mirror runs, and the settings of the target's topic were not read again yet",
        replace(flow(*ALL_STAND, topic={"settings_within_s": 7.5}), heartbeats_s=(2.5, 4.5, 6.5)),
        Verdict.STALLED,
        Cause.UNEXPLAINED,
        "No canary records replicated for 6.15 s on any partition: the mirror runs, as its heartbeats"
        " arrive on B, but no record of mirrorwatch-canary does; the next poll of settings shows whether"
        " A.mirrorwatch-canary accepts them.",
    ),
    Row(
        "one lot of heartbeats since may be a backlog that was let go at once",
        replace(flow(*ALL_STAND), heartbeats_s=(2.5, 5.1, 7.1)),
        Verdict.STALLED,
        Cause.UNEXPLAINED,
        "No canary records replicated for 6.15 s on any partition: one heartbeat of the mirror arrived on B"
        " since, and the next ones show whether it runs.",
    ),
    Row(
        "the first lot that was ever read",
        replace(flow(*ALL_STAND), heartbeats_s=(2.5,)),
        Verdict.STALLED,
        Cause.UNEXPLAINED,
        "No canary records replicated for 6.15 s on any partition: one heartbeat of the mirror arrived on B"
        " since, and the next ones show whether it runs.",
    ),
    Row(
        "heartbeats came until the probes that wait should have been through",
        replace(flow(*ALL_STAND), heartbeats_s=(5.1, 7.1, 9.1)),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 6.15 s on any partition: both clusters are up, so the mirror is"
        " down or hangs.",
    ),
    Row(
        "no heartbeats for longer than they ever were apart",
        replace(flow(*(standing(number, 20.0) for number in range(4))), heartbeats_s=(6.1, 8.1, 10.1)),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 21 s on any partition: both clusters are up, so the mirror is"
        " down or hangs.",
    ),
    Row(
        "heartbeats went on into the stall and have stopped since",
        replace(flow(*(standing(number, 60.0) for number in range(4))), heartbeats_s=(20.0, 22.0, 24.0)),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 1 min 1 s on any partition: both clusters are up, so the mirror"
        " is down or hangs.",
    ),
    Row(
        "heartbeats every half minute only: two came since",
        replace(flow(*(standing(number, 60.0) for number in range(4))), heartbeats_s=(20.0, 50.0, 80.0)),
        Verdict.STALLED,
        Cause.NOT_MIRRORED,
        "No canary records replicated for 1 min 1 s on any partition: the mirror runs, as its heartbeats"
        " arrive on B, but no record of mirrorwatch-canary does; the mirror excludes the topic, drops all"
        " its records, or the tasks of the topic hang.",
    ),
    Row(
        "after a long silence a backlog of heartbeats was let go, and then none came",
        replace(flow(*(standing(number, 60.0) for number in range(4))), heartbeats_s=(7.0, 67.0, 69.0)),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 1 min 1 s on any partition: both clusters are up, so the mirror"
        " is down or hangs.",
    ),
    Row(
        "a probe came back, and no more are sent until a person says so",
        flow(state=CanaryState.LATCHED, sentence="No probes of A->B are sent: one came back to A"),
        Verdict.REPEATING,
        Cause.LOOPING,
        "No probes of A->B are sent: one came back to A.",
    ),
    Row(
        "the target does not answer",
        flow(*ALL_STAND, target=cluster("B", Control.FAILING)),
        Verdict.STALLED,
        Cause.TARGET_DOWN,
        "No canary records replicated for 6.15 s on any partition: control probes fail on B too.",
    ),
    Row(
        "the target does not answer, and the source has become slow since",
        flow(
            *ALL_STAND,
            source=replace(cluster("A", Control.FAILING), since_at=NOW - 1.2),
            target=cluster("B", Control.FAILING),
        ),
        Verdict.STALLED,
        Cause.TARGET_DOWN,
        "No canary records replicated for 6.15 s on any partition: control probes fail on A and on B.",
    ),
    Row(
        "both were away, and the target was back last",
        flow(
            *ALL_STAND,
            source=cluster("A", ok_s=0.3, failed_s=4.0),
            target=cluster("B", ok_s=0.3, failed_s=2.0),
        ),
        Verdict.STALLED,
        Cause.TARGET_DOWN,
        "No canary records replicated for 6.15 s on any partition: B was down until 2 s ago, and the mirror"
        " has not recovered yet.",
    ),
    Row(
        "a broker of the target down",
        flow(moving(0), moving(1), standing(2), target=cluster("B", Control.FAILING, failed_s=1.0)),
        Verdict.STALLED,
        Cause.TARGET_DOWN,
        "No canary records replicated for 6.9 s on partition 2: control probes fail on B too, but newer"
        " canary records arrived on partitions 0 and 1, so only some brokers of B are down.",
    ),
    Row(
        "a broker of the source down",
        flow(
            moving(0),
            fresh(1, carried=True, unacked_age_s=6.0, arrival_age_s=7.0, present_age_s=7.1),
            source=cluster("A", Control.FAILING, failed_s=1.0),
        ),
        Verdict.STALLED,
        Cause.SOURCE_DOWN,
        "No canary records replicated for 7 s on partition 1: control probes fail on A too, but newer"
        " canary records arrived on partition 0, so only some brokers of A are down.",
    ),
    Row(
        "the source does not answer, and what was sent is not acknowledged",
        flow(
            *(moving(n, pending_age_s=None, unacked_age_s=6.0, arrival_age_s=7.0) for n in range(2)),
            source=cluster("A", Control.FAILING),
        ),
        Verdict.STALLED,
        Cause.SOURCE_DOWN,
        "No canary records replicated for 7 s on any partition: control probes fail on A too.",
    ),
    Row(
        "neither cluster answers",
        flow(*ALL_STAND, source=cluster("A", Control.FAILING), target=cluster("B", Control.FAILING)),
        Verdict.STALLED,
        Cause.SOURCE_DOWN,
        "No canary records replicated for 6.15 s on any partition: control probes fail on A and on B.",
    ),
    Row(
        "the target fell together with the flow, and its control probe has not failed yet",
        flow(*ALL_STAND, target=cluster("B", ok_s=6.01)),
        Verdict.STALLED,
        Cause.UNEXPLAINED,
        "No canary records replicated for 6.15 s on any partition: the next control probe shows whether the"
        " fault is on B or in the mirror.",
    ),
    Row(
        "a short threshold: the flow stands before any control probe could fail",
        flow(standing(0, 0.6), threshold_s=0.5, target=cluster("B", ok_s=0.4)),
        Verdict.STALLED,
        Cause.UNEXPLAINED,
        "No canary records replicated for 1.5 s on partition 0: the next control probe shows whether the"
        " fault is on B or in the mirror.",
    ),
    Row(
        "the target is back, the mirror not yet",
        flow(*ALL_STAND, target=cluster("B", failed_s=4.0)),
        Verdict.STALLED,
        Cause.TARGET_DOWN,
        "No canary records replicated for 6.15 s on any partition: B was down until 4 s ago, and the mirror"
        " has not recovered yet.",
    ),
    Row(
        "the target has been back for long, and the mirror still stands",
        flow(*(standing(n, 90.0) for n in range(4)), target=cluster("B", failed_s=40.0)),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 1 min 31 s on any partition: both clusters are up, so the mirror"
        " is down or hangs.",
    ),
    Row(
        "a failure of the target before the stall says nothing about it",
        flow(*ALL_STAND, target=cluster("B", failed_s=20.0)),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 6.15 s on any partition: both clusters are up, so the mirror is"
        " down or hangs.",
    ),
    Row(
        "no control probe on the source",
        flow(*ALL_STAND, source=cluster("A", Control.UNKNOWN, ok_s=None, sentence="the topic is missing")),
        Verdict.STALLED,
        Cause.UNEXPLAINED,
        "No canary records replicated for 6.15 s on any partition: A has no control probe, so the fault may"
        " be there or in the mirror.",
    ),
    Row(
        "one task stands",
        flow(standing(0), moving(1), standing(2), moving(3)),
        Verdict.STALLED,
        Cause.TASK_STUCK,
        "No canary records replicated for 6.9 s on partitions 0 and 2: newer ones arrived on other"
        " partitions, so a task of the mirror hangs or is throttled by a quota.",
    ),
    Row(
        "the mirror's own record names the task",
        replace(
            flow(standing(0), moving(1), standing(2), moving(3)),
            tasks=(source_task(0, 1, 3), source_task(1, 0, 2, 4)),
        ),
        Verdict.STALLED,
        Cause.TASK_STUCK,
        "No canary records replicated for 6.9 s on partitions 0 and 2: newer ones arrived on other"
        " partitions, so task MirrorSourceConnector-1 (partitions 0, 2 and 4) hangs or is throttled by a"
        " quota.",
    ),
    Row(
        "several tasks are named, as far as there is room",
        replace(
            flow(standing(0), standing(1), standing(2), standing(3), standing(5), moving(4)),
            tasks=(*(source_task(number, number) for number in range(5)), source_task(5, 5)),
        ),
        Verdict.STALLED,
        Cause.TASK_STUCK,
        "No canary records replicated for 6.9 s on partitions 0, 1, 2, 3 and 5: newer ones arrived on other"
        " partitions, so tasks MirrorSourceConnector-0 (partition 0), MirrorSourceConnector-1 (partition"
        " 1), MirrorSourceConnector-2 (partition 2) and 2 more hang or are throttled by a quota.",
    ),
    Row(
        "a task that goes on with another partition is not the one that stands",
        replace(flow(standing(0), moving(1)), tasks=(source_task(0, 0, 1),)),
        Verdict.STALLED,
        Cause.TASK_STUCK,
        "No canary records replicated for 6.9 s on partition 0: newer ones arrived on other partitions, so"
        " a task of the mirror hangs or is throttled by a quota.",
    ),
    Row(
        "one task stands, which no control probe is needed to see",
        flow(standing(0), moving(1), target=cluster("B", Control.UNKNOWN, ok_s=None)),
        Verdict.STALLED,
        Cause.TASK_STUCK,
        "No canary records replicated for 6.9 s on partition 0: newer ones arrived on other partitions, so"
        " a task of the mirror hangs or is throttled by a quota.",
    ),
    Row(
        "a partition whose backlog has just come is no sign of a task: the others may be next",
        flow(standing(0), moving(1, late_age_s=0.2)),
        Verdict.STALLED,
        Cause.UNEXPLAINED,
        "No canary records replicated for 6.9 s on partition 0: the next probes show whether other"
        " partitions are stalled too.",
    ),
    Row(
        "a partition whose backlog came longer ago goes on by now",
        flow(standing(0), moving(1, late_age_s=5.1)),
        Verdict.STALLED,
        Cause.TASK_STUCK,
        "No canary records replicated for 6.9 s on partition 0: newer ones arrived on other partitions, so"
        " a task of the mirror hangs or is throttled by a quota.",
    ),
    Row(
        "an arrival just before all stood is no sign of a task",
        flow(
            standing(0, 5.1),
            moving(1, pending_age_s=4.09, arrival_age_s=5.05, present_age_s=5.09),
        ),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 6 s on partition 0: both clusters are up, so the mirror is down"
        " or hangs.",
    ),
    Row(
        "an interval longer than the threshold: the other partitions had no chance yet",
        flow(
            standing(0, 6.0, arrival_age_s=36.0, present_age_s=36.0),
            moving(1, pending_age_s=None, arrival_age_s=15.0, present_age_s=15.1),
            interval_s=30.0,
        ),
        Verdict.STALLED,
        Cause.UNEXPLAINED,
        "No canary records replicated for 36 s on partition 0: the next probes show whether other"
        " partitions are stalled too.",
    ),
    Row(
        "the topic is gone from the target",
        flow(*ALL_STAND, topic={"target_exists": False, "target_partitions": None}),
        Verdict.STALLED,
        Cause.TOPIC_MISSING,
        "No canary records replicated for 6.15 s on any partition: topic A.mirrorwatch-canary no longer"
        " exists on B.",
    ),
    Row(
        "the topic does not exist on the target",
        flow(
            fresh(0, pending_age_s=700.0),
            topic={"target_exists": False, "target_partitions": None},
        ),
        Verdict.STALLED,
        Cause.NOT_MIRRORED,
        "No canary records replicated for 11 min 40 s on partition 0: topic A.mirrorwatch-canary does not"
        " exist on B.",
    ),
    Row(
        "the topic is there, and never received anything",
        flow(fresh(0, pending_age_s=700.0)),
        Verdict.STALLED,
        Cause.NOT_MIRRORED,
        "No canary records replicated for 11 min 40 s on partition 0: both clusters are up, and none has"
        " ever arrived on B, so the mirror is down or does not replicate this topic.",
    ),
    Row(
        "partitions added, and the mirror does not take them up",
        flow(
            *(moving(n) for n in range(4)),
            fresh(4, pending_age_s=700.0),
            topic={"source_partitions": 5},
        ),
        Verdict.STALLED,
        Cause.PARTITION_MISSING,
        "No canary records replicated for 11 min 40 s on partition 4: A.mirrorwatch-canary has 4 partitions"
        " on B and 5 on A; a task that has a record for partition 4 stalls with all its partitions.",
    ),
    Row(
        "partitions added, and the task that met them stands while they are warm-up",
        flow(
            standing(0),
            standing(1),
            fresh(2),
            fresh(3),
            topic={"source_partitions": 4, "target_partitions": 1},
        ),
        Verdict.STALLED,
        Cause.PARTITION_MISSING,
        "No canary records replicated for 6.9 s on partitions 0 and 1: A.mirrorwatch-canary has 1 partition"
        " on B and 4 on A; a task that has a record for partitions 1, 2 and 3 stalls with all its"
        " partitions.",
    ),
    Row(
        "the topic on the target is another one since, and nothing comes",
        flow(*ALL_STAND, topic={"target_recreated_at": NOW - 5}),
        Verdict.STALLED,
        Cause.TOPIC_RECREATED,
        "No canary records replicated for 6.15 s on any partition: the topic was re-created on B 5 s ago,"
        " and none has arrived since.",
    ),
    Row(
        "a topic that was re-created long before the stall has nothing to do with it",
        flow(*ALL_STAND, topic={"target_recreated_at": NOW - 500}),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 6.15 s on any partition: both clusters are up, so the mirror is"
        " down or hangs.",
    ),
    Row(
        "a stall goes before duplicates of the restart that caused it",
        flow(*ALL_STAND, findings=repeated(3, 3.5)),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 6.15 s on any partition: both clusters are up, so the mirror is"
        " down or hangs.",
    ),
    # --- repeating
    Row(
        "a loop",
        flow(findings=(finding(FindingKind.LOOPED),)),
        Verdict.REPEATING,
        Cause.LOOPING,
        "Canary records return to A, where they were sent: the mirrors form a loop and keep topic names."
        " Exclude the topics from one of these mirrors, or use DefaultReplicationPolicy for all of them.",
    ),
    Row(
        "probes that were sent after a second copy came twice themselves: a second writer, within the horizon",
        flow(
            findings=(
                *repeated(6.0, 5.0, 4.0, 3.0, 2.0),
                finding(FindingKind.SECOND_WRITER, ago_s=2.0, count=5),
                finding(FindingKind.SECOND_WRITER, ago_s=1.0, count=1, partition=2),
            )
        ),
        Verdict.REPEATING,
        Cause.DUPLICATING,
        "Two mirrors replicate A->B at once: 6 canary records (partitions 0 and 2) arrived on B twice, each"
        " sent after the second arrival of the one before. Look for a second mirror of this flow.",
    ),
    Row(
        "two mirrors",
        flow(findings=repeated(*(float(ago) for ago in range(1, 71)))),
        Verdict.REPEATING,
        Cause.DUPLICATING,
        "70 canary records arrived on B more than once, for 1 min 9 s without a pause, longer than after a"
        " restart. Look for a second mirror of this flow.",
    ),
    Row(
        "a second writer that comes back again and again",
        flow(findings=repeated(*(float(ago) for ago in range(1, 200, 12)))),
        Verdict.REPEATING,
        Cause.DUPLICATING,
        "17 canary records arrived on B more than once, repeatedly for 3 min 12 s. Look for a second mirror"
        " of this flow.",
    ),
    Row(
        "one duplicate where exactly once is promised",
        flow(findings=repeated(5.0), exactly_once=True),
        Verdict.REPEATING,
        Cause.DUPLICATING,
        "1 canary record arrived on B more than once, although the mirror is configured for exactly-once"
        " delivery. Look for a second mirror of this flow.",
    ),
    # --- late
    Row(
        "evenly late",
        flow(*(moving(n, latency_s=12.0, pending_age_s=12.4, present_age_s=12.6) for n in range(2))),
        Verdict.LATE,
        Cause.UNEXPLAINED,
        "Canary records arrive late on partitions 0 and 1: up to 12 s (threshold 5 s).",
    ),
    Row(
        "late in bursts, between two of which nothing comes",
        flow(moving(0, latency_s=9.0, pending_age_s=9.5, arrival_age_s=9.6)),
        Verdict.LATE,
        Cause.UNEXPLAINED,
        "Canary records arrive late on partition 0: up to 9.5 s (threshold 5 s).",
    ),
    Row(
        "late once, then nothing for twice as long",
        flow(moving(0, latency_s=9.0, pending_age_s=18.5, arrival_age_s=18.6)),
        Verdict.STALLED,
        Cause.MIRROR_DOWN,
        "No canary records replicated for 19 s on partition 0: both clusters are up, so the mirror is down"
        " or hangs.",
    ),
    # --- unknown
    Row(
        "off",
        flow(state=CanaryState.OFF, sentence="canary.mode is off"),
        Verdict.UNKNOWN,
        None,
        "A->B has no canary: canary.mode is off.",
    ),
    Row(
        "waiting",
        flow(state=CanaryState.WAITING, sentence="the source cluster was not reached yet"),
        Verdict.UNKNOWN,
        None,
        "No canary records are sent: the source cluster was not reached yet.",
    ),
    Row(
        "waiting for a source that is down",
        flow(
            state=CanaryState.WAITING,
            sentence="the source cluster was not reached yet.",
            source=cluster("A", Control.FAILING),
        ),
        Verdict.UNKNOWN,
        Cause.SOURCE_DOWN,
        "No canary records are sent: the source cluster was not reached yet.",
    ),
    Row(
        "our own fault",
        flow(*ALL_STAND, impaired="its event loop stood still for 1.4 s"),
        Verdict.UNKNOWN,
        Cause.PROBER,
        "Mirrorwatch cannot measure A->B reliably: its event loop stood still for 1.4 s.",
    ),
    Row(
        "nothing sent",
        flow(partitions=()),
        Verdict.UNKNOWN,
        None,
        "No canary record has been sent yet.",
    ),
    Row(
        "warm-up",
        flow(fresh(0), fresh(1)),
        Verdict.UNKNOWN,
        None,
        "No canary record has arrived yet. A mirror replicates a new topic after its next refresh of topics.",
    ),
    Row(
        "warm-up with the target down",
        flow(fresh(0), target=cluster("B", Control.FAILING)),
        Verdict.UNKNOWN,
        Cause.TARGET_DOWN,
        "No canary record has arrived yet. Control probes fail on B. A mirror replicates a new topic after"
        " its next refresh of topics.",
    ),
    Row(
        "the source topic is another one, and nothing of it came yet",
        flow(fresh(0), topic={"source_recreated_at": NOW - 3}),
        Verdict.UNKNOWN,
        Cause.TOPIC_RECREATED,
        "The canary topic was re-created on A 3 s ago, and no record of the new one has arrived yet.",
    ),
    Row(
        "just started, and the flow was seen to carry it before",
        flow(fresh(0, carried=True, pending_age_s=1.0)),
        Verdict.UNKNOWN,
        None,
        "No canary record has arrived since Mirrorwatch started.",
    ),
    Row(
        "nothing lately, and nothing waits",
        flow(moving(0, pending_age_s=None, arrival_age_s=9.0)),
        Verdict.UNKNOWN,
        None,
        "No canary record has arrived for 9 s, and none is known to wait: not enough data for a verdict.",
    ),
    Row(
        "nothing lately, with both clusters down",
        flow(
            moving(0, pending_age_s=None, arrival_age_s=9.0),
            source=cluster("A", Control.FAILING),
            target=cluster("B", Control.FAILING),
        ),
        Verdict.UNKNOWN,
        Cause.SOURCE_DOWN,
        "No canary record has arrived for 9 s, and none is known to wait: not enough data for a verdict."
        " Control probes fail on A and on B.",
    ),
    Row(
        "one partition of the source takes nothing",
        flow(moving(0), moving(1, pending_age_s=None, unacked_age_s=6.0, arrival_age_s=6.9)),
        Verdict.UNKNOWN,
        None,
        "No canary record reaches partition 1 of mirrorwatch-canary on A, so its state is unknown; the"
        " others arrive.",
    ),
    Row(
        "two partitions of the source refuse what is sent",
        flow(moving(0), *(moving(n, pending_age_s=None, arrival_age_s=20.0) for n in (1, 2))),
        Verdict.UNKNOWN,
        None,
        "No canary record reaches partitions 1 and 2 of mirrorwatch-canary on A, so their state is unknown;"
        " the others arrive.",
    ),
    Row(
        "the only partition of the source takes nothing",
        flow(moving(0, pending_age_s=None, unacked_age_s=6.0, arrival_age_s=6.9)),
        Verdict.UNKNOWN,
        None,
        "No canary record reaches partition 0 of mirrorwatch-canary on A, so its state is unknown.",
    ),
    Row(
        "none of the source's partitions takes anything",
        flow(*(moving(n, pending_age_s=None, unacked_age_s=6.0, arrival_age_s=6.9) for n in range(2))),
        Verdict.UNKNOWN,
        None,
        "No canary record reaches partitions 0 and 1 of mirrorwatch-canary on A, so their state is unknown.",
    ),
    # --- healthy
    Row(
        "healthy",
        flow(),
        Verdict.HEALTHY,
        None,
        "Canary records arrive within 5 s; the newest took at most 0.04 s.",
    ),
    Row(
        "a latency too small to be written",
        flow(moving(0, latency_s=0.003)),
        Verdict.HEALTHY,
        None,
        "Canary records arrive within 5 s; the newest took less than 0.01 s.",
    ),
    Row(
        "a partition in its warm-up",
        flow(moving(0), moving(1), fresh(2)),
        Verdict.HEALTHY,
        None,
        "Canary records arrive within 5 s; the newest took at most 0.04 s. None has arrived on partition 2"
        " yet.",
    ),
    Row(
        "duplicates of a restart",
        flow(findings=repeated(40.0, 39.5, 39.0)),
        Verdict.HEALTHY,
        None,
        "Canary records arrive within 5 s; the newest took at most 0.04 s.",
    ),
    Row(
        "duplicates of three nodes that were restarted one after the other",
        flow(findings=repeated(100.0, 99.0, 60.0, 59.0, 20.0, 19.0)),
        Verdict.HEALTHY,
        None,
        "Canary records arrive within 5 s; the newest took at most 0.04 s.",
    ),
    Row(
        "what was found has run out",
        flow(
            findings=(
                finding(LOST, ago_s=HOLD_S + 0.1),
                finding(FindingKind.ALTERED, ago_s=HOLD_S + 0.1),
                finding(FindingKind.LOOPED, ago_s=HOLD_S + 0.1),
            )
        ),
        Verdict.HEALTHY,
        None,
        "Canary records arrive within 5 s; the newest took at most 0.04 s.",
    ),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_table(row):
    judgement = judge(row.evidence, now_at=NOW)
    assert (judgement.verdict, judgement.cause) == (row.verdict, row.cause)
    assert judgement.sentence == row.sentence


def test_every_verdict_and_every_cause_has_a_row_or_stands_in_the_list_of_later_parts():
    produced = {row.cause for row in ROWS if row.cause is not None}
    assert {row.verdict for row in ROWS} == set(Verdict)
    # test_judgement_offsets
    others = {
        Cause.TASK_FAILED,
        Cause.PAUSED,
        Cause.RETIMED,
        Cause.OFFSETS_NOT_COMMITTING,
        Cause.TRANSACTION_HANGS,
    }
    others.add(Cause.ABORTED_TRANSACTION)  # test_judgement_checksum
    assert produced | set(LATER) | others == set(Cause)
    assert not produced & (set(LATER) | others)


def test_every_sentence_reads_as_one():
    for row in ROWS:
        assert row.sentence.endswith(".")
        assert row.sentence[0].isupper() or row.sentence[0].isdecimal() or row.sentence.startswith("A->B")
        assert ".." not in row.sentence
        assert all(part.count(":") <= 1 for part in row.sentence.split(". "))
        assert not any(f"{word.value}" in row.sentence for word in (*Cause, *Control) if "_" in word.value)


KINDS_IN_ORDER = (
    ({"findings": (finding(LOST),)}, Verdict.LOSING),
    ({"findings": (finding(FindingKind.ALTERED),)}, Verdict.ALTERED),
    ({"partitions": ALL_STAND}, Verdict.STALLED),
    ({"findings": (finding(FindingKind.LOOPED),)}, Verdict.REPEATING),
    ({"partitions": (moving(0, latency_s=9.0),)}, Verdict.LATE),
    ({"impaired": "it is blind"}, Verdict.UNKNOWN),
    ({}, Verdict.HEALTHY),
)


@pytest.mark.parametrize("worse", range(len(KINDS_IN_ORDER) - 1))
def test_the_worst_that_holds_is_told(worse):
    """Lay every milder case over this one; an impaired prober takes away stalled and late, so it stays out."""
    said, verdict = KINDS_IN_ORDER[worse]
    merged = dict(said)
    for milder, _ in KINDS_IN_ORDER[worse + 1 :]:
        merged["findings"] = (*merged.get("findings", ()), *milder.get("findings", ()))
        if "partitions" in milder and "partitions" not in merged:
            merged["partitions"] = milder["partitions"]
    assert judge(flow(**merged), now_at=NOW).verdict is verdict


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        (FindingKind.LOST, Verdict.LOSING),
        (FindingKind.MISROUTED, Verdict.LOSING),
        (FindingKind.ALTERED, Verdict.ALTERED),
        (FindingKind.LOOPED, Verdict.REPEATING),
    ],
)
def test_a_finding_holds_for_a_quarter_of_an_hour(kind, verdict):
    evidence = flow(findings=(finding(kind, ago_s=0.0),))
    assert judge(evidence, now_at=NOW + 900.0).verdict is verdict
    assert judge(evidence, now_at=NOW + 900.1).verdict is not verdict


def test_a_threshold_of_its_own_moves_when_a_flow_stands():
    waiting = (moving(0, pending_age_s=6.0, arrival_age_s=7.0), moving(1))
    assert judge(flow(*waiting, threshold_s=5.0), now_at=NOW).verdict is Verdict.STALLED
    assert judge(flow(*waiting, threshold_s=8.0), now_at=NOW).verdict is Verdict.HEALTHY


def test_evidence_is_bounded_and_names_where_to_look():
    found = tuple(finding(LOST, ago_s=float(ago), partition=ago) for ago in range(1, 30))
    rows = judge(flow(findings=found), now_at=NOW).evidence
    assert [row.partition for row in rows] == list(range(1, MAX_ROWS + 1))
    assert {(row.topic, row.source_offset) for row in rows} == {("mirrorwatch-canary", 40)}
    many = judge(flow(*(standing(number) for number in range(40))), now_at=NOW)
    assert len(many.evidence) == MAX_ROWS
    assert many.evidence[0].source_offset == 7


def test_what_the_client_said_stands_in_the_evidence_and_not_in_the_sentence():
    down = judge(flow(*ALL_STAND, target=cluster("B", Control.FAILING)), now_at=NOW)
    assert SAYS_NO not in down.sentence
    assert down.evidence[-1].sentence == SAYS_NO


def test_since_is_kept_while_the_verdict_stays_whatever_the_cause():
    first = follow(None, flow(*ALL_STAND, target=cluster("B", ok_s=6.01)), now_at=NOW)
    assert (first.cause, first.since_at) == (Cause.UNEXPLAINED, NOW)
    second = follow(first, flow(*ALL_STAND), now_at=NOW + 1)
    assert (second.cause, second.since_at) == (Cause.MIRROR_DOWN, NOW)
    third = follow(second, flow(), now_at=NOW + 2)
    assert (third.verdict, third.since_at) == (Verdict.HEALTHY, NOW + 2)


def test_while_a_stall_goes_on_its_cause_is_kept_until_it_could_be_shown_again():
    down = follow(None, flow(*ALL_STAND), now_at=NOW)
    assert down.cause is Cause.MIRROR_DOWN
    # Partition 0 is back; of those that wait it is not known yet whether they stand.
    coming = flow(moving(0, late_age_s=0.2), *ALL_STAND[1:])
    assert judge(coming, now_at=NOW).cause is Cause.UNEXPLAINED
    held = follow(down, coming, now_at=NOW + 0.4)
    assert (held.cause, held.shown_at, held.since_at) == (Cause.MIRROR_DOWN, NOW, NOW)
    assert held.sentence == (
        "No canary records replicated for 6.15 s on partitions 1, 2 and 3: the next probes show whether"
        " other partitions are stalled too; the cause was mirror_down until 0.4 s ago."
    )
    again = follow(held, coming, now_at=NOW + HOLD_CAUSE_S)
    assert (again.cause, again.shown_at) == (Cause.MIRROR_DOWN, NOW)
    assert follow(again, coming, now_at=NOW + HOLD_CAUSE_S + 0.1).cause is Cause.UNEXPLAINED
    shown = follow(held, flow(moving(0), *ALL_STAND[1:]), now_at=NOW + 1)
    assert (shown.cause, shown.shown_at) == (Cause.TASK_STUCK, NOW + 1)


BLIND = {"impaired": "it is blind"}
TURNED_OFF = {"state": CanaryState.OFF, "sentence": "canary.mode is off"}
SLOW = (moving(0, latency_s=9.0), moving(1))


@pytest.mark.parametrize(
    ("kind", "verdict"),
    [
        (LOST, Verdict.LOSING),
        (FindingKind.MISROUTED, Verdict.LOSING),
        (FindingKind.ALTERED, Verdict.ALTERED),
        (FindingKind.LOOPED, Verdict.REPEATING),
    ],
)
@pytest.mark.parametrize(
    ("partitions", "more", "right_now"),
    [
        (SLOW, {}, (Verdict.LATE, Cause.UNEXPLAINED)),
        (SLOW, BLIND, (Verdict.UNKNOWN, Cause.PROBER)),
        (ALL_STAND, TURNED_OFF, (Verdict.UNKNOWN, None)),
        ((), {}, (None, None)),
    ],
)
def test_beside_what_has_ended_stands_how_the_flow_is_now(kind, verdict, partitions, more, right_now):
    also, cause = right_now
    evidence = flow(*partitions, findings=(finding(kind, ago_s=80),), **more)
    told = follow(None, evidence, now_at=NOW)
    alone = judge(flow(*partitions, **more), now_at=NOW)
    assert told.verdict is verdict
    if also is None:
        assert told.also is None
        return
    assert told.also is not None
    assert (told.also.verdict, told.also.cause, told.also.sentence) == (also, cause, alone.sentence)
    assert (alone.verdict, alone.cause) == (also, cause)
    assert told.evidence == judge(evidence, now_at=NOW).evidence + alone.evidence
    assert told.conditions == {also}


@pytest.mark.parametrize("kind", [LOST, FindingKind.MISROUTED, FindingKind.ALTERED])
def test_a_standstill_is_told_while_an_old_loss_or_change_holds(kind):
    told = follow(None, flow(*ALL_STAND, findings=(finding(kind, ago_s=80),)), now_at=NOW)
    assert told.also is not None
    assert (told.also.verdict, told.also.cause) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    assert told.evidence[1:] == judge(flow(*ALL_STAND), now_at=NOW).evidence


@pytest.mark.parametrize("kind", [LOST, FindingKind.MISROUTED, FindingKind.ALTERED, FindingKind.LOOPED])
def test_nothing_is_told_beside_what_still_goes_on(kind):
    told = follow(None, flow(*SLOW, findings=(finding(kind, ago_s=4.9),)), now_at=NOW)
    assert told.verdict is not Verdict.LATE
    assert told.also is None


@pytest.mark.parametrize(
    ("ago_s", "partitions", "more", "held"),
    [
        (30.0, ALL_STAND, {}, {Verdict.LOSING, Verdict.STALLED}),
        (80.0, ALL_STAND, {}, {Verdict.STALLED}),
        (30.0, SLOW, {}, {Verdict.LOSING, Verdict.LATE}),
        (30.0, (), {}, {Verdict.LOSING}),
        (80.0, (), {}, set()),
        (80.0, SLOW, BLIND, {Verdict.UNKNOWN}),
    ],
)
def test_conditions_are_what_holds_now_several_at_once(ago_s, partitions, more, held):
    evidence = flow(*partitions, findings=(finding(LOST, ago_s=ago_s),), **more)
    told = follow(None, evidence, now_at=NOW)
    assert told.verdict is Verdict.LOSING
    assert told.conditions == held


def test_beside_an_old_loss_a_latch_is_told_and_beside_a_latch_nothing():
    latch = {"state": CanaryState.LATCHED, "sentence": "A probe of A->B came back to A"}
    told = follow(None, flow(*ALL_STAND, findings=(finding(LOST, ago_s=80),), **latch), now_at=NOW)
    assert (told.also.verdict, told.also.cause) == (Verdict.REPEATING, Cause.LOOPING)
    assert follow(None, flow(*ALL_STAND, **latch), now_at=NOW).also is None


def test_a_stall_keeps_since_and_cause_whether_it_is_the_verdict_or_beside_one():
    lost = (finding(LOST, ago_s=80),)
    first = follow(None, flow(*ALL_STAND), now_at=NOW)
    beside = follow(first, flow(*ALL_STAND, findings=lost), now_at=NOW + 1)
    assert (beside.verdict, beside.since_at) == (Verdict.LOSING, NOW + 1)
    assert (beside.also.since_at, beside.also.shown_at) == (NOW, NOW + 1)
    # Partition 0 is back; of those that wait it is not known yet whether they stand.
    coming = (moving(0, late_age_s=0.2), *ALL_STAND[1:])
    held = follow(beside, flow(*coming, findings=lost), now_at=NOW + 2)
    assert (held.also.cause, held.also.shown_at) == (Cause.MIRROR_DOWN, NOW + 1)
    assert held.also.sentence.endswith("; the cause was mirror_down until 1 s ago.")
    assert held.cause is Cause.FILTERED
    assert held.conditions == {Verdict.STALLED}
    after = follow(held, flow(*ALL_STAND), now_at=NOW + 3)
    assert (after.verdict, after.since_at, after.also) == (Verdict.STALLED, NOW, None)


def test_acknowledgements_that_were_given_up_say_how_long_at_least():
    """The producer gives a probe up after a while, so the oldest that waits is no older than that."""
    down = {"source": cluster("A", Control.FAILING)}
    waiting = {"pending_age_s": None, "pending_offset": None, "unacked_age_s": 20.0}
    for arrival_s, said in ((146.0, "more than 20 s"), (22.0, "20 s")):
        judged = judge(flow(moving(0, arrival_age_s=arrival_s, **waiting), **down), now_at=NOW)
        assert judged.evidence[0].sentence == f"no acknowledgement from A for {said}"


def test_a_cause_is_kept_for_no_other_verdict_and_for_no_later_stall():
    coming = flow(moving(0, late_age_s=0.2), *ALL_STAND[1:])
    down = follow(None, flow(*ALL_STAND), now_at=NOW)
    late = follow(down, flow(moving(0, latency_s=7.0)), now_at=NOW + 0.4)
    assert (late.verdict, late.cause) == (Verdict.LATE, Cause.UNEXPLAINED)
    well = follow(late, flow(), now_at=NOW + 1)
    assert follow(well, coming, now_at=NOW + 2).cause is Cause.UNEXPLAINED


@pytest.mark.parametrize(
    ("evidence", "sentence"),
    [
        (flow(), "Canary records arrive on 4 of 4 partitions."),
        (flow(moving(0), standing(1, 9.0)), "Canary records arrive on 1 of 2 partitions."),
        (flow(moving(0)), "Canary records arrive on 1 of 1 partition."),
        (flow(standing(0, 9.0)), "Canary records arrive on 0 of 1 partition."),
        (flow(state=CanaryState.OFF, sentence="canary.mode is off"), "canary.mode is off."),
        (flow(impaired="it is blind"), "Its measurements are unreliable: it is blind."),
    ],
)
def test_what_the_canary_says_beside_the_verdict(evidence, sentence):
    assert follow(None, evidence, now_at=NOW).parts == (("canary", sentence),)


def test_the_row_of_a_partition_that_stands_names_its_task():
    tasks = (source_task(0, 1), source_task(1, 0))
    judged = judge(replace(flow(standing(0), moving(1)), tasks=tasks), now_at=NOW)
    (row,) = [row for row in judged.evidence if row.partition == 0]
    assert row.sentence.endswith("; assigned to MirrorSourceConnector-1 of the mirror")
    # Two records of one partition contradict each other: then neither is told.
    judged = judge(replace(flow(standing(0)), tasks=(source_task(0, 0), source_task(1, 0))), now_at=NOW)
    assert all("carries" not in row.sentence for row in judged.evidence)
