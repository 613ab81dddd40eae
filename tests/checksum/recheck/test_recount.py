"""What only the digests tell is counted again, and stands where the count does not refute it."""

from __future__ import annotations

import pytest

from checksum.compare.findings import Finding, Proof, RecordVerdict
from checksum.digest.record_hash import Content, record_hash
from checksum.plan.shape import OffsetRange
from checksum.recheck import recount
from checksum.recheck.recount import Recount
from tests.checksum.pretend_clusters import PretendReader
from tests.checksum.pretend_logs import Partition, plan_of
from tests.checksum.pretend_mirror import Log, Record

V = RecordVerdict
COUNT = 60


def record(at):
    return Record(at, b"k", b"v%d" % at, 1000 + at)


def confirmed_by_count(verdict, target, *, offsets=None, proof=Proof.DIGESTS):
    """Tell whether a finding about the record of offset 10 stands, the target holding these records."""
    logs = {"t": Log([record(at) for at in range(COUNT)]), "A.t": Log([record(at) for at in target])}
    plan = plan_of({"t": [Partition(source_until=COUNT, target_until=len(target))]})
    found = record_hash(Content(b"k", b"v10", 1010, None))
    lacking = verdict in (V.LOST, V.ALTERED, V.MISROUTED)
    place = offsets or OffsetRange(0, COUNT if lacking else len(target))
    source, there = (place, None) if lacking else (None, place)
    finding = Finding(verdict, "t", 0, 1, found, 1010, source, there, proof)
    readers = [PretendReader({(name, 0): log}) for name, log in logs.items()]
    return Recount(plan, *readers).confirmed_by_count([finding]) == [finding], [one.picked for one in readers]


@pytest.mark.parametrize("verdict", [V.DUPLICATED, V.EXTRA])
@pytest.mark.parametrize(
    ("window", "target", "offsets", "stands"),
    [
        (100, [*range(COUNT), 10], None, True),  # it is there twice
        (100, [*range(COUNT)], None, False),  # it is not
        (20, [*range(COUNT), 10], None, True),  # the second one stands behind what is counted
        (20, [*range(COUNT)], None, True),  # and may stand there for all that was counted
        (20, [*range(COUNT)], OffsetRange(5, 30), False),
        (20, [*range(COUNT)], OffsetRange(5, 31), True),
        (20, [*range(12), 10, *range(12, COUNT)], OffsetRange(5, 30), True),
    ],
)
def test_a_record_too_many_is_refuted_only_where_all_that_it_may_stand_at_was_counted(
    monkeypatch, verdict, *, window, target, offsets, stands
):
    monkeypatch.setattr(recount, "MOST_RECORDS", window)
    assert confirmed_by_count(verdict, target, offsets=offsets)[0] is stands


@pytest.mark.parametrize("verdict", [V.LOST, V.ALTERED, V.MISROUTED])
@pytest.mark.parametrize(
    ("target", "stands"), [([*range(COUNT)], False), ([*range(10), *range(11, COUNT)], True)]
)
def test_a_record_that_lacks_is_refuted_where_it_is_there(monkeypatch, verdict, target, stands):
    monkeypatch.setattr(recount, "MOST_RECORDS", 20)
    assert confirmed_by_count(verdict, target)[0] is stands


def test_what_was_read_is_not_counted_again():
    assert confirmed_by_count(V.LOST, [*range(COUNT)], proof=Proof.READING) == (True, [0, 0])


def test_where_no_record_is_as_late_nothing_is_refuted():
    assert confirmed_by_count(V.DUPLICATED, [*range(5)])[0] is True
