"""What size and settings say of a lost record, and how both are asked for."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from checksum.compare.findings import Finding, Proof, RecordVerdict, cause_of
from checksum.plan.shape import OffsetRange
from checksum.recheck import loss_evidence
from checksum.recheck.loss_causes import SENT_BYTES, limits_of, with_causes
from checksum.recheck.loss_evidence import sizes_of, with_loss_causes
from fleet.errors import RefusedError, UnavailableError
from fleet.mm2.handling import Handling
from fleet.verdicts.flow import Flow
from fleet.verdicts.vocabulary import Cause
from tests.checksum.pretend_clusters import PretendAdmin, PretendReader
from tests.checksum.pretend_logs import Partition, plan_of
from tests.checksum.pretend_mirror import Log, Record

PLAN = plan_of({"t": [Partition()]})
LIMIT = 1000


def lost(offset=7, *, span=1, verdict=RecordVerdict.LOST):
    source = OffsetRange(offset, offset + span)
    return Finding(verdict, "t", 0, 1, offset, 0, source, None, Proof.READING)


def flow(**known):
    return Flow("A", "B", handling=Handling(**known))


def told(one, size_bytes, **known):
    limits = limits_of(flow(**known), PLAN, {"A.t": {"max.message.bytes": str(LIMIT)}})
    (found,) = with_causes([one], Handling(**known), limits, {("t", 0, 7): size_bytes})
    return cause_of(found), found.why


def test_the_plan_names_the_topic_s_copy():
    assert PLAN.topics[0].target_topic == "A.t"


@pytest.mark.parametrize("drops", [(), ("drop",)])
@pytest.mark.parametrize("skips_failed", [None, True])
def test_what_is_larger_than_the_target_takes_was_rejected(drops, skips_failed):
    known = {"drops": drops, "skips_failed": skips_failed, "compresses": False}
    cause, why = told(lost(), LIMIT - SENT_BYTES + 1, **known)
    assert cause is Cause.RECORD_REJECTED
    limit = "A.t on B accepts at most 1000 bytes (max.message.bytes)"
    assert why == f"uncompressed it has at least 1,001 bytes, but {limit}"
    assert told(lost(), LIMIT - SENT_BYTES, **known) == (Cause.UNEXPLAINED, "")


@pytest.mark.parametrize("compresses", [None, True])
def test_of_what_is_compressed_no_topic_s_limit_tells(compresses):
    known = {"skips_failed": True, "compresses": compresses}
    assert told(lost(), 10**6, **known)[0] is Cause.UNEXPLAINED
    assert told(lost(), 10**6, **known, max_request_bytes=10**6)[0] is Cause.RECORD_REJECTED


def test_the_smaller_limit_holds():
    cause, why = told(lost(), 500, skips_failed=True, compresses=False, max_request_bytes=500)
    limit = "MirrorMaker's producer sends at most 500 bytes (max.request.size)"
    assert cause is Cause.RECORD_REJECTED
    assert why == f"uncompressed it has at least 585 bytes, but {limit}"


def test_a_mirror_that_stops_at_failures_has_passed_over_none():
    known = {"skips_failed": False, "compresses": False}
    assert told(lost(), 10**6, **known) == (Cause.UNEXPLAINED, "")
    assert told(lost(), 10**6, **known, drops=("drop",))[0] is Cause.FILTERED


@pytest.mark.parametrize(
    ("drops", "skips_failed", "cause", "why"),
    [
        ((), False, Cause.UNEXPLAINED, ""),
        (("drop",), False, Cause.FILTERED, "MirrorMaker applies the transform drop and stops on errors"),
        (
            ("drop", "mask"),
            False,
            Cause.FILTERED,
            "MirrorMaker applies the transforms drop, mask and stops on errors",
        ),
        (("drop",), True, Cause.UNEXPLAINED, ""),  # it may have failed, and nobody was told
        (("drop",), None, Cause.UNEXPLAINED, ""),
    ],
)
def test_a_transform_explains_what_no_failure_does(drops, skips_failed, cause, why):
    assert told(lost(), 10, drops=drops, skips_failed=skips_failed) == (cause, why)


def test_only_lost_records_get_a_cause_here():
    assert told(lost(verdict=RecordVerdict.REORDERED), 10**6, drops=("drop",), skips_failed=False) == (
        Cause.UNEXPLAINED,
        "",
    )


def test_one_of_several_offsets_has_no_size():
    assert loss_evidence.lost_records([lost(span=2)]) == []


def reader(*values):
    records = [Record(0, b"k", value, 0, [("h", b"12"), ("n", None)]) for value in values]
    return PretendReader({("t", 0): Log(records)})


def test_sizes_are_those_of_key_value_and_headers():
    found = sizes_of(reader(b"v" * 10, None, b"v" * 20), [("t", 0, 0), ("t", 0, 1), ("t", 0, 9)])
    assert found == {("t", 0, 0): 15, ("t", 0, 1): 5}


@pytest.mark.parametrize(
    ("name", "most", "known"),
    [("MOST_SIZES", 2, 2), ("MOST_SIZES", 5, 5), ("MOST_EACH", 3, 6), ("MOST_BYTES", 30, 4)],
)
def test_no_more_is_read_than_may_be(monkeypatch, name, most, known):
    monkeypatch.setattr(loss_evidence, name, most)
    values = [Record(0, b"k", b"v" * 10, 0)] * 9
    some = PretendReader({("t", 0): Log(values), ("t", 1): Log(values)})
    found = sizes_of(some, [("t", number, offset) for number in (0, 1) for offset in range(9)])
    assert len(found) == known
    assert some.picked == known


def test_a_question_is_of_few_partitions():
    places = [("t", number) for number in range(50)]
    some = PretendReader({place: Log([Record(0, b"k", b"v", 0)]) for place in places})
    asked = []
    pick = some.pick
    some.pick = lambda wanted: asked.append(len(wanted)) or pick(wanted)
    assert len(sizes_of(some, [(*place, 0) for place in places])) == 50
    assert asked == [16, 16, 16, 2]


def sides(settings, admin=PretendAdmin):
    target = SimpleNamespace(admin=admin(settings={"A.t": settings}))
    return SimpleNamespace(target=target, readers=SimpleNamespace(source=reader(b"v" * LIMIT)))


SKIPS = flow(skips_failed=True, compresses=False)


async def test_both_clusters_are_asked():
    found = await with_loss_causes([lost(0)], SKIPS, PLAN, sides({"max.message.bytes": "1000"}))
    assert [one.cause for one in found] == [Cause.RECORD_REJECTED]


async def test_without_the_right_to_ask_what_is_known_stands():
    class Refusing(PretendAdmin):
        async def describe_topic_config(self, name):
            raise RefusedError(f"{name} may not be described")

    asked = sides({"max.message.bytes": "1000"}, Refusing)
    assert await with_loss_causes([lost(0)], SKIPS, PLAN, asked) == (lost(0),)
    known = replace(SKIPS, handling=replace(SKIPS.handling, max_request_bytes=500))
    found = await with_loss_causes([lost(0)], known, PLAN, asked)
    assert [one.cause for one in found] == [Cause.RECORD_REJECTED]


async def test_a_source_that_does_not_answer_takes_no_finding_away():
    asked = sides({"max.message.bytes": "1000"})

    def pick(_wanted):
        raise UnavailableError("no answer")

    asked.readers.source.pick = pick
    assert await with_loss_causes([lost(0)], SKIPS, PLAN, asked) == (lost(0),)
