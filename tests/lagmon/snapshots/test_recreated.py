"""A re-created source topic, if the service restarts before the mirror continues in the new log."""

from __future__ import annotations

import pytest

from fleet.errors import MalformedError
from fleet.verdicts.vocabulary import Verdict
from lagmon.mirrors.detectors.recreated.outcome import Base
from lagmon.snapshots.flow import read_flow
from lagmon.snapshots.frames import seal
from tests.lagmon.mirror_flows import NOW, S, told
from tests.lagmon.mirrors.metadata.test_topics import Watched, lost, stand_and_remake
from tests.lagmon.snapshots.test_flow import WHOLE, losses, read_again, restarted
from tests.lagmon.snapshots.test_holding import taken_up

SKIPPED = [("topic_recreated", "orders", number, 6000, 0, 5999) for number in (0, 1)]
UNDECIDED = ["t", NOW, -1, [[0, 5, NOW, 7, 1, 9]], NOW - 5]


def recreated(records):
    """Give a flow whose mirror stands at 6,000 of a topic that was made anew, with so many records."""
    flow = Watched().run(60)
    stand_and_remake(flow, records=records)
    return flow


def again(flow):
    """Return the same world after a restart, once it was looked at and the offsets are read."""
    flow = taken_up(flow)
    flow.now += 5 * S
    flow.poll()
    flow.snapshot()
    return flow


def goes_on(flow, *, to, copied):
    """Let the mirror write its first offset of the new log, with so many more records in its copy."""
    for partition in (0, 1):
        flow.target_ends["A.orders", partition] += copied
        flow.commit(partition=partition, to=to)
    return flow.run(60)


@pytest.mark.parametrize("restarts", [1, 2])
def test_what_the_mirror_skips_after_a_restart_is_lost(restarts):
    flow = recreated(6500)
    for _ in range(restarts):
        flow = again(flow)
    goes_on(flow, to=6500, copied=500)
    assert lost(flow) == SKIPPED


@pytest.mark.parametrize(("copied", "found"), [(500, SKIPPED), (6500, [])])
def test_of_a_topic_recreated_meanwhile_it_shows_though_its_id_is_read_before_the_offsets_are(copied, found):
    before = Watched().run(60)
    before.goes = set()
    before.run(20)
    flow = restarted(before, with_offsets=False)
    flow.__class__ = Watched
    flow.now += 300 * S
    flow.remake_source(records=6500)
    assert told(flow)[0] is Verdict.UNKNOWN
    flow.ask()
    flow.flow.read_to_ms = -1
    assert told(flow)[0] is Verdict.UNKNOWN
    read_again(before, flow)
    flow.run(10)
    goes_on(flow, to=6500, copied=copied)
    assert (told(flow), lost(flow)) == ((Verdict.HEALTHY, None), found)


@pytest.mark.parametrize(("records", "copied"), [(6500, 6500), (500, 500)])
def test_what_the_mirror_replicates_whole_after_a_restart_is_neither_lost_nor_repeated(records, copied):
    flow = again(recreated(records))
    goes_on(flow, to=records, copied=copied)
    flow.goes = {"orders", "other"}
    flow.run(60)
    assert (told(flow), lost(flow)) == ((Verdict.HEALTHY, None), [])


def test_what_a_mirror_replicates_whole_after_a_restart_is_no_step_back_later():
    flow = again(recreated(500))
    goes_on(flow, to=500, copied=500)
    flow.goes = {"other"}
    for partition in (0, 1):
        flow.write(9000, partition=partition)  # past where it was in the old log, and then left alone
        flow.commit(partition=partition)
    for _ in range(100):
        flow.run(10)
        assert told(flow) == (Verdict.HEALTHY, None), flow.verdict().sentence
    assert flow.snapshot().rewinds == {}


def test_what_was_replicated_whole_before_a_restart_and_is_left_alone_is_not_stalled():
    """Its newest offset was written before its new id was read."""
    flow = Watched().run(60)
    flow.goes = {"other"}
    flow.run(20)
    flow.now += 2 * S
    flow.remake_source()
    for partition in (0, 1):
        flow.write(9000, partition=partition)
        flow.commit(partition=partition)
    flow.now += 3 * S
    flow.run(200, poll=5)
    assert told(flow) == (Verdict.HEALTHY, None)
    flow = again(flow)
    assert (told(flow), lost(flow)) == ((Verdict.HEALTHY, None), [])
    flow.run(120)
    assert told(flow) == (Verdict.HEALTHY, None)


def test_that_it_is_not_known_yet_is_reported_after_a_restart_for_as_long_as_before():
    flow = recreated(6500)
    before = told(flow)
    assert before[0] is Verdict.UNKNOWN
    assert told(again(flow)) == before


def test_what_is_decided_is_not_kept_as_undecided():
    flow = goes_on(recreated(6500), to=6500, copied=500)
    assert again(flow).flow.detectors.recreated.kept_undecided() == []


def test_the_whole_of_it_can_be_read():
    found = read_flow(seal(WHOLE | {"confirmed": [["t", 0, NOW]]}))
    assert (found.confirmed, read_flow(seal(WHOLE)).confirmed) == ({("t", 0): NOW}, {})

    (found,) = read_flow(seal(WHOLE | losses(undecided=[UNDECIDED]))).losses.undecided
    assert (found.topic, found.at_ms, found.gone_ms) == ("t", NOW, -1)
    assert found.open == {0: Base(next_offset=5, at_ms=NOW, target_end=7, sure=True, log_most=9)}
    assert found.known_ms == NOW - 5
    (of_older,) = read_flow(seal(WHOLE | losses(undecided=[UNDECIDED[:4]]))).losses.undecided
    assert (of_older.known_ms, of_older.open) == (-1, found.open)
    assert read_flow(seal(WHOLE)).losses.undecided == []  # an older process kept none


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        (UNDECIDED[:3], "expected a list"),
        ([5, *UNDECIDED[1:]], "expected a text"),
        (["t", "then", *UNDECIDED[2:]], "expected a number"),
        ([*UNDECIDED[:4], "then"], "expected a number"),
        ([*UNDECIDED, 5], "expected a list"),
        (["t", NOW, -1, [[0, 5, NOW, 7, 1]]], "expected a list"),
        (["t", NOW, -1, [[0, -1, NOW, 7, 1, 9]]], "expected a number"),
        (["t", NOW, -1, [[0, 5, NOW, -2, 1, 9]]], "expected a number"),
        (["t", NOW, -1, [[0, 5, NOW, 7, 2, 9]]], "expected a number"),
        (["t", NOW, -1, [[0, 5, 1 << 60, 7, 1, 9]]], "expected a number"),
    ],
)
def test_what_is_wrong_is_reported(row, sentence):
    with pytest.raises(MalformedError, match=sentence):
        read_flow(seal(WHOLE | losses(undecided=[row])))
