"""How flows and topics stand by their runs, and what of these is evidence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checksum.compare.findings import RecordVerdict
from checksum.history.entries import RunRow
from checksum.report.result_document import MOST_LEFT_OUT
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.verdicts.words import MAX_ROWS
from mirrorwatch.audits.flow_audit import flow_audit, newest_finding, run_summary
from mirrorwatch.audits.run_document import read_run
from tests.mirrorwatch.told_runs import ENDED_AT, block, finding, left, partition, run

NIGHT_S = 86_400.0
R = RecordVerdict


def gist(name="r1", *, exactly_once=False, **said):
    told = read_run(run(name, **said))
    return run_summary(told, ended_at=told.ended_at, exactly_once=exactly_once)


def found(*, exactly_once=False, **said):
    return gist(exactly_once=exactly_once, **said).found


@pytest.mark.parametrize(
    ("verdict", "means"),
    [
        (R.LOST, Verdict.LOSING),
        (R.ALTERED, Verdict.ALTERED),
        (R.MISROUTED, Verdict.LOSING),
        (R.REORDERED, Verdict.ALTERED),
        (R.EXTRA, Verdict.ALTERED),
        (R.DUPLICATED, Verdict.REPEATING),
    ],
)
def test_what_each_finding_makes_of_a_flow(verdict, means):
    (one,) = found(findings=[finding(verdict, found_in=("payments", 1))])
    assert (one.verdict, one.records, one.by_topic, one.at) == (means, 1, (("orders", 1),), ENDED_AT)
    (row,) = one.rows
    assert (row.part, row.topic, row.partition, row.at) == ("checksum", "orders", 0, ENDED_AT)
    assert row.sentence.startswith("orders [0]: record at offset 41")


def test_what_is_expected_of_at_least_once_is_no_evidence():
    assert found(expected=[finding(R.DUPLICATED), finding(R.EXTRA, aborted=True)]) == ()
    assert found(findings=[finding(R.UNVERIFIABLE)]) == ()


def test_records_are_counted_by_topic_the_most_first_and_the_cause_is_that_of_most_of_them():
    several = [
        finding(R.ALTERED, topic="a", records=3, what=("value",)),
        *(finding(R.EXTRA, topic=name, number=number) for number, name in enumerate("bcde")),
        finding(R.EXTRA, topic="e", records=4, aborted=True),
    ]
    (one,) = found(findings=several)
    assert one.by_topic == (("e", 5), ("a", 3), ("b", 1))
    assert (one.more_topics, one.records, one.cause) == (2, 11, Cause.ABORTED_TRANSACTION)


def test_a_cause_that_is_known_of_few_goes_before_none():
    (one,) = found(findings=[finding(R.EXTRA, records=9), finding(R.ALTERED, number=8, what=("value",))])
    assert one.cause is Cause.TRANSFORMED


def test_rows_are_bounded_and_what_the_document_does_not_show_is_reported_as_at_least():
    document = run(findings=[finding(number=number) for number in range(30)])
    document["findings"]["count"] = 40
    one = run_summary(read_run(document), ended_at=ENDED_AT, exactly_once=False).found[0]
    assert (len(one.rows), one.records, one.least) == (MAX_ROWS, 30, True)


@pytest.mark.parametrize(
    ("one", "at_least_once", "exactly_once"),
    [
        (block(lacking=3), Verdict.LOSING, Verdict.LOSING),
        (block(lacking=3, surplus=5), Verdict.LOSING, Verdict.LOSING),
        (block(surplus=5), None, Verdict.ALTERED),
        (block(), Verdict.ALTERED, Verdict.ALTERED),
        (block(lacking=3, certain=False), None, None),
    ],
)
def test_what_was_not_distinguished_is_evidence_of_what_counts_alone_prove(one, at_least_once, exactly_once):
    for once, verdict in ((False, at_least_once), (True, exactly_once)):
        seen = found(exactly_once=once, blocks=[one])
        assert [each.verdict for each in seen] == ([] if verdict is None else [verdict])
        assert all(each.least and each.cause is Cause.UNEXPLAINED for each in seen)


def standing(*summaries):
    return flow_audit(summaries)


def test_without_a_run_there_is_nothing():
    assert standing() is None


def test_the_newest_run_is_the_one_that_ended_last_whenever_it_was_reported():
    old, new = gist("old"), gist("new", ended_at=ENDED_AT + NIGHT_S)
    for order in ((old, new), (new, old)):
        told = standing(*order)
        assert told.newest is new
        assert told.evidence.ended_at == ENDED_AT + NIGHT_S


def test_a_later_clean_run_over_newer_records_takes_nothing_back():
    told = standing(gist("old", findings=[finding()]), gist("new", ended_at=ENDED_AT + NIGHT_S))
    assert [one.verdict for one in told.evidence.found] == [Verdict.LOSING]
    assert told.evidence.findings == 0
    assert [one.run for one in told.with_findings] == ["old"]


def test_a_later_run_by_the_same_plan_does():
    plan = {"planned_at": ENDED_AT - 900}
    old = gist("old", findings=[finding()], **plan)
    again = gist("again", ended_at=ENDED_AT + 600, **plan)
    assert old.plan == again.plan
    assert standing(old, again).evidence.found == ()
    assert [
        one.at
        for one in standing(
            old, gist("worse", ended_at=ENDED_AT + 5, findings=[finding()], **plan)
        ).evidence.found
    ] == [ENDED_AT + 5]


def test_what_several_runs_found_stands_oldest_first():
    runs = [gist(f"r{n}", ended_at=ENDED_AT + n, findings=[finding()]) for n in (2, 0, 1)]
    assert [one.at - ENDED_AT for one in standing(*runs).evidence.found] == [0, 1, 2]


# --- topics


def topics(*summaries):
    return standing(*summaries).topics


def test_each_topic_has_its_records_and_its_coverage():
    told = topics(
        gist(
            partitions=[partition(hidden=25, lost=1), partition(number=1), partition("payments", 0, lost=2)],
            findings=[finding(), finding(topic="payments")],
        )
    )
    assert told["orders"].coverage == 175 / 200
    assert (told["orders"].records[R.LOST], told["orders"].records[R.MATCH]) == (1, 174)
    assert told["orders"].verified_at is None
    assert (told["payments"].coverage, told["payments"].verified_at) == (1.0, ENDED_AT)


def test_what_is_left_out_for_good_is_not_verified_and_what_is_new_is_no_matter():
    told = topics(
        gist(partitions=[partition(), partition("payments")], left_out=[left(), left("payments", later=True)])
    )
    assert (told["orders"].coverage, told["orders"].verified_at) == (100 / 150, None)
    assert (told["payments"].coverage, told["payments"].verified_at) == (1.0, ENDED_AT)


def test_of_a_topic_that_is_left_out_wholly_nothing_is_unverified_where_it_is_empty():
    told = topics(gist(left_out=[left("gone"), left("empty", records=0)]))
    assert (told["gone"].coverage, told["gone"].verified_at) == (0.0, None)
    assert (told["empty"].coverage, told["empty"].verified_at) == (1.0, ENDED_AT)


def test_a_partition_that_is_left_out_and_empty_keeps_no_success_away():
    (one,) = topics(gist(left_out=[left("orders", 1, records=0)])).values()
    assert (one.coverage, one.verified_at) == (1.0, ENDED_AT)


def test_a_quiet_topic_was_verified_by_a_run_that_found_nothing_new_in_it():
    told = topics(
        gist("old"), gist("new", ended_at=ENDED_AT + NIGHT_S, partitions=[], nothing_new=["orders"])
    )
    assert (told["orders"].verified_at, told["orders"].coverage) == (ENDED_AT + NIGHT_S, 1.0)


@pytest.mark.parametrize(
    ("said", "nights_verified"),
    [({"nothing_new": ["orders"]}, 2), ({"left_out": [left(records=0)]}, 2), ({"left_out": [left()]}, 0)],
)
def test_a_run_that_had_none_of_its_records_to_compare_leaves_their_numbers(said, nights_verified):
    nights = [gist("old", partitions=[partition(lost=3)], findings=[finding(records=3)])]
    for night in (1, 2):
        nights.append(gist(f"night-{night}", ended_at=ENDED_AT + night * NIGHT_S, partitions=[], **said))
        told = topics(*nights)["orders"]
        assert (told.records[R.LOST], told.records[R.MATCH]) == (3, 97)
    assert told.verified_at == ENDED_AT + nights_verified * NIGHT_S


def test_a_run_that_finds_nothing_new_verifies_nothing_that_an_earlier_one_could_not():
    nights = [
        gist("whole"),
        gist("unread", ended_at=ENDED_AT + NIGHT_S, partitions=[partition(hidden=25)]),
        gist("quiet", ended_at=ENDED_AT + 2 * NIGHT_S, partitions=[], nothing_new=["orders"]),
        gist("still", ended_at=ENDED_AT + 3 * NIGHT_S, partitions=[], nothing_new=["orders"]),
    ]
    told = topics(*nights)["orders"]
    assert (told.at, told.coverage, told.verified_at) == (ENDED_AT + 3 * NIGHT_S, 0.75, ENDED_AT)
    told = topics(*nights, gist("new", ended_at=ENDED_AT + 4 * NIGHT_S))["orders"]
    assert (told.coverage, told.verified_at) == (1.0, ENDED_AT + 4 * NIGHT_S)


def test_a_topic_stands_as_the_last_run_that_compared_it_left_it():
    told = topics(
        gist("first", partitions=[partition(lost=3), partition("payments")]),
        gist("second", ended_at=ENDED_AT + 1, partitions=[partition(hidden=50)]),
        gist("third", ended_at=ENDED_AT + 2, partitions=[partition("payments", hidden=1)]),
    )
    assert (told["orders"].at, told["orders"].coverage, told["orders"].records[R.MATCH]) == (
        ENDED_AT + 1,
        0.5,
        50,
    )
    assert told["orders"].verified_at == ENDED_AT
    assert (told["payments"].at, told["payments"].verified_at) == (ENDED_AT + 2, ENDED_AT)


@pytest.mark.parametrize(
    ("said", "differing"),
    [
        ({"partitions": [partition(lost=1, altered=2, misrouted=3, reordered=4)]}, 10),
        ({"partitions": [partition(duplicated=5)], "expected": [finding(R.DUPLICATED, records=5)]}, 0),
        ({"partitions": [partition(extra=2)], "expected": [finding(R.EXTRA, aborted=True, records=2)]}, 0),
        ({"partitions": [partition(extra=2)], "findings": [finding(R.EXTRA, records=2)]}, 2),
        ({"blocks": [block(lacking=90_000), block(lacking=7, certain=False)]}, 90_000),
        ({"blocks": [block()]}, 1),  # only moved
        ({"blocks": [block(surplus=5)]}, 0),
    ],
)
def test_a_topic_counts_what_makes_the_exit_status_1(said, differing):
    assert topics(gist(**said))["orders"].differing == differing


def test_under_exactly_once_a_surplus_counts_too():
    assert topics(gist(exactly_once=True, blocks=[block(surplus=5)]))["orders"].differing == 5


def test_a_run_without_records_of_a_topic_clears_nothing_and_one_with_records_does():
    first, later = gist("first", blocks=[block(lacking=3)]), {"ended_at": ENDED_AT + NIGHT_S}
    assert (
        topics(first, gist("quiet", partitions=[], nothing_new=["orders"], **later))["orders"].differing == 3
    )
    assert topics(first, gist("busy", **later))["orders"].differing == 0


def test_a_later_run_over_all_topics_drops_those_that_it_does_not_have():
    first = gist("first", partitions=[partition("deleted", lost=1), partition("kept"), partition("quiet")])
    later = {"ended_at": ENDED_AT + NIGHT_S, "partitions": [partition("kept")], "nothing_new": ["quiet"]}
    assert set(topics(first, gist("some", **later))) == {"deleted", "kept", "quiet"}
    assert set(topics(first, gist("all", whole=True, **later))) == {"kept", "quiet"}


def test_of_a_run_whose_lists_are_cut_nothing_is_dropped():
    first = gist("first", partitions=[partition("deleted")])
    document = run("all", whole=True, partitions=[partition("a"), partition("b")], ended_at=ENDED_AT + 1)
    document["partitions"]["count"] = 3
    second = run_summary(read_run(document), ended_at=ENDED_AT + 1, exactly_once=False)
    assert set(topics(first, second)) == {"deleted", "a"}


def test_a_topic_that_is_no_longer_replicated_is_dropped():
    found = flow_audit(
        [gist(partitions=[partition("a"), partition("b")])], replicates=lambda topic: topic == "a"
    )
    assert set(found.topics) == {"a"}


@pytest.mark.parametrize(("shown", "known"), [(3, {"a", "b", "c"}), (2, {"a"}), (1, set()), (0, set())])
def test_of_a_document_that_was_cut_only_whole_topics_are_reported(shown, known):
    document = run(
        partitions=[partition("a"), partition("b"), partition("c")] if shown else [partition("a")],
        left_out=[left("z")] if shown < 3 else [],
    )
    listed = document["partitions"]
    listed["shown"] = listed["shown"][:shown]
    listed["count"] = 3
    told = run_summary(read_run(document), ended_at=ENDED_AT, exactly_once=False).topics
    assert set(told) == known


def cut(document, shown):
    """A document of which the ends of the list are left out, as a large one is told."""
    listed = document["left_out"]
    return document | {"left_out": {**listed, "shown": listed["shown"][:shown]}}


@pytest.mark.parametrize(
    ("shown", "known"),
    [(4, {"a", "b", "c"}), (3, {"a", "b", "c"}), (2, {"a"}), (1, set()), (0, set())],
)
def test_where_what_is_left_out_was_cut_only_topics_before_the_end_are_reported(shown, known):
    gone = [left("a", 1), left("b", 1)]
    new = [left("a", 2, later=True), left("c", 2, later=True)]
    document = run(
        partitions=[partition(name) for name in "abc"],
        left_out=sorted([*new, *gone], key=lambda one: (one.topic, one.partition)),
        nothing_new=["quiet"],
    )
    told = run_summary(read_run(cut(document, shown)), ended_at=ENDED_AT, exactly_once=False).topics
    assert set(told) == known | {"quiet"}  # of which all was verified before, whatever is left out
    assert {name for name, one in told.items() if one.verified_at is None} == known - {"c"}


def test_what_is_new_is_cut_before_what_is_left_out():
    new = [left("busy", number, later=True) for number in range(MOST_LEFT_OUT)]
    document = run(partitions=[partition("zebra")], left_out=[*new, left("zebra", 1, records=900)])
    assert (document["left_out"]["count"], len(document["left_out"]["shown"])) == (
        MOST_LEFT_OUT + 1,
        MOST_LEFT_OUT,
    )
    told = run_summary(read_run(document), ended_at=ENDED_AT, exactly_once=False).topics
    assert {name: (one.coverage, one.verified_at) for name, one in told.items()} == {"zebra": (0.1, None)}


RUNS = st.lists(
    st.builds(
        lambda at, lost, hidden, names: {
            "ended_at": ENDED_AT + at,
            "partitions": [partition(name, lost=lost, hidden=hidden) for name in sorted(names)],
            "findings": [finding(records=lost, number=at)] if lost else [],
        },
        st.integers(0, 5),
        st.integers(0, 3),
        st.integers(0, 50),
        st.sets(st.sampled_from(["a", "b", "c"])),
    ),
    min_size=1,
    max_size=6,
)


@given(RUNS, st.randoms())
def test_it_is_the_same_in_whatever_order_runs_were_reported(runs, random):
    summaries = [gist(f"r{number}", **said) for number, said in enumerate(runs)]
    told = standing(*summaries)
    random.shuffle(summaries)
    assert standing(*summaries) == told
    assert {name for one in summaries for name in one.topics} == set(told.topics)
    for topic in told.topics.values():
        assert topic.verified_at is None or topic.verified_at <= topic.at <= told.newest.ended_at
        assert 0 <= topic.coverage <= 1


@pytest.mark.parametrize(
    ("runs", "found"),
    [
        ("", None),
        ("a0", None),
        ("b1", "b1"),
        ("n0 b0 a1", "a1"),  # with nothing new, or over newer records, nothing is taken back
        ("a0 a1", None),  # the same plan: the same records
        ("a0 b1 a1", "b1"),
        ("a0 a1 b1", "b1"),
    ],
)
def test_the_newest_finding_is_one_that_no_later_run_by_its_plan_took_back(runs, found):
    rows = [RunRow(one, "A->B", one[0], "", 0, 0, int(one[1]), False, 1.0, 0, 9, 9) for one in runs.split()]
    newest = newest_finding(rows)
    assert (newest and newest.run) == found
