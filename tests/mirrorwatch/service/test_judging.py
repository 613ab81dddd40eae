"""Every flow judged by canary and offsets, the plainly well ones by the short way; and what `LagMonitor` hands over."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest

from fleet.errors import UnavailableError
from fleet.verdicts.evidence import Calm, CanaryState, Control
from fleet.verdicts.vocabulary import Cause, Verdict
from mirrorwatch.configuration.reading import read_configuration
from mirrorwatch.lag import monitor as lag_monitor
from mirrorwatch.lag.collected import Unanswered
from mirrorwatch.lag.monitor import LagMonitor
from mirrorwatch.service.judging import Judging
from mirrorwatch.service.recovery_point import NO_POINT, RecoveryPoint, older
from runtime.process.supervision import Phase, State
from tests.fleet.checksums import audited, found
from tests.fleet.offsets import SAYS, deleted, lag
from tests.fleet.verdicts.test_judgement import ALL_STAND, NOW, cluster, flow
from tests.mirrorwatch.answered import CANARY, Answered
from tests.mirrorwatch.configuration.test_changes import configuration
from tests.runtime.fake_clock import FakeClock


class PlayedProber:
    """One flow; `asked` counts how often all of its evidence was put together."""

    def __init__(self, evidence):
        self.flows = {"A->B": None}
        self.found = evidence
        self.is_healthy = True
        self.asked = 0

    def healthy(self, name):
        return Calm(name, 5.0, 4, 0.04) if self.is_healthy else None

    def evidence(self, _name):
        self.asked += 1
        return self.found


class Judged:
    def __init__(self, offsets, *partitions, unanswered=None, **more):
        self.prober = PlayedProber(flow(*partitions, **more))
        self.offsets = offsets
        self.checksum = None
        self.lines = []
        self.judging = Judging(
            lag_of=lambda _flow: self.offsets,
            checksum_of=lambda _flow: self.checksum,
            unanswered=(unanswered or {}).get,
            tell=self.lines.append,
        )

    def judge(self, now_at=NOW):
        self.judging.judge(self.prober, now_at=now_at)
        return self.judging.verdicts["A->B"]


@pytest.mark.parametrize(
    ("state", "cause"), [(CanaryState.OFF, Cause.TARGET_DOWN), (CanaryState.RUNNING, None)]
)
def test_of_a_flow_without_a_canary_the_lag_monitor_reports_which_cluster_is_down(state, cause):
    unprobed = {alias: cluster(alias, Control.UNKNOWN, sentence="canary.mode is off") for alias in "AB"}
    judged = Judged(
        lag(Verdict.STALLED, Cause.MIRROR_DOWN),
        unanswered={"B": Unanswered(NOW - 70, "nothing listens there")},
        state=state,
        source=unprobed["A"],
        target=unprobed["B"],
    )
    judged.prober.is_healthy = False
    found = judged.judge()
    assert (found.cause is Cause.TARGET_DOWN) == (cause is Cause.TARGET_DOWN)
    if cause:
        assert found.sentence.endswith("B does not answer.")


@pytest.mark.parametrize("offsets", [None, lag(), lag(Verdict.UNKNOWN)])
def test_a_flow_that_is_plainly_well_is_reported_by_the_short_way_and_just_the_same(offsets):
    judged = Judged(offsets)
    short = judged.judge()
    assert judged.prober.asked == 0
    judged.prober.is_healthy = False
    assert judged.judge() == short
    assert judged.prober.asked == 1
    assert dict(short.parts).get("lag") == (None if offsets is None else offsets.sentence)


def test_a_run_that_found_nothing_leaves_the_short_way_and_is_reported():
    judged = Judged(lag())
    judged.checksum = audited()
    short = judged.judge()
    assert judged.prober.asked == 0
    assert "no finding" in dict(short.parts)["checksum"]
    judged.prober.is_healthy = False
    assert judged.judge() == short


def test_what_a_run_found_takes_the_long_way_however_calm_the_canary_is():
    judged = Judged(lag())
    judged.checksum = audited(found())
    told = judged.judge()
    assert (told.verdict, [one.part for one in told.evidence]) == (Verdict.LOSING, ["checksum"])
    assert [(line.level, line.facts["verdict"]) for line in judged.lines] == [("error", "losing")]


def test_what_offsets_show_takes_the_long_way_however_calm_the_canary_is():
    judged = Judged(lag(Verdict.STALLED))
    told = judged.judge()
    assert (told.verdict, told.cause, told.sentence) == (
        Verdict.STALLED,
        Cause.TASK_STUCK,
        SAYS[Verdict.STALLED],
    )
    assert [one.part for one in told.evidence] == ["lag"]


def test_a_change_is_reported_once_in_the_log_with_cause_and_what_is_next_to_it():
    judged = Judged(lag())
    judged.judge()
    judged.lines.clear()
    judged.offsets = lag(findings=[deleted()])
    judged.prober.is_healthy, judged.prober.found = False, flow(*ALL_STAND)
    judged.judge()
    judged.judge()
    assert [(line.level, line.facts["cause"]) for line in judged.lines] == [
        ("error", "overtaken"),
        ("warning", "mirror_down"),
    ]


def test_a_flow_that_is_forgotten_begins_again():
    judged = Judged(lag(Verdict.STALLED))
    judged.judge()
    judged.judging.forget(["A->B", "B->A"])
    assert judged.judge(NOW + 5).since_at == NOW + 5


@pytest.mark.parametrize(
    ("canary_s", "by_offsets", "expected"),
    [
        (None, NO_POINT, NO_POINT),
        (0.4, NO_POINT, RecoveryPoint(0.4, "exact")),
        (None, RecoveryPoint(7200.0, "at_least"), RecoveryPoint(7200.0, "at_least")),
        (0.4, RecoveryPoint(7200.0, "at_least"), RecoveryPoint(7200.0, "at_least")),
        (6.0, RecoveryPoint(5.9, "at_least"), RecoveryPoint(6.0, "at_least")),
        (6.0, RecoveryPoint(5.9, "estimate"), RecoveryPoint(6.0, "exact")),
        (42.0, RecoveryPoint(0.0, "exact"), RecoveryPoint(42.0, "exact")),
        (0.0, RecoveryPoint(0.0, "exact"), RecoveryPoint(0.0, "exact")),
    ],
)
def test_the_recovery_point_is_the_older_of_both(canary_s, by_offsets, expected):
    assert older(canary_s, by_offsets) == expected


# --- what the service asks of the monitor's process


class PlayedWorker:
    """The monitor's process: `answers` in turn, an error raised, then told to stop."""

    def __init__(self, *_orders, **_more):
        self.starts = 1
        self.answers = []
        self.asked = []
        self.collected = {}
        self.stopping = None

    async def ask(self, question, **details):
        self.asked.append((question, details))
        answer = self.answers.pop(0)
        if not self.answers:
            self.stopping.set()
        if isinstance(answer, Exception):
            raise answer
        return {"status": 200, "collected": self.collected}, json.dumps(answer).encode()


