"""From a doubt to the verdict: real sites, watch and judge; a fake clock, and no cluster."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from canary.config import CanaryMode
from canary.self_check import SelfCheck
from canary.site.site import Site
from canary.tracker.events import Acked, Scheduled, SeenAtTarget, Sent, TargetRead
from canary.tracker.stamp import Corrupted, Identity, Intact
from canary.watch.flow_evidence import flow_evidence
from canary.watch.watch import FlowWatch, Instant
from fleet.verdicts.evidence import CanaryState, Control
from fleet.verdicts.judgement import follow, judge
from fleet.verdicts.vocabulary import Cause, Verdict
from mirrorwatch.service.viewing import cluster_state
from runtime.kafka.admin import TopicDescription
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.kafka.round_trip import RoundTripOutcome, RoundTripResult
from tests.canary.pretend_link import INCARNATION, INSTALLATION, TOPIC, TOPIC_ID, S, policy, stamp
from tests.runtime.fake_clock import FakeClock

TARGET_TOPIC = f"A.{TOPIC}"
GOOD = RoundTripResult(RoundTripOutcome.GOOD, 0.01, None)
OVERDUE = RoundTripResult(RoundTripOutcome.OVERDUE, 2.0, None)


class Scene:
    """A flow A->B with one partition, a probe a second; both clusters answer unless told otherwise."""

    def __init__(self):
        self.clock = FakeClock()
        self.events = []
        reporter = SimpleNamespace(
            event=lambda sentence, **_facts: self.events.append(sentence),
            problem=lambda *_said: None,
            settled=lambda _where: None,
        )
        self.sites = {alias: self._site(alias, reporter) for alias in "AB"}
        flow = SimpleNamespace(
            name="A->B",
            source="A",
            target="B",
            source_topic=TOPIC,
            target_topic=TARGET_TOPIC,
            threshold_s=5.0,
            exactly_once=False,
        )
        watch = FlowWatch(
            policy(), source_topic=TOPIC, target_topic=TARGET_TOPIC, interval_s=1, carried=[(TOPIC_ID, 0)]
        )
        self.held = SimpleNamespace(flow=flow, watch=watch)
        self.self_check = SelfCheck(
            [self.held],
            self.sites,
            clock=self.clock,
            deliver=lambda held, event: held.watch.handle(event, self.now()),
            reporter=reporter,
        )
        self.sent = self.came = 0
        self.mirror_runs = True
        self.answers = {"A": True, "B": True}
        self.looks = {"A": True, "B": True}
        self.reports = True
        self.pass_s(20)

    def _site(self, alias, reporter):
        site = Site(
            alias,
            ClientSettings({}),
            mode=CanaryMode.CREATE,
            nonce=b"n",
            clock=self.clock,
            inbox=SimpleNamespace(),
            reporter=reporter,
        )
        site.reached = True
        name = TOPIC if alias == "A" else TARGET_TOPIC
        site.topics.take({name: TopicDescription(name, "id", (1,))}, self.clock.wall_s())
        return site

    def now(self):
        return Instant(self.clock.monotonic_ns(), self.clock.wall_s())

    def pass_s(self, seconds):
        """Let whole seconds pass: probes go and come, control probes answer, everything is looked at."""
        for _ in range(seconds):
            for _ in range(10):
                self.clock.advance(0.1)
                self.self_check.check()
            self.send()
            while self.mirror_runs and self.came < self.sent:
                self.arrive()
            for alias, site in self.sites.items():
                site.control.take(GOOD if self.answers[alias] else OVERDUE, self.clock.wall_s())
                if self.looks[alias]:
                    site._described_ns = dict.fromkeys(site._described_ns, self.clock.monotonic_ns())
            self.held.watch.advance(self.now())

    def tell(self, event):
        self.held.watch.handle(event, self.now())

    def send(self):
        at, name = self.clock.monotonic_ns(), (TOPIC_ID, 0, self.sent)
        self.tell(Scheduled(*name, at, at // 1_000_000))
        self.tell(Sent(*name, at))
        self.self_check.note_sent("A", at)
        if self.reports:
            self.tell(Acked(*name, 100 + self.sent, at))
            self.self_check.note_report("A")
        self.sent += 1

    def arrive(self, reading=None):
        reading = reading or Intact(stamp(self.came))
        self.tell(SeenAtTarget(0, self.came, self.came + 1, reading, self.clock.monotonic_ns()))
        self.came += 1

    def evidence(self):
        """Return what the judge is given, as the service asks for it."""
        self.self_check.notice()
        source, target = self.sites["A"], self.sites["B"]
        return flow_evidence(self.held, source, target, self.now(), state=CanaryState.RUNNING, sentence="")

    def judged(self):
        found = judge(self.evidence(), now_at=self.clock.wall_s())
        return found.verdict, found.cause

    def lose(self):
        """Have one probe pass over by the mirror."""
        self.mirror_runs = False
        self.pass_s(1)
        self.came += 1
        self.mirror_runs = True
        self.pass_s(1)
        self.tell(TargetRead(0, self.came, self.came))


@pytest.fixture
def scene():
    found = Scene()
    assert found.judged() == (Verdict.HEALTHY, None)
    return found


# --- each doubt


def stand(scene):
    scene.clock.advance(8)


def sleep(scene):
    scene.clock.sleep(8)
    scene.clock.advance(0.1)


def blind_thread(scene):
    scene.sites["B"].reader._taps = [SimpleNamespace(lazy=False, last_poll_ns=scene.clock.monotonic_ns())]
    scene.mirror_runs = False
    scene.pass_s(8)


def blind_position(scene):
    scene.mirror_runs = False
    for end in (100, 200, 300, 400):
        scene.self_check.compare("B", TARGET_TOPIC, 0, position=50, end=end)
        scene.pass_s(2)


def forbidden(scene):
    scene.self_check.note_refusal("B", TARGET_TOPIC, "the topic may not be read")
    scene.mirror_runs = False
    scene.pass_s(8)


def hidden_topics(alias):
    def hide(scene):
        scene.looks[alias] = False
        scene.pass_s(17)

    return hide


def dead_producer(scene):
    scene.reports = False
    scene.mirror_runs = False
    scene.pass_s(37)


DOUBTS = {
    "loop": stand,
    "sleep": sleep,
    "reader's thread": blind_thread,
    "reader's position": blind_position,
    "rights": forbidden,
    "looks at the target": hidden_topics("B"),
    "looks at the source": hidden_topics("A"),
    "producer": dead_producer,
}


@pytest.mark.parametrize("doubt", DOUBTS.values(), ids=DOUBTS.keys())
def test_a_doubt_is_unknown_and_ours(scene, doubt):
    doubt(scene)
    assert scene.judged() == (Verdict.UNKNOWN, Cause.PROBER)


@pytest.mark.parametrize("doubt", DOUBTS.values(), ids=DOUBTS.keys())
def test_what_was_lost_before_stays_lost(scene, doubt):
    scene.lose()
    assert scene.judged() == (Verdict.LOSING, Cause.FILTERED)
    doubt(scene)
    assert scene.judged() == (Verdict.LOSING, Cause.FILTERED)


@pytest.mark.parametrize("name", ["loop", "sleep"])
def test_nothing_that_stands_is_held_against_a_mirror_while_we_doubt(scene, name):
    scene.mirror_runs = False
    scene.pass_s(8)
    assert scene.judged() == (Verdict.STALLED, Cause.MIRROR_DOWN)
    DOUBTS[name](scene)
    assert scene.judged() == (Verdict.UNKNOWN, Cause.PROBER)
    scene.pass_s(4)
    assert scene.judged() == (Verdict.STALLED, Cause.MIRROR_DOWN)


def test_after_a_standstill_nothing_late_or_lost_is_told(scene):
    """Judge at once, and again before and after each thing that is taken in."""
    scene.mirror_runs = False
    scene.pass_s(1)
    stand(scene)
    seen = [scene.judged()]
    scene.held.watch.advance(scene.now())
    seen.append(scene.judged())
    scene.sites["B"].control.begun_ns = scene.clock.monotonic_ns() - 8 * S
    seen.append(scene.judged())
    while scene.came < scene.sent:
        scene.arrive()
        seen.append(scene.judged())
    assert set(seen) == {(Verdict.UNKNOWN, Cause.PROBER)}
    scene.mirror_runs = True
    for _ in range(20):
        scene.pass_s(1)
        seen.append(scene.judged())
    assert set(seen) == {(Verdict.UNKNOWN, Cause.PROBER), (Verdict.HEALTHY, None)}
    assert seen[-15:] == [(Verdict.HEALTHY, None)] * 15
    books = scene.held.watch.counters
    assert (books.late, books.lost, books.overdue) == (0, 0, 0)


# --- a cluster or the mirror is at fault, and not we


@pytest.mark.parametrize(("alias", "cause"), [("A", Cause.SOURCE_DOWN), ("B", Cause.TARGET_DOWN)])
def test_a_cluster_that_is_down_is_the_cause_however_blind_we_are_in_it(scene, alias, cause):
    scene.answers[alias] = scene.looks[alias] = False
    scene.mirror_runs = False
    scene.reports = alias != "A"
    for end in (100, 200, 300, 400, 500):
        scene.self_check.compare("B" if alias == "B" else "A", TARGET_TOPIC, 0, position=50, end=end)
        scene.pass_s(10)
    assert scene.judged() == (Verdict.STALLED, cause)


def test_a_frozen_mirror_raises_no_doubt(scene):
    scene.mirror_runs = False
    seen = []
    for _ in range(120):
        scene.pass_s(1)
        scene.self_check.compare("B", TARGET_TOPIC, 0, position=scene.came, end=scene.came)
        seen.append(scene.judged())
    assert (Verdict.UNKNOWN, Cause.PROBER) not in seen
    assert seen[-100:] == [(Verdict.STALLED, Cause.MIRROR_DOWN)] * 100
    assert scene.held.watch.counters.unknown == 0


# --- the machine's wall clock is set


def healthy(_scene):
    pass


def losing(scene):
    scene.lose()


def altered(scene):
    changed = Corrupted(Identity(TOPIC_ID, INCARNATION, 0, scene.came), "the key is missing", INSTALLATION)
    scene.arrive(changed)


def stalled(scene):
    scene.mirror_runs = False
    scene.pass_s(8)


def target_down(scene):
    scene.answers["B"] = scene.mirror_runs = False
    scene.pass_s(8)


def target_back(scene):
    """Bring a cluster back a moment ago: it is still the cause, while the mirror comes back."""
    target_down(scene)
    scene.answers["B"] = True
    scene.pass_s(3)


def recreated(scene):
    scene.mirror_runs = False
    scene.sites["B"].topics.take(
        {TARGET_TOPIC: TopicDescription(TARGET_TOPIC, "another id", (1,))}, scene.clock.wall_s()
    )
    scene.pass_s(8)


@pytest.mark.parametrize("by_s", [3600.0, -3600.0, 0.4])
@pytest.mark.parametrize(
    "state",
    [healthy, losing, altered, stalled, target_down, target_back, recreated],
    ids=lambda one: one.__name__,
)
def test_a_clock_that_is_set_changes_no_verdict(scene, state, by_s):
    state(scene)
    before = follow(None, scene.evidence(), now_at=scene.clock.wall_s())
    ages = ages_of(scene)
    scene.clock.set_wall(by_s)
    after = follow(None, scene.evidence(), now_at=scene.clock.wall_s())
    assert (after.verdict, after.cause, after.sentence) == (before.verdict, before.cause, before.sentence)
    assert ages_of(scene) == pytest.approx(ages, abs=0.01)
    books = scene.held.watch.counters.as_dict()
    scene.pass_s(2)
    assert scene.judged() == (before.verdict, before.cause)
    assert scene.held.watch.counters.unknown == books["unknown"] == 0


@pytest.mark.parametrize("by_s", [3600.0, -3600.0])
def test_what_holds_for_a_quarter_of_an_hour_does_so_by_no_wall_clock(scene, by_s):
    scene.lose()
    scene.clock.set_wall(by_s)
    scene.pass_s(890)
    assert scene.judged() == (Verdict.LOSING, Cause.FILTERED)
    scene.pass_s(20)
    assert scene.judged() == (Verdict.HEALTHY, None)


@pytest.mark.parametrize("by_s", [3600.0, -3600.0])
@pytest.mark.parametrize("control", [Control.OK, Control.UNKNOWN])
def test_a_clock_that_is_set_takes_no_cluster_down(scene, control, by_s):
    site = scene.sites["B"]
    site.wanted.add("A.orders")
    site.counts.last_success_at["topics"] = scene.clock.wall_s()
    site.control.become(control, "", scene.clock.wall_s())
    scene.clock.set_wall(by_s)
    scene.self_check.notice()
    assert cluster_state(site, None, scene.clock.wall_s())[0] == "up"
    scene.pass_s(1)
    site.control.become(control, "", scene.clock.wall_s())
    scene.clock.advance(11)
    assert cluster_state(site, None, scene.clock.wall_s())[0] == ("up" if control is Control.OK else "down")


def ages_of(scene):
    """Return how old everything is that is kept by the wall clock."""
    now_at, found = scene.clock.wall_s(), []
    for site in scene.sites.values():
        control = site.control
        found += [control.since_at, control.last_ok_at, control.last_failed_at]
        found += [*site.topics.recreated_at.values(), *site.counts.last_success_at.values()]
    found += [one.at for one in scene.held.watch.found.losses]
    found += [one.at for one in scene.evidence().canary.findings]
    return [now_at - at for at in found if at is not None]
