"""A flow that is plainly well: the quick look and the rules over all the evidence must say the very same."""

from __future__ import annotations

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from canary.tracker.events import Acked, Adopted, Impaired, Restored, Scheduled, SeenAtTarget, Sent
from canary.tracker.stamp import Corrupted, Identity, Intact
from canary.watch.watch import FlowWatch, Instant
from fleet.verdicts.evidence import CanaryState, ClusterEvidence, Control, FlowEvidence, TopicEvidence
from fleet.verdicts.judgement import follow, follow_calm
from fleet.verdicts.vocabulary import Verdict
from fleet.verdicts.words import HOLD_S
from tests.canary.pretend_link import INCARNATION, INSTALLATION, TOPIC, TOPIC_ID, S, policy, stamp

BEGAN_AT = 1_790_000_000.0
FLOW = "A->B"


def instant(at_ns: int) -> Instant:
    return Instant(at_ns, BEGAN_AT + at_ns / 1e9)


class Scene:
    """A watch over some partitions, and both ways to a verdict."""

    def __init__(self, *, carried: int = 4, warmup_s: float = 0) -> None:
        self.watch = FlowWatch(
            policy(warmup_s=warmup_s),
            source_topic=TOPIC,
            target_topic=f"A.{TOPIC}",
            interval_s=1,
            carried=[(TOPIC_ID, number) for number in range(carried)],
        )
        self.sequences: dict[int, int] = {}
        self.ends: dict[int, int] = {}

    def tell(self, at_ns: int, *events: object) -> None:
        for one in events:
            self.watch.handle(one, instant(at_ns))
        self.watch.advance(instant(at_ns))

    def send(self, partition: int, at_ns: int, *, acked: bool = True) -> int:
        sequence = self.sequences.get(partition, 0)
        self.sequences[partition] = sequence + 1
        name = (TOPIC_ID, partition, sequence)
        self.tell(at_ns, Scheduled(*name, at_ns, at_ns // 1_000_000), Sent(*name, at_ns))
        if acked:
            self.tell(at_ns, Acked(*name, 100 + sequence, at_ns))
        return sequence

    def arrive(self, partition: int, sequence: int, at_ns: int, *, changed: bool = False) -> None:
        offset = self.ends.get(partition, 0)
        self.ends[partition] = offset + 1
        reading: object = Intact(stamp(sequence, partition))
        if changed:
            whose = Identity(TOPIC_ID, INCARNATION, partition, sequence)
            reading = Corrupted(whose, "the key is missing", INSTALLATION)
        self.tell(at_ns, SeenAtTarget(partition, offset, offset + 1, reading, at_ns))

    def play(self, what: str, partition: int, at_ns: int) -> int:
        """Let something happen; return when it is over."""
        took_ns = {"deliver": at_ns % S // 20, "late": 6 * S, "wait": 900 * S}.get(what, 0)
        if what in ("deliver", "late", "changed"):
            changed = what == "changed"
            self.arrive(partition, self.send(partition, at_ns), at_ns + took_ns, changed=changed)
        elif what in ("send", "unacked"):
            self.send(partition, at_ns, acked=what == "send")
        else:
            events = {
                "impair": [Impaired("the test says so", at_ns)],
                "restore": [Restored(at_ns)],
                "adopt": [Adopted("00000000000000bb", (), at_ns)],
            }
            self.tell(at_ns, *events.get(what, []))
        return at_ns + took_ns

    def healthy(self, at_ns: int):
        return self.watch.healthy(FLOW, instant(at_ns))

    def judged(self, at_ns: int, control: Control = Control.OK):
        now = instant(at_ns)
        source, target = ClusterEvidence("A", control), ClusterEvidence("B", control)
        evidence = FlowEvidence(
            FLOW,
            source,
            target,
            self.watch.evidence(now, state=CanaryState.RUNNING, sentence=""),
            TopicEvidence(TOPIC, f"A.{TOPIC}"),
        )
        return follow(None, evidence, now_at=now.at)


def well(partitions: int = 3) -> Scene:
    scene = Scene()
    for partition in range(partitions):
        scene.arrive(partition, scene.send(partition, 10 * S), 10 * S + (partition + 1) * S // 10)
    return scene


def test_a_flow_that_delivers_is_healthy_and_says_what_the_rules_say():
    scene = well()
    calm = scene.healthy(11 * S)
    assert (calm.partitions, calm.latency_s) == (3, 0.3)
    found = follow_calm(None, calm, now_at=instant(11 * S).at)
    assert found == scene.judged(11 * S)
    assert found.verdict is Verdict.HEALTHY


def test_since_when_it_is_healthy_is_kept():
    scene = well()
    before = scene.judged(11 * S)
    found = follow_calm(before, scene.healthy(12 * S), now_at=instant(12 * S).at)
    assert found.since_at == instant(11 * S).at


def nothing_arrived(scene: Scene) -> None:
    scene.send(3, 10 * S)


def one_waits(scene: Scene) -> None:
    scene.send(1, 6 * S)


def one_is_not_acknowledged(scene: Scene) -> None:
    scene.send(1, 6 * S, acked=False)


def one_came_late(scene: Scene) -> None:
    scene.arrive(1, scene.send(1, 5 * S), 11 * S)


def one_came_changed(scene: Scene) -> None:
    scene.arrive(1, scene.send(1, 10 * S), 11 * S, changed=True)


def cannot_see(scene: Scene) -> None:
    scene.tell(11 * S, Impaired("the test says so", 11 * S))


def one_was_overdue(scene: Scene) -> None:
    scene.send(2, 11 * S - 61 * S)


@pytest.mark.parametrize(
    "spoil",
    [
        nothing_arrived,
        one_waits,
        one_is_not_acknowledged,
        one_came_late,
        one_came_changed,
        cannot_see,
        one_was_overdue,
    ],
)
def test_what_is_not_plainly_well_is_left_to_the_rules(spoil):
    scene = well()
    spoil(scene)
    scene.tell(12 * S)
    assert scene.healthy(12 * S) is None


def test_without_a_partition_nothing_is_healthy():
    assert Scene().healthy(S) is None


def test_silence_is_not_calm():
    scene = well()
    assert scene.healthy(16 * S) is not None
    assert scene.healthy(17 * S) is None


def test_what_was_found_is_forgotten_when_the_verdict_no_longer_holds_for_it():
    scene = well(1)
    scene.arrive(0, scene.send(0, 11 * S), 11 * S, changed=True)
    scene.arrive(0, scene.send(0, 12 * S), 12 * S)
    later_ns = 12 * S + int((HOLD_S + 1) * S)
    scene.arrive(0, scene.send(0, later_ns), later_ns)
    assert scene.healthy(13 * S) is None
    assert scene.healthy(later_ns + S) is not None


MS = 1_000_000
steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["deliver"] * 8 + ["send", "unacked", "late", "changed", "impair", "restore", "adopt", "wait"]
        ),
        st.integers(0, 3),
        st.integers(0, 2500),
    ),
    max_size=40,
)


@given(
    steps=steps,
    asked_ms=st.integers(0, 9000),
    control=st.sampled_from(list(Control)),
    carried=st.sampled_from([0, 2, 4]),
)
@settings(deadline=None, max_examples=400)
def test_the_quick_look_never_says_anything_else_than_the_rules(steps, asked_ms, control, carried):
    scene, now = Scene(carried=carried, warmup_s=3 if carried == 2 else 0), 100 * S
    for number in range(4):
        scene.arrive(number, scene.send(number, now), now + 50 * MS)
    for what, partition, ms in steps:
        now = scene.play(what, partition, now + ms * MS)
    asked = now + 200 * MS + asked_ms * MS
    scene.watch.advance(instant(asked))
    calm = scene.healthy(asked)
    event("calm" if calm is not None else "not calm")
    if calm is not None:
        at = instant(asked).at
        assert follow_calm(None, calm, now_at=at) == scene.judged(asked, control)