@pytest.fixture
def monitor(monkeypatch, tmp_path):
    """Give a lag monitor whose process is played, what it complains of, and the offsets that it hands on."""
    monkeypatch.setattr(lag_monitor, "Worker", PlayedWorker)
    said, offsets = {}, []
    reporter = SimpleNamespace(problem=said.__setitem__, settled=lambda where: said.pop(where, None))
    made = LagMonitor(
        read_configuration(configuration(tmp_path, lag="{commits: topic}"), environ={}),
        clock=FakeClock(),
        reporter=reporter,
        log_format="text",
        log_level="info",
        keeping=SimpleNamespace(path=tmp_path / "snapshot"),
        on_offsets=lambda *told: offsets.append(told),
    )

    async def follow(*answers):
        made._worker.answers = list(answers)
        made._worker.stopping = asyncio.Event()
        await made._follow(made._worker.stopping)

    return SimpleNamespace(lagging=made, said=said, offsets=offsets, follow=follow, worker=made._worker)


@pytest.fixture
def answered():
    mirrored = Answered()
    mirrored.poll()
    mirrored.go(60, each=mirrored.copy_all)
    mirrored.flow.note_ids("A", {CANARY: "abc"}, mirrored.now)
    return mirrored


async def test_an_answer_becomes_the_evidence_of_its_flow_and_the_canarys_offsets_are_handed_on(
    monitor, answered
):
    assert monitor.lagging.evidence("A->B").sentence == "No answer from the lag monitor yet."
    await monitor.follow({"flows": answered.documents()})
    assert monitor.worker.asked == [("flows", {"canary_topic": CANARY})]
    assert monitor.lagging.evidence("A->B").verdict is Verdict.HEALTHY
    assert monitor.lagging.evidence("B->A").verdict is Verdict.UNKNOWN
    assert monitor.lagging.evidence("C->D") is None
    assert monitor.lagging.recovery_points() == {"A->B": RecoveryPoint(0.0, "exact")}
    assert monitor.offsets == [("A->B", "abc", {0: 60, 1: 60}, 30.0)]


