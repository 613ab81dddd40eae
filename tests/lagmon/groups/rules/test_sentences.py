"""What is told with each of our verdicts: the numbers, and the sentence."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lagmon.groups.rules.policy import Policy
from lagmon.groups.rules.sentences import Facts, instant_text, over_limit, sentence
from lagmon.groups.rules.table import judge
from lagmon.groups.rules.words import Reason
from tests.lagmon.groups.rules.test_table import CASES, STEADY
from tests.lagmon.windows import NOW, position

SENTENCES = {
    "nothing was committed": "Lag unknown: the group has not committed on this partition.",
    "no head": "Lag unknown: the log end offset is not read yet.",
    "a head of more": "Lag unknown: log end offset last read 1 min ago, at 2026-09-21 14:12:19 UTC.",
    "commits of more": "Lag unknown: commits are read only up to 1 min ago, 2026-09-21 14:12:19 UTC.",
    "commits never read": "Lag unknown: the group's commits are not read up to the present yet.",
    "a topic made anew": (
        "Lag unknown: the topic was re-created after the commit of offset 190 (seen at 2026-09-21 14:13:20 "
        "UTC). The offset may belong to the old topic; the next commit settles it. The new topic holds 200 "
        "records now."
    ),
    "a topic made anew that is empty": (
        "Nothing to read: the topic was re-created after the commit of offset 190 and is empty."
    ),
    "its reader moves elsewhere": (
        "Lag 10 at offset 100. No progress for 1 min 30 s (usual if partitions are processed in batches: up"
        " to 5 min). The partition's consumer progresses on others, last at 2026-09-21 14:12:20 UTC."
    ),
    "its reader moves elsewhere for longer": (
        "Group stopped: lag 10 at offset 100. No progress for 5 min (usual if partitions are processed in "
        "batches: up to 5 min), last commit at 2026-09-21 14:08:19 UTC. The partition's consumer progresses"
        " on others, last at 2026-09-21 14:13:20 UTC."
    ),
    "it commits again for longer, and its reader moves elsewhere": (
        "Group stalled: lag 10 at offset 100. No progress for 5 min 20 s (usual if partitions are processed"
        " in batches: up to 5 min), although the group still commits, last at 2026-09-21 14:12:50 UTC. The "
        "partition's consumer progresses on others, last at 2026-09-21 14:13:19 UTC."
    ),
    "a negative one before": "Lag unknown: the committed offset -3 is invalid.",
    "beyond both": (
        "Lag unknown: committed offset 190 is beyond the log end offset 189, read later. The log was "
        "truncated or the topic was re-created."
    ),
    "moved on beyond an end that was read before": (
        "Lag unknown: committed offset 189 is beyond the log end offset 188, read later. The log was "
        "truncated or the topic was re-created."
    ),
    "had not stopped when the cluster went away, which is back for a minute": (
        "Lag 10 at offset 100. No progress for 4 min, but the cluster was unreachable until 2026-09-21 "
        "14:12:20 UTC (allowed after that: up to 1 min)."
    ),
    "and has not moved since it was back": (
        "Group stopped: lag 10 at offset 100. No progress for 4 min (usual for this group: up to 1 min), "
        "last commit at 2026-09-21 14:09:20 UTC."
    ),
    "paces for longer, and its cluster was away for a moment": (
        "Lag 100 at offset 100. No progress for 3 h 1 min, but the cluster was unreachable until 2026-09-21"
        " 14:03:20 UTC (allowed after that: up to 10 min)."
    ),
    "the log starts behind it": (
        "Up to 1 record deleted before the group read it. Log start offset 191, committed offset 190, lag 9."
    ),
    "all read": "Lag 0 at offset 190: the group has read everything.",
    "all read up to the last stable offset": (
        "Lag 0 at offset 190: the group has read everything up to the last stable offset 190. 10 more "
        "offsets wait for an open transaction to end."
    ),
    "past the stable offset, before the end": (
        "Lag 0 at offset 190: the group has read everything up to the last stable offset 150. 1 more offset "
        "waits for an open transaction to end."
    ),
    "nothing to read up to the last stable offset": (
        "Lag 0 at offset 100: the group has read everything up to the last stable offset 102. 98 more "
        "offsets wait for an open transaction to end. The next 2 offsets hold no readable record: "
        "transaction markers, aborted or compacted records up to offset 102."
    ),
    "nothing to read up to the end": (
        "Lag 0 at offset 100: the group has read everything. The next 2 offsets hold no readable record: "
        "transaction markers, aborted or compacted records up to offset 102."
    ),
    "deleted, and of it only some held nothing to read": (
        "Up to 8 records deleted before the group read them. Log start offset 110, committed offset 100, lag "
        "90."
    ),
    "further ahead": (
        "Lag 7, progress unknown: the clocks disagree. One timestamp is 2026-09-21 14:23:20 UTC; check the "
        "clocks of the brokers and of this host."
    ),
    "commits again": (
        "Group stalled: lag 10 at offset 100. No progress for 1 min 30 s (usual for this group: up to 1 "
        "min), although the group still commits, last at 2026-09-21 14:12:50 UTC."
    ),
    "no member": (
        "Group stopped: lag 10 at offset 100. No progress for 1 min 30 s (usual for this group: up to 1 "
        "min), last commit at 2026-09-21 14:11:50 UTC. The group has no active member."
    ),
    "more than three of its gaps": (
        "Group stopped: lag 10 at offset 120. No progress for 1 h 30 min (usual for this group: up to 1 h "
        "30 min), last commit at 2026-09-21 12:43:19 UTC."
    ),
    "gone back": (
        "Group went back from offset 150 to 40 at 2026-09-21 14:13:15 UTC. It is at offset 60 now: up to "
        "90 records to read again."
    ),
    "gone back long ago": (
        "Group went back from offset 150 to 40 at 2026-09-21 13:13:20 UTC. It is at offset 110 now: up to "
        "40 records to read again."
    ),
    "gone back twice from the same offset": (
        "Group went back from offset 150 to 60 at 2026-09-21 14:13:10 UTC. It is at offset 70 now: up to "
        "80 records to read again."
    ),
    "one commit": (
        "Lag 10 at offset 100. No progress for 1 min. The group's pace is unknown after one commit: it "
        "counts as stopped after 1 min."
    ),
    "no time of passing: the head's own counts": (
        "Lag 10 at offset 100. Time without progress unknown: at least 40 s, at most since the commit at "
        "2026-09-21 13:58:20 UTC (usual for this group: up to 1 min)."
    ),
    "falls behind": (
        "Group falls behind: lag rose from 5 at 2026-09-21 14:11:50 UTC to 10 and never fell; 91 now."
    ),
    "stands a minute": "Lag 10 at offset 100. No progress for 1 min (usual for this group: up to 1 min).",
    "commits as it should": "Lag 10 at offset 190. The group makes progress.",
}


@pytest.mark.parametrize("case", SENTENCES)
def test_a_verdict_says_why(case):
    shape, where, _ = CASES[case]
    assert judge(shape, where, now_ms=NOW, policy=Policy()).sentence == SENTENCES[case]


def test_an_allowed_lag_is_told():
    where = position(193, seen_ago=5)
    verdict = judge(STEADY, where, now_ms=NOW, policy=Policy(allowed_lag=5))
    assert verdict.sentence == "Lag 3, within the allowed lag of 5."


def test_all_records_are_written_alike():
    facts = Facts(now_ms=NOW, lag=4402, since_ms=NOW, before=3700, after=4406)
    assert sentence(Reason.GROWING, facts).endswith(
        "rose from 3,700 at 2026-09-21 14:13:20 UTC to 4,406 and never fell; 4,402 now."
    )
    told = sentence(Reason.NOTHING_READABLE, Facts(lag=0, offset=1000, head=3000, before=3000, after=0))
    assert "The next 2,000 offsets hold no readable record" in told


@pytest.mark.parametrize("case", CASES)
def test_a_lag_is_told_only_where_it_is_known(case):
    shape, where, reason = CASES[case]
    facts = judge(shape, where, now_ms=NOW, policy=Policy()).facts
    untold = reason < Reason.DELETED_UNREAD
    assert (facts.lag == -1) == untold
    if not untold:
        assert facts.lag == max(0, where.head - max(facts.offset, where.start, where.readable_from))


@pytest.mark.parametrize("at_ms", [-1, 2**63 - 1, 253_402_300_800_000])
def test_a_time_on_no_calendar_is_still_written(at_ms):
    assert instant_text(at_ms) == f"epoch millisecond {at_ms}"


@pytest.mark.parametrize("reason", Reason)
def test_every_reason_has_a_sentence_whatever_the_numbers(reason):
    for facts in (Facts(), Facts(NOW, 2**62, 1, 2**62, 2**62, 2**62, -(2**62), 1)):
        assert sentence(reason, facts)


@pytest.mark.parametrize(("age_ms", "said"), [(44_000, ""), (44_400, ""), (45_000, " (limit: 44 s)")])
def test_an_age_is_not_called_longer_than_itself(age_ms, said):
    facts = SimpleNamespace(now_ms=100_000, since_ms=100_000 - age_ms, limit_ms=44_000)
    assert over_limit(facts) == said
