"""What is kept of a flood of findings: one for each minute and place, with both its instants and all its count."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from canary.persistence.saving import Waiting
from canary.watch.findings import MAX_FINDINGS, MERGED_S, Findings, row_of
from fleet.verdicts.evidence import Finding, FindingKind

PAUSE_S = 5.0
ALTERED = FindingKind.ALTERED


def found(
    at: float, *, kind=ALTERED, partition: int = 0, offset: int | None = None, **more: object
) -> Finding:
    return Finding(kind, at, "A.c", partition, None, offset, f"at {at}", **more)


def kept(*findings: Finding) -> list[Finding]:
    findings_kept = Findings()
    for one in findings:
        findings_kept.add(one, pause_s=PAUSE_S)
    return list(findings_kept.all())


def test_a_flood_is_a_row_a_minute_and_partition_whatever_the_store_does():
    """A mirror that alters every probe of 64 partitions once a second, for ten minutes."""
    flood, taken = Findings(), {}
    for second in range(600):
        for partition in range(64):
            flood.add(found(float(second), partition=partition), pause_s=PAUSE_S)
        taken |= {row_of(one): one for one in flood.take()}
    assert len(taken) == 64 * 10
    assert sum(one.count for one in taken.values()) == 64 * 600
    assert len(flood.all()) == MAX_FINDINGS


def test_a_finding_that_grows_keeps_its_row_and_tells_its_newest():
    flood = Findings()
    flood.add(found(10.0, offset=7), pause_s=PAUSE_S)
    (first,) = flood.take()
    flood.add(found(14.5, offset=9, count=3), pause_s=PAUSE_S)
    (again,) = flood.take()
    assert row_of(again) == row_of(first)
    assert again == replace(found(14.5, offset=9), count=4, first_at=10.0)
    assert flood.take() == []
    assert flood.all() == (again,)


def test_what_comes_after_a_pause_or_a_minute_is_a_finding_of_its_own():
    spans = [(one.began_at, one.at) for one in kept(found(0.0), found(5.0), found(10.1), found(15.0))]
    assert spans == [(0.0, 5.0), (10.1, 15.0)]
    minute = kept(*(found(4.0 * number) for number in range(20)))
    assert [(one.began_at, one.at, one.count) for one in minute] == [(0.0, MERGED_S, 16), (64.0, 76.0, 4)]


def test_unlike_findings_are_never_counted_together():
    unlike = [
        found(0.0),
        found(0.1, partition=1),
        found(0.2, named=False),
        found(0.3, overtaken=True),
        found(0.4, kind=FindingKind.MISROUTED),
    ]
    assert kept(*unlike) == unlike


def test_one_that_is_told_late_moves_nothing_back():
    (one,) = kept(found(10.0, offset=5), found(9.0, offset=4))
    assert (one.began_at, one.at, one.target_offset, one.count) == (10.0, 10.0, 5, 2)


@given(st.lists(st.tuples(st.floats(0, 200), st.integers(0, 2), st.integers(1, 9)), max_size=60))
def test_no_count_is_lost_and_no_two_bursts_are_joined(plan):
    ones = [found(at, partition=partition, count=count) for at, partition, count in sorted(plan)]
    findings = kept(*ones)
    assert sum(one.count for one in findings) == sum(one.count for one in ones)
    for one in findings:
        within = [
            each.at for each in ones if each.partition == one.partition and one.began_at <= each.at <= one.at
        ]
        assert one.at - one.began_at <= MERGED_S
        assert all(later - at <= PAUSE_S for at, later in pairwise(within))
        assert {one.began_at, one.at} <= set(within)


def test_a_clock_that_is_set_moves_what_is_kept_and_leaves_the_rows_as_they_are():
    flood = Findings()
    flood.add(found(10.0), pause_s=PAUSE_S)
    flood.add(found(11.0), pause_s=PAUSE_S)
    flood.move_instants(3600.0)
    assert flood.latest_at == 3611.0  # or a flow would be plainly well although something was just found
    flood.add(found(3611.5), pause_s=PAUSE_S)
    assert [(one.began_at, one.at, one.count) for one in flood.all()] == [
        (3610.0, 3611.0, 2),
        (3611.5, 3611.5, 1),
    ]
    assert [(one.began_at, one.at, one.count) for one in flood.take()] == [
        (10.0, 11.0, 2),
        (3611.5, 3611.5, 1),
    ]


def test_a_loop_that_was_called_fixed_is_neither_kept_nor_written_nor_grown():
    flood = Findings()
    kinds = (FindingKind.LOOPED, FindingKind.DUPLICATED, FindingKind.LOST)
    for kind in kinds:
        flood.add(found(1.0, kind=kind), pause_s=PAUSE_S)
    flood.forget_loops()
    assert [one.kind for one in flood.all()] == [one.kind for one in flood.take()] == [FindingKind.LOST]
    for kind in kinds:
        flood.add(found(2.0, kind=kind), pause_s=PAUSE_S)
    assert {one.kind: one.count for one in flood.all()} == dict(zip(kinds, (1, 1, 2), strict=True))


def test_a_write_that_fails_brings_back_no_loop_that_was_called_fixed_meanwhile():
    writing, since = Waiting(), Waiting()
    for flow in ("A->B", "A->C"):
        for kind in (FindingKind.LOOPED, FindingKind.LOST):
            one = found(1.0, kind=kind)
            writing.findings[flow, row_of(one)] = (flow, one)
    since.forget_loops("A->B")
    again = found(2.0, kind=FindingKind.LOOPED)  # and it was not mended
    since.findings["A->B", row_of(again)] = ("A->B", again)
    after = writing.followed_by(since)
    assert [(flow, one.kind.value, one.at) for flow, one in after.findings.values()] == [
        ("A->B", "lost", 1.0),
        ("A->C", "looped", 1.0),
        ("A->C", "lost", 1.0),
        ("A->B", "looped", 2.0),
    ]
    assert after.unlooped == {"A->B"}
