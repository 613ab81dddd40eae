"""What the service knows of runs, over a real store: told or not, restarted or not, readable or not."""

from __future__ import annotations

from threading import get_ident
from types import SimpleNamespace

import pytest
import sqlalchemy as sa

from checksum.history.documents import packed_run
from checksum.history.history import ChecksumHistory, Counted
from checksum.history.tables import TAKEN
from fleet.errors import UnavailableError
from fleet.mm2.filters import TopicFilter
from fleet.verdicts.checksum import HOLD_FOUND_S, is_quiet
from fleet.verdicts.flow import Flow
from fleet.verdicts.vocabulary import Verdict
from lagmon.exposition.format import Form
from mirrorwatch.audits import following as checksum_following
from mirrorwatch.audits.following import (
    KEPT_RUNS,
    LOOK_S,
    WHERE,
    WHERE_RUNS,
    WHERE_SERIES,
    ChecksumFollowing,
)
from mirrorwatch.audits.run_document import read_run
from mirrorwatch.service.store_parts import MIGRATIONS
from runtime.store.store import Store
from tests.mirrorwatch.told_runs import ENDED_AT, block, counted, finding, partition, run
from tests.runtime.fake_clock import FakeClock

NOW_AT = ENDED_AT + 60
FLOWS = (Flow("A", "B"), Flow("B", "A"))


class StoppedError(Exception):
    """What ends a loop that would go on for ever."""


class Scene:
    def __init__(self, store):
        self.history = ChecksumHistory(store)
        self.store = store
        self.clock = FakeClock(wall_s=NOW_AT)
        self.said = {}
        self.following = self.made()

    def made(self, flows=FLOWS, keep_s=400 * 86_400.0):
        reporter = SimpleNamespace(
            problem=self.said.__setitem__, settled=lambda where: self.said.pop(where, None)
        )
        return ChecksumFollowing(self.history, flows, keep_s=keep_s, clock=self.clock, reporter=reporter)

    async def keep(self, *documents):
        """Write runs as another process on the same store does."""
        for document in documents:
            await self.history.take(packed_run(document), now_ms=int(self.clock.wall_s() * 1000))

    async def tell(self, *documents):
        new = [await self.following.take(read_run(one), packed_run(one)) for one in documents]
        await self.following.settle()
        return any(new)

    def runs(self, flow="A->B"):
        return [one.run for one in self.following.audits[flow].runs]


@pytest.fixture
async def scene(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'mw.db'}", migrations=MIGRATIONS)
    await store.open()
    yield Scene(store)
    await store.close()


async def test_without_a_run_nothing_is_known_and_nothing_reported(scene):
    await scene.following.look()
    assert scene.following.audits == {}
    assert scene.following.series is None
    assert scene.following.evidence("A->B") is None
    assert scene.said == {}


async def test_a_run_on_the_same_store_needs_to_report_nothing(scene):
    await scene.keep(run("r1", findings=[finding()]))
    await scene.following.look()
    assert scene.runs() == ["r1"]
    assert [one.verdict for one in scene.following.evidence("A->B").found] == [Verdict.LOSING]
    assert scene.following.evidence("B->A") is None
    assert scene.following.series is not None


async def test_a_run_that_is_reported_is_known_at_once_and_counted_once(scene):
    assert await scene.tell(run("r1", findings=[finding()])) is True
    assert scene.runs() == ["r1"]
    before = scene.following.audits["A->B"]
    assert await scene.tell(run("r1", findings=[finding()])) is False
    assert scene.following.audits["A->B"] is before
    await scene.following.look()
    assert scene.following.audits["A->B"] == before


async def test_a_run_of_the_same_store_that_is_reported_as_well_is_one(scene):
    document = run("r1")
    await scene.keep(document)
    assert await scene.tell(document) is False
    await scene.following.look()
    assert scene.runs() == ["r1"]


async def test_another_start_knows_the_same(scene):
    for number in range(3):
        await scene.tell(run(f"r{number}", ended_at=ENDED_AT + number, findings=[finding()]))
    before = scene.following.audits
    scene.following = scene.made()
    await scene.following.look()
    assert scene.following.audits == before


async def test_a_run_from_a_clock_that_is_ahead_ended_now(scene):
    await scene.tell(run("r1", ended_at=NOW_AT + 86_400))
    assert scene.following.audits["A->B"].newest.ended_at == NOW_AT
    scene.following = scene.made()
    await scene.following.look()
    assert scene.following.audits["A->B"].newest.ended_at == NOW_AT


