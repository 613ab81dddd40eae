"""Latches in the store, and their keeping: written when they fall, seen by others, lifted by a person."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from canary.persistence import bookkeeper, tables
from canary.persistence.latches import MIGRATIONS, Latch
from fleet.errors import UnavailableError
from fleet.verdicts.evidence import Finding, FindingKind
from mirrorwatch.service.latching import WHERE, Latching
from runtime.store.store import Store
from tests.databases import DATABASES, address_of
from tests.runtime.fake_clock import FakeClock

LATCH = Latch("A", "c", "one", 1_700_000_000.0, "probe 3 of partition 0 came back to its source")


class Roster:
    def __init__(self):
        self.latches = {}
        self.flows = {
            name: SimpleNamespace(flow=SimpleNamespace(source=name[0])) for name in ("A->B", "A->C", "B->A")
        }

    def hold_latches(self, latches):
        self.latches = dict(latches)


@pytest.fixture(params=DATABASES)
async def scene(request, tmp_path):
    store = Store(address_of(request, tmp_path), migrations=(*bookkeeper.MIGRATIONS, *MIGRATIONS))
    await store.open()
    said = {}
    reporter = SimpleNamespace(problem=said.__setitem__, settled=lambda where: said.pop(where, None))

    def process():
        latching = Latching(store, clock=FakeClock(), reporter=reporter)
        return latching, SimpleNamespace(roster=Roster())

    yield SimpleNamespace(store=store, said=said, process=process)
    await store.close()


async def test_one_process_latches_and_every_other_follows_and_lifts(scene):
    (ours, here), (others, there) = scene.process(), scene.process()
    here.roster.hold_latches({LATCH.key: LATCH})
    ours.note(LATCH)
    await ours.look(here)
    await others.look(there)
    assert there.roster.latches == here.roster.latches == await ours.read() == {LATCH.key: LATCH}
    assert await others.lift(there, "A", "other") is None
    assert await others.lift(there, "A", "c") == LATCH
    await ours.look(here)
    assert there.roster.latches == here.roster.latches == await ours.read() == {}


async def test_the_first_latch_of_a_topic_stays(scene):
    (ours, here), (others, there) = scene.process(), scene.process()
    ours.note(LATCH)
    await ours.look(here)
    others.note(Latch("A", "c", "two", 5.0, "later"))
    await others.look(there)
    assert there.roster.latches == {LATCH.key: LATCH}


async def test_a_store_that_does_not_answer_keeps_the_latch_where_it_fell(scene):
    ours, here = scene.process()
    here.roster.hold_latches({LATCH.key: LATCH})
    ours.note(LATCH)
    await scene.store.close()
    await ours.look(here)
    assert WHERE in scene.said
    assert here.roster.latches == {LATCH.key: LATCH}
    with pytest.raises(UnavailableError):
        await ours.lift(here, "A", "c")
    assert here.roster.latches == {LATCH.key: LATCH}
    await scene.store.open()
    await ours.look(here)
    assert scene.said == {}
    assert await ours.read() == {LATCH.key: LATCH}


async def test_what_told_of_the_loop_is_gone_with_the_latch_and_would_come_back_with_no_start(scene):
    ours, here = scene.process()
    ours.note(LATCH)
    await ours.look(here)
    now_at = FakeClock().wall_s()

    def finding(kind, ago_s=100.0):
        return Finding(kind, now_at - ago_s, "c", 0, 1, None, "said")

    long_ago = tables.FINDINGS_S + 1
    found = [
        ("A->B", finding(FindingKind.LOOPED)),
        ("A->C", finding(FindingKind.DUPLICATED)),
        ("A->C", finding(FindingKind.DUPLICATED, long_ago)),  # for people who look after a fault
        ("A->C", finding(FindingKind.LOST)),
        ("B->A", finding(FindingKind.DUPLICATED)),
    ]
    await scene.store.write(lambda connection: tables.keep_findings(connection, found))
    await ours.lift(here, "A", "c")
    left = await scene.store.read(lambda connection: tables.findings_since(connection, 0.0, now_at=now_at))
    assert {name: [(one.kind.value, one.at) for one in ones] for name, ones in left.items()} == {
        "A->C": [("duplicated", now_at - long_ago), ("lost", now_at - 100.0)],
        "B->A": [("duplicated", now_at - 100.0)],
    }


@pytest.mark.parametrize(("present", "gone"), [("one", False), (None, False), ("two", True)])
def test_a_latch_says_since_when_why_and_what_to_do(present, gone):
    other = " The topic c of the loop was deleted and re-created since." if gone else ""
    assert LATCH.message("A->B", present) == (
        "No canary records are sent to c on A since 2023-11-14 22:13:20 UTC: probe 3 of partition 0 came back"
        f" to its source.{other} Fix the mirrors, then resume: POST /api/v1/flows/A->B/canary/resume."
    )
