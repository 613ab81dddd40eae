"""What size and settings say of a lost record, and how both are asked for."""

from types import SimpleNamespace

import pytest

from checksum import loss_looks
from checksum.causes import cause_of
from checksum.findings import Finding, Proof, RecordVerdict
from checksum.loss_causes import BATCH_BYTES, limits_of, with_causes
from checksum.loss_looks import explained, sizes_of
from checksum.plan_shape import OffsetRange
from fleet.errors import RefusedError
from fleet.flow import Flow
from fleet.vocabulary import Cause
from tests.checksum.pretend_clusters import PretendAdmin, PretendReader
from tests.checksum.pretend_logs import Partition, plan_of
from tests.checksum.pretend_mirror import Log, Record

PLAN = plan_of({"t": [Partition()]})
LIMIT = 1000


def lost(offset=7, *, span=1, verdict=RecordVerdict.LOST):
    source = OffsetRange(offset, offset + span)
    return Finding(verdict, "t", 0, 1, offset, 0, source, None, Proof.READING)


def flow(**settings):
    return Flow("A", "B", **settings)


def told(one, size_bytes, **settings):
    limits = limits_of(flow(**settings), PLAN, {"A.t": {"max.message.bytes": str(LIMIT)}})
    (found,) = with_causes([one], flow(**settings), limits, {("t", 0, 7): size_bytes})
    return cause_of(found), found.why


def test_the_plan_names_the_topic_s_copy():
    assert PLAN.topics[0].target_topic == "A.t"


@pytest.mark.parametrize("transforms", [(), ("drop",)])
@pytest.mark.parametrize("skips_failed", [False, True])
def test_what_is_larger_than_the_target_takes_was_rejected(transforms, skips_failed):
    settings = {"transforms": transforms, "skips_failed": skips_failed}
    cause, why = told(lost(), LIMIT - BATCH_BYTES + 1, **settings)
    assert cause is Cause.RECORD_REJECTED
    assert why == (
        "sent by itself it takes 1,001 bytes, and A.t on B takes no more than 1000 (max.message.bytes)"
    )
    assert told(lost(), LIMIT - BATCH_BYTES, **settings)[0] is not Cause.RECORD_REJECTED


def test_the_smaller_limit_holds():
    cause, why = told(lost(), 600, max_request_bytes=500)
    assert (cause, why) == (
        Cause.RECORD_REJECTED,
        "sent by itself it takes 668 bytes, and the mirror's producer sends no more than 500 (max.request.size)",
    )


@pytest.mark.parametrize(
    ("transforms", "skips_failed", "cause", "why"),
    [
        ((), False, Cause.UNEXPLAINED, ""),
        (("drop",), False, Cause.FILTERED, "the mirror applies the transform drop"),
        (("drop", "mask"), False, Cause.FILTERED, "the mirror applies the transforms drop, mask"),
        (("drop",), True, Cause.UNEXPLAINED, ""),  # it may have failed, and nobody was told
    ],
)
def test_a_transform_explains_what_no_failure_does(transforms, skips_failed, cause, why):
    assert told(lost(), 10, transforms=transforms, skips_failed=skips_failed) == (cause, why)


def test_only_lost_records_get_a_cause_here():
    assert told(lost(verdict=RecordVerdict.REORDERED), 10**6, transforms=("drop",)) == (Cause.UNEXPLAINED, "")


def test_one_of_several_offsets_has_no_size():
    assert loss_looks.lost_records([lost(span=2)]) == []


def reader(*values):
    records = [Record(0, b"k", value, 0, [("h", b"12"), ("n", None)]) for value in values]
    return PretendReader({("t", 0): Log(records)})


def test_sizes_are_those_of_key_value_and_headers():
    found = sizes_of(reader(b"v" * 10, None, b"v" * 20), [("t", 0, 0), ("t", 0, 1), ("t", 0, 9)])
    assert found == {("t", 0, 0): 15, ("t", 0, 1): 5}


@pytest.mark.parametrize(("name", "most", "known"), [("MOST_SIZES", 2, 2), ("MOST_BYTES", 30, 2)])
def test_no_more_is_read_than_may_be(monkeypatch, name, most, known):
    monkeypatch.setattr(loss_looks, name, most)
    some = reader(*[b"v" * 10] * 9)
    assert len(sizes_of(some, [("t", 0, offset) for offset in range(9)])) == known
    assert some.picked == known


def sides(settings, admin=PretendAdmin):
    target = SimpleNamespace(admin=admin(settings={"A.t": settings}))
    return SimpleNamespace(target=target, readers=SimpleNamespace(source=reader(b"v" * LIMIT)))


async def test_both_clusters_are_asked():
    found = await explained([lost(0)], flow(), PLAN, sides({"max.message.bytes": "1000"}))
    assert [one.cause for one in found] == [Cause.RECORD_REJECTED]


async def test_without_the_right_to_ask_what_is_known_stands():
    class Refusing(PretendAdmin):
        async def describe_topic_config(self, name):
            raise RefusedError(f"{name} may not be described")

    asked = sides({"max.message.bytes": "1000"}, Refusing)
    found = await explained([lost(0)], flow(transforms=("drop",)), PLAN, asked)
    assert [one.cause for one in found] == [Cause.FILTERED]
    assert await explained([lost(0)], flow(), PLAN, asked) == (lost(0),)