DAYS_AHEAD = 10 * 86_400.0


@pytest.mark.parametrize("seen_while_ahead", [False, True])
async def test_a_run_of_the_store_that_ended_while_the_clock_was_ahead_is_not_the_newest_for_good(
    scene, seen_while_ahead
):
    scene.clock.began_wall_s += DAYS_AHEAD
    await scene.keep(run("ahead", ended_at=ENDED_AT + DAYS_AHEAD, findings=[finding()]))
    if seen_while_ahead:
        await scene.following.look()
        assert scene.following.evidence("A->B").ended_at == ENDED_AT + DAYS_AHEAD
    scene.clock.began_wall_s -= DAYS_AHEAD
    await scene.following.look()
    assert scene.following.evidence("A->B").ended_at == NOW_AT
    reads, read = [], scene.history.run
    scene.history.run = lambda run: reads.append(run) or read(run)
    scene.clock.began_wall_s += 3600
    await scene.following.look()
    assert reads == []
    await scene.keep(run("night", ended_at=NOW_AT + 3000))
    await scene.following.look()
    assert scene.runs() == ["night", "ahead"]
    checksum = scene.following.evidence("A->B")
    assert not is_quiet(checksum, NOW_AT + HOLD_FOUND_S)
    assert is_quiet(checksum, NOW_AT + HOLD_FOUND_S + 1)


async def test_no_more_runs_are_kept_than_the_newest_and_others_are_not_read(scene):
    scene.clock.began_wall_s += 1000
    documents = [run(f"r{number:02}", ended_at=ENDED_AT + number) for number in range(KEPT_RUNS + 5)]
    await scene.keep(*documents[:-1])
    scene.clock.began_wall_s += HOLD_FOUND_S + 1
    await scene.following.look()
    await scene.tell(documents[-1])
    told = scene.runs()
    assert (told[0], len(told)) == (f"r{KEPT_RUNS + 4:02}", KEPT_RUNS)
    await scene.following.look()
    assert scene.runs() == told


DAYS_LATE = 3 * 86_400.0


async def test_a_finding_that_was_reported_days_later_holds_from_then_on_over_restarts_too(scene):
    scene.clock.began_wall_s += DAYS_LATE
    await scene.tell(run("night", ended_at=ENDED_AT + DAYS_LATE), run("late", findings=[finding()]))
    assert scene.runs() == ["night", "late"]
    for following in (scene.following, scene.made()):
        await following.look()
        checksum = following.evidence("A->B")
        assert [one.at for one in checksum.found] == [ENDED_AT]
        told_at = NOW_AT + DAYS_LATE
        assert not is_quiet(checksum, told_at + HOLD_FOUND_S)
        assert is_quiet(checksum, told_at + HOLD_FOUND_S + 1)


async def test_reported_again_it_holds_no_longer(scene):
    await scene.tell(run("r1", findings=[finding()]))
    before = scene.following.evidence("A->B")
    scene.clock.began_wall_s += DAYS_LATE
    assert await scene.tell(run("r1", findings=[finding()])) is False
    await scene.following.look()
    assert scene.following.evidence("A->B") == before


@pytest.mark.parametrize("late_last", [True, False])
async def test_a_later_run_by_the_same_plan_clears_it_in_whatever_order_they_are_reported(scene, late_last):
    scene.clock.began_wall_s += DAYS_LATE
    lossy, clean = (
        run("r1", findings=[finding()], planned_at=ENDED_AT),
        run("r2", ended_at=ENDED_AT + 9, planned_at=ENDED_AT),
    )
    assert lossy["plan"] == clean["plan"]
    for document in (clean, lossy) if late_last else (lossy, clean):
        await scene.tell(document)
    assert scene.following.evidence("A->B").found == ()


async def test_a_finding_that_is_reported_late_holds_behind_however_many_newer_runs(scene):
    scene.clock.began_wall_s += DAYS_LATE
    later = [run(f"r{number:02}", ended_at=ENDED_AT + 1 + number) for number in range(KEPT_RUNS + 5)]
    await scene.keep(*later)
    scene.clock.began_wall_s += DAYS_LATE
    await scene.tell(run("late", findings=[finding()]))
    assert scene.runs()[-1] == "late"
    scene.following = scene.made()
    await scene.following.look()
    assert (scene.runs()[-1], len(scene.runs())) == ("late", KEPT_RUNS + 1)
    scene.clock.began_wall_s += HOLD_FOUND_S + 1
    await scene.following.look()
    assert len(scene.runs()) == KEPT_RUNS