async def test_a_process_that_is_silent_shows_nothing_once_its_answer_is_old(monitor, answered):
    documents = {"flows": answered.documents()}
    gone = UnavailableError("the lag monitor does not answer: it is gone")
    await monitor.follow(documents, gone, gone)
    assert monitor.lagging.evidence("A->B").verdict is Verdict.HEALTHY
    assert len(monitor.offsets) == 1
    await monitor.follow(*[gone] * 9)
    found = monitor.lagging.evidence("A->B")
    assert (found.verdict, found.sentence) == (
        Verdict.UNKNOWN,
        "The lag monitor does not answer: it is gone.",
    )
    assert monitor.lagging.recovery_points() == {}


@pytest.mark.parametrize("odd", [{"error": "no"}, {"flows": [{"flow": "A->B"}]}, {"flows": 3}])
async def test_an_answer_that_cannot_be_read_is_reported_and_leaves_the_canary_alone(monitor, answered, odd):
    await monitor.follow({"flows": answered.documents()}, odd)
    assert "please report this" in monitor.said["the lag monitor: flows"]
    assert monitor.lagging.evidence("A->B").verdict is Verdict.HEALTHY
    await monitor.follow({"flows": answered.documents()})
    assert monitor.said == {}


async def test_between_two_flows_of_an_answer_others_have_their_turn(monitor, answered):
    (one,) = answered.documents()
    turns = []

    async def waits():
        while True:
            turns.append([monitor.lagging.evidence(name).verdict for name in ("A->B", "B->A")])
            await asyncio.sleep(0)

    waiting = asyncio.create_task(waits())
    await monitor.follow({"flows": [one, one | {"flow": "B->A"}]})
    waiting.cancel()
    assert [Verdict.HEALTHY, Verdict.UNKNOWN] in turns
    assert monitor.lagging.evidence("B->A").verdict is Verdict.HEALTHY


READ = {"last_success_at": {"A": {"positions": 900.0}, "B": {}}, "errors": {}, "away": {}, "refused": {}}


async def test_a_cluster_that_it_alone_reads_is_up_while_it_answers(monitor):
    gone = UnavailableError("the lag monitor does not answer: it is gone")
    monitor.worker.collected = READ
    await monitor.follow({"flows": []})
    assert monitor.lagging.standing("A") == ("up", 900.0, "")
    assert monitor.lagging.standing("B") is None
    await monitor.follow(*[gone] * 12)
    assert monitor.lagging.standing("A") is None


async def test_clusters_are_tried_once_it_reported_of_them_or_failed_itself(monitor):
    monitor.worker.collected = READ
    assert monitor.lagging.untried(("A", "B")) == {"A", "B"}
    await monitor.follow({"flows": []})
    assert monitor.lagging.untried(("A", "B")) == {"B"}
    monitor.lagging._tell(State("the lag monitor", Phase.RUNNING))
    assert monitor.lagging.untried(("A", "B")) == {"B"}
    monitor.lagging._tell(State("the lag monitor", Phase.DOWN, "it ended by itself", failures=1))
    assert monitor.lagging.untried(("A", "B")) == set()


async def test_that_a_process_ended_needs_no_one_once_the_next_one_has_run_well(monitor):
    name = lag_monitor.WHAT
    monitor.lagging._tell(State(name, Phase.RUNNING))
    monitor.lagging._tell(State(name, Phase.DOWN, "it ended by itself", failures=1, retry_in_s=1.0))
    await monitor.follow(*[UnavailableError("no process")] * 100)
    assert monitor.said == {name: "it ended by itself"}
    monitor.lagging._tell(State(name, Phase.RUNNING, failures=1))
    await monitor.follow(*[{"flows": []}] * 60)  # one each second: the last at 59 s
    assert monitor.said == {name: "it ended by itself"}
    await monitor.follow(UnavailableError("it is silent"))
    assert monitor.said == {name: "it ended by itself"}
    await monitor.follow({"flows": []})
    assert monitor.said == {}
