"""What is told with each of our verdicts: the numbers, and the sentence."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lagmon.groups.rules.policy import Policy
from lagmon.groups.rules.sentences import Facts, instant_text, longer, sentence
from lagmon.groups.rules.table import judge
from lagmon.groups.rules.words import Reason
from tests.lagmon.groups.rules.test_table import CASES, STEADY
from tests.lagmon.windows import NOW, position

SENTENCES = {
    "nothing was committed": "No commit of the group to this partition has been seen.",
    "no head": "The log's end has not been read yet.",
    "a head of more": (
        "The log's end was last read 1 min ago, at 2026-09-21 14:12:19 UTC, so there may be more to read."
    ),
    "commits of more": (
        "Commits are known only up to 2026-09-21 14:12:19 UTC, 1 min ago, so the group "
        "may be elsewhere by now."
    ),
    "commits never read": "The group's commits have not been read up to the present yet.",
    "a topic made anew": (
        "The topic was seen to be made anew at 2026-09-21 14:13:20 UTC, after the commit of offset 190, and "
        "perhaps that belongs to the old one: the next commit tells. The new one holds 200 records now."
    ),
    "a topic made anew that is empty": (
        "The topic was made anew after the commit of offset 190 and holds nothing: there is nothing to read."
    ),
    "its reader moves elsewhere": (
        "10 records to read at offset 100, where the group has stood for 1 min 30 s, while its reader moves in "
        "other partitions, last at 2026-09-21 14:12:20 UTC: who reads partitions in turns may leave one for up "
        "to 5 min."
    ),
    "its reader moves elsewhere for longer": (
        "10 records to read at offset 100, where the group has stood for 5 min, with the last commit at "
        "2026-09-21 14:08:19 UTC: read in turns, up to 5 min is usual. Its reader moves in other partitions, last "
        "at 2026-09-21 14:13:20 UTC."
    ),
    "it commits again for longer, and its reader moves elsewhere": (
        "10 records to read at offset 100, where the group has stood for 5 min 20 s, while commits of the same "
        "offset still come, the last at 2026-09-21 14:12:50 UTC: read in turns, up to 5 min is usual. Its reader "
        "moves in other partitions, last at 2026-09-21 14:13:19 UTC."
    ),
    "a negative one before": "The group committed offset -3, which no record has.",
    "beyond both": (
        "The group committed offset 190, and the log ended at 189 when it was read afterwards: it lost its "
        "end, or the topic was made anew."
    ),
    "moved on beyond an end that was read before": (
        "The group committed offset 189, and the log ended at 188 when it was read afterwards: it lost its "
        "end, or the topic was made anew."
    ),
    "had not stopped when the cluster went away, which is back for a minute": (
        "10 records to read at offset 100, where the group has stood for 4 min, but the cluster did not answer "
        "until 2026-09-21 14:12:20 UTC: from then on it may take up to 1 min to move."
    ),
    "and has not moved since it was back": (
        "10 records to read at offset 100, where the group has stood for 4 min, with the last commit at "
        "2026-09-21 14:09:20 UTC: at its pace up to 1 min is usual."
    ),
    "paces for longer, and its cluster was away for a moment": (
        "100 records to read at offset 100, where the group has stood for 3 h 1 min, but the cluster did not "
        "answer until 2026-09-21 14:03:20 UTC: from then on it may take up to 10 min to move."
    ),
    "the log starts behind it": (
        "1 record before offset 191 was deleted before the group got there: the log now starts there, and the "
        "group stands at 190. Left to read: 9."
    ),
    "all read": "The group has read all there is: it stands at offset 190.",
    "nothing to read up to the end": (
        "The group has read all there is: it stands at offset 100. Up to 102 the 2 offsets behind it hold no "
        "record that a consumer sees: markers of transactions, aborted or compacted records."
    ),
    "deleted, and of it only some held nothing to read": (
        "8 records before offset 110 were deleted before the group got there: the log now starts there, and the "
        "group stands at 100. Left to read: 90."
    ),
    "further ahead": (
        "7 records to read, but a time needed to judge that is 2026-09-21 14:23:20 UTC: see to the clocks of "
        "brokers and of this host."
    ),
    "commits again": (
        "10 records to read at offset 100, where the group has stood for 1 min 30 s, while commits of the same "
        "offset still come, the last at 2026-09-21 14:12:50 UTC: at its pace up to 1 min is usual."
    ),
    "no member": (
        "10 records to read at offset 100, where the group has stood for 1 min 30 s, with the last commit at "
        "2026-09-21 14:11:50 UTC: at its pace up to 1 min is usual. The group has no active member."
    ),
    "more than three of its gaps": (
        "10 records to read at offset 120, where the group has stood for 1 h 30 min, with the last commit at "
        "2026-09-21 12:43:19 UTC: at its pace up to 1 h 30 min is usual."
    ),
    "gone back": (
        "The group went back from offset 150 to 40 at 2026-09-21 14:13:15 UTC and stands at 60: 90 records are "
        "still to be read again."
    ),
    "gone back twice from the same offset": (
        "The group went back from offset 150 to 60 at 2026-09-21 14:13:10 UTC and stands at 70: 80 records are "
        "still to be read again."
    ),
    "one commit": (
        "10 records to read at offset 100, where the group has stood for 1 min. One commit tells no pace: after "
        "1 min the group counts as stopped."
    ),
    "no time of passing: the head's own counts": (
        "10 records to read at offset 100, committed at 2026-09-21 13:58:20 UTC. How long the next record has "
        "been there is known only for the last 40 s: at its pace up to 1 min is usual."
    ),
    "falls behind": (
        "The group reads, but falls behind: from 5 records at 2026-09-21 14:11:50 UTC to 10, "
        "never less in between; 91 now."
    ),
    "stands a minute": (
        "10 records to read at offset 100, where the group has stood for 1 min: within its usual pause of "
        "up to 1 min."
    ),
    "commits as it should": "The group moves: 10 records to read at offset 190.",
}


@pytest.mark.parametrize("case", SENTENCES)
def test_a_verdict_says_why(case):
    shape, where, _ = CASES[case]
    assert judge(shape, where, now_ms=NOW, policy=Policy()).sentence == SENTENCES[case]


def test_an_allowed_lag_is_told():
    where = position(193, seen_ago=5)
    verdict = judge(STEADY, where, now_ms=NOW, policy=Policy(allowed_lag=5))
    assert verdict.sentence == "3 records to read, which is within the allowed 5."


def test_all_records_are_written_alike():
    facts = Facts(now_ms=NOW, lag=4402, since_ms=NOW, before=3700, after=4406)
    assert sentence(Reason.GROWING, facts).endswith(
        "from 3,700 records at 2026-09-21 14:13:20 UTC to 4,406, never less in between; 4,402 now."
    )
    told = sentence(Reason.NOTHING_READABLE, Facts(lag=0, offset=1000, head=3000, before=3000, after=0))
    assert "Up to 3000 the 2,000 offsets behind it" in told


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


@pytest.mark.parametrize(
    ("age_ms", "said"), [(44_000, ""), (44_400, ""), (45_000, ": that is longer than 44 s")]
)
def test_an_age_is_not_called_longer_than_itself(age_ms, said):
    facts = SimpleNamespace(now_ms=100_000, since_ms=100_000 - age_ms, limit_ms=44_000)
    assert longer(facts) == said