async def test_a_finding_holds_however_many_runs_follow_it(scene):
    lossy = run("lossy", findings=[finding()], planned_at=ENDED_AT)
    cleared = run("cleared", ended_at=ENDED_AT + 1, findings=[finding()], planned_at=ENDED_AT + 1)
    clean = run("clean", ended_at=ENDED_AT + 2, planned_at=ENDED_AT + 1)
    later = [run(f"r{number:02}", ended_at=ENDED_AT + 3 + number) for number in range(KEPT_RUNS + 5)]
    await scene.keep(lossy, cleared, clean, *later)
    await scene.store.write(lambda held: held.execute(sa.delete(TAKEN)))  # as if they ran on this store
    for _ in range(2):
        await scene.following.look()
        assert scene.runs()[KEPT_RUNS:] == ["clean", "cleared", "lossy"]
        (held,) = scene.following.evidence("A->B").found
        assert held.at == ENDED_AT
        await scene.tell(run("newest", ended_at=ENDED_AT + 55))
    scene.clock.began_wall_s = ENDED_AT + HOLD_FOUND_S + 2
    await scene.following.look()
    assert (len(scene.runs()), scene.following.evidence("A->B").found) == (KEPT_RUNS, ())


async def test_runs_of_a_file_are_settled_once_and_made_ready_with_the_event_loop(scene, monkeypatch):
    threads = {"run_summary": [], "flow_audit": [], "ChecksumSeries": []}
    for name, came in threads.items():
        made = getattr(checksum_following, name)
        monkeypatch.setattr(
            checksum_following,
            name,
            lambda *args, came=came, made=made, **more: came.append(get_ident()) or made(*args, **more),
        )
    await scene.tell(*(run(f"r{number}", ended_at=ENDED_AT + number) for number in range(5)))
    assert scene.runs() == ["r4", "r3", "r2", "r1", "r0"]
    assert {name: len(came) for name, came in threads.items()} == {
        "run_summary": 5,
        "flow_audit": 1,
        "ChecksumSeries": 1,
    }
    assert get_ident() not in {one for came in threads.values() for one in came}


async def test_a_flow_that_changes_while_it_is_settled_is_read_again(scene, monkeypatch):
    await scene.tell(run("r1", blocks=[block(surplus=5)]), run("other", flow="B->A"))
    flow_audit, changed = checksum_following.flow_audit, [Flow("A", "B", exactly_once=True), FLOWS[1]]

    def changing(runs, **how):
        scene.following.use(changed)
        return flow_audit(runs, **how)

    with monkeypatch.context() as patch:
        patch.setattr(checksum_following, "flow_audit", changing)
        await scene.tell(run("r2", ended_at=ENDED_AT + 1))
    assert scene.runs() == ["r2", "r1"]
    assert scene.following.evidence("A->B").found == ()
    await scene.following.look()
    assert scene.runs() == ["r2", "r1"]
    assert [one.verdict for one in scene.following.evidence("A->B").found] == [Verdict.ALTERED]


async def test_what_was_taken_and_not_settled_the_next_look_settles(scene):
    document = run("r1")
    await scene.following.take(read_run(document), packed_run(document))
    assert scene.following.audits == {}
    await scene.following.look()
    assert scene.runs() == ["r1"]


async def test_a_pass_over_counts_proves_nothing(scene):
    await scene.keep(counted())
    await scene.tell(counted("c2"))
    assert scene.following.audits == {}
    await scene.following.look()
    assert scene.following.audits == {}
    assert await scene.following.document("c2") == counted("c2")


async def test_a_run_that_cannot_be_read_is_reported_and_leaves_the_others(scene):
    await scene.keep(run("r1"), run("odd", ended_at=ENDED_AT + 1, partitions=[partition()]) | {"records": 7})
    await scene.following.look()
    assert scene.runs() == ["r1"]
    assert (
        scene.said[WHERE_RUNS]
        == "one run in the store cannot be read, for example odd: records: must be an object"
    )
    reads = []
    scene.history.run = reads.append
    await scene.following.look()
    assert reads == []
    assert WHERE_RUNS in scene.said


async def test_what_the_store_forgot_is_gone(scene):
    await scene.keep(run("r1", findings=[finding()]), run("r2", ended_at=ENDED_AT + 50))
    await scene.following.look()
    await scene.history.forget(int((ENDED_AT + 10) * 1000))
    await scene.following.look()
    assert scene.runs() == ["r2"]
    await scene.history.forget(int((ENDED_AT + 100) * 1000))
    await scene.following.look()
    assert scene.following.audits == {}


async def test_a_store_that_does_not_answer_takes_nothing_away(scene):
    await scene.tell(run("r1"))
    before = scene.following.audits["A->B"]
    await scene.store.close()
    await scene.following.look()
    assert "is closed" in scene.said[WHERE]
    assert scene.following.audits == {"A->B": before}
    with pytest.raises(UnavailableError):
        await scene.tell(run("r2"))
    assert scene.runs() == ["r1"]


async def test_it_looks_every_half_minute_and_has_the_store_forget_each_hour(scene, monkeypatch):
    await scene.keep(run("r1"))
    scene.following = scene.made(keep_s=600.0)
    looks = []

    async def wait(_event, *, timeout_s):
        looks.append((scene.clock.monotonic_ns() / 1e9, list(scene.following.audits)))
        scene.clock.advance(timeout_s)
        if len(looks) == 122:
            raise StoppedError

    monkeypatch.setattr(scene.clock, "wait", wait)
    with pytest.raises(StoppedError):
        await scene.following.keep()
    assert [at for at, _ in looks[:3]] == [0, LOOK_S, 2 * LOOK_S]
    assert looks[0][1] == looks[120][1] == ["A->B"]  # forgotten behind the look of one hour after
    assert looks[121][1] == []


async def test_flows_that_go_are_forgotten_and_those_that_change_stand_until_they_are_read_again(scene):
    await scene.keep(run("r1", blocks=[block(surplus=5)], findings=[finding()]))
    await scene.following.look()
    assert scene.following.knows("A->B")
    for flow in (FLOWS[0], Flow("A", "B", offset_reset="latest"), Flow("A", "B", exactly_once=True)):
        before, series = scene.following.audits["A->B"], scene.following.series
        scene.following.use([flow])
        assert scene.following.audits["A->B"] is before
        assert scene.following.series is series
        await scene.following.look()
        verdicts = [one.verdict for one in scene.following.evidence("A->B").found]
        assert verdicts == [Verdict.LOSING, *([Verdict.ALTERED] if flow.exactly_once else [])]
    scene.following.use([Flow("B", "A")])
    assert scene.following.audits == {}
    await scene.following.look()
    assert scene.following.audits == {}
    assert not scene.following.knows("A->B")
    assert await scene.following.document("r1") is None


async def test_a_topic_that_a_changed_flow_no_longer_replicates_is_dropped_by_the_next_look(scene):
    await scene.tell(run("r1", partitions=[partition("orders", lost=1), partition("payments")]))
    assert set(scene.following.audits["A->B"].topics) == {"orders", "payments"}
    scene.following.use([Flow("A", "B", topic_filter=TopicFilter("pay.*"))])
    await scene.following.look()
    assert set(scene.following.audits["A->B"].topics) == {"payments"}
    assert b'topic="orders"' not in scene.following.series.text(Form.PLAIN)


async def test_counts_are_those_of_the_store(scene):
    begun = await scene.history.begin("A->B", who="", now_ms=1, counts_only=False)
    rows = [Counted("orders", 0, at_ms, 5, 4) for at_ms in (0, 900_000)]
    document = run(begun)
    await scene.history.finish(begun, now_ms=2, status=0, document=document, verified={}, counts=rows)
    found = await scene.following.counts("A->B", "orders", since_ms=1, until_ms=900_001, limit=9)
    assert [(one.bucket_at_ms, one.source_records, one.target_records) for one in found] == [(900_000, 5, 4)]


async def test_too_many_topics_for_metrics_are_reported(scene, monkeypatch):
    monkeypatch.setattr(checksum_following, "MOST_SERIES", 8)
    made = checksum_following.ChecksumSeries
    monkeypatch.setattr(
        checksum_following,
        "ChecksumSeries",
        lambda flows: made(flows, max_series=checksum_following.MOST_SERIES),
    )
    await scene.tell(run("r1", partitions=[partition("a"), partition("b"), partition("c")]))
    assert scene.said[WHERE_SERIES].startswith("/metrics omits the checksums of 2 topics")


async def test_a_run_is_known_however_many_counts_came_since(scene):
    await scene.keep(run("night", findings=[finding()]))
    scene.clock.began_wall_s += 1000
    await scene.keep(
        *(run(f"c{n}", ended_at=ENDED_AT + 1 + n, counts_only=True) for n in range(KEPT_RUNS * 10))
    )
    await scene.following.look()
    assert scene.runs() == ["night"]
