"""Where the prober doubts itself, and where it does not let itself be blamed for a cluster's fault."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from canary.self_check import SelfCheck
from canary.site.control import ControlState
from canary.tracker.events import Impaired, Restored, Slept, SourceUnseen
from fleet.verdicts.evidence import Control
from tests.runtime.fake_clock import FakeClock

TICK_S = 0.1


class Cluster:
    """A site as far as it is doubted."""

    def __init__(self, alias, clock):
        self.alias = alias
        self.reached = True
        self.reader = SimpleNamespace(silent_s=0.0, lazily_silent_s=0.0)
        self.control = ControlState(alias, Control.OK)
        self.refused = {}
        self.unreached = ""
        self.look = None  # when it was last looked at its topics, where that was not just now
        self.error = ""
        self.moved = []
        self._clock = clock

    def last_described(self, _topic):
        return self._clock.monotonic_ns() if self.look is None else self.look, self.error

    def move_instants(self, by_s):
        self.moved.append(by_s)


class Scene:
    """Flows A->B and A->C, doubted at an instant by a fake clock; notes what each flow is told."""

    def __init__(self, threshold_s=5.0):
        self.clock = FakeClock()
        self.sites = {alias: Cluster(alias, self.clock) for alias in "ABC"}
        self.told = {"A->B": [], "A->C": []}
        self.events, self.problems, self.settled, self.moved = [], [], [], []
        self.flows = [
            SimpleNamespace(
                flow=SimpleNamespace(
                    name=f"A->{target}",
                    source="A",
                    target=target,
                    source_topic="c",
                    target_topic="A.c",
                    threshold_s=threshold_s,
                ),
                watch=SimpleNamespace(horizon_s=60.0, found=SimpleNamespace(move_instants=self.moved.append)),
            )
            for target in "BC"
        ]
        self.self_check = SelfCheck(
            self.flows,
            self.sites,
            clock=self.clock,
            deliver=lambda held, event: self.told[held.flow.name].append(event),
            reporter=SimpleNamespace(
                event=lambda sentence, **_facts: self.events.append(sentence),
                problem=lambda where, sentence: self.problems.append((where, sentence)),
                settled=self.settled.append,
            ),
        )

    def pass_s(self, seconds):
        """Let time pass with the loop running and looking."""
        for _ in range(round(seconds / TICK_S)):
            self.clock.advance(TICK_S)
            self.self_check.check()

    def kinds(self, flow="A->B"):
        return [type(event) for event in self.told[flow]]

    def sentences(self, flow="A->B"):
        return [event.sentence for event in self.told[flow] if isinstance(event, Impaired)]


@pytest.fixture
def scene():
    return Scene()


def test_nothing_is_said_while_all_is_well(scene):
    scene.pass_s(60)
    assert scene.told == {"A->B": [], "A->C": []}
    assert (scene.events, scene.problems) == ([], [])


# --- the loop and the machine


def test_a_loop_that_stood_still_is_a_fault_until_what_came_meanwhile_is_taken_in(scene):
    scene.pass_s(1)
    scene.clock.advance(8.1)
    scene.self_check.notice()
    for flow in scene.told:
        (told,) = scene.told[flow]
        assert told == Impaired("its event loop was blocked for 8 s", 9_100_000_000, 1_000_000_000)
    assert scene.events == ["the canary's measurements are not reliable: its event loop was blocked for 8 s"]
    scene.pass_s(2.9)
    assert scene.kinds() == [Impaired]
    scene.pass_s(0.2)
    assert scene.kinds() == [Impaired, Restored]
    scene.pass_s(30)
    assert scene.kinds() == [Impaired, Restored]


def test_a_short_standstill_is_a_fault_for_as_long_as_it_was(scene):
    scene.clock.advance(1.3)
    scene.self_check.notice()
    scene.pass_s(1.1)
    assert scene.kinds() == [Impaired]
    scene.pass_s(0.2)
    assert scene.kinds() == [Impaired, Restored]


@pytest.mark.parametrize(("threshold_s", "blocked_s", "doubted"), [(5, 0.9, 0), (0.5, 0.3, 1), (0.5, 0.2, 0)])
def test_how_long_the_loop_may_stand_depends_on_the_threshold(threshold_s, blocked_s, doubted):
    scene = Scene(threshold_s)
    scene.clock.advance(TICK_S + blocked_s)
    scene.self_check.notice()
    assert len(scene.told["A->B"]) == doubted


def test_whoever_asks_first_tells_it_once(scene):
    scene.clock.advance(4)
    scene.sites["B"].control.notice = scene.self_check.notice
    scene.sites["B"].control.notice()
    scene.self_check.notice()
    scene.self_check.check()
    assert scene.kinds() == [Impaired]


def test_a_machine_that_slept_impairs_as_of_the_moment_before(scene):
    scene.pass_s(1)
    scene.clock.sleep(3600)
    scene.pass_s(0.1)
    assert scene.told["A->B"] == [
        Slept(1_000_000_000, 1_100_000_000),
        Impaired("the machine slept for 1 h", 1_100_000_000, 1_000_000_000),
    ]
    scene.pass_s(3.2)
    assert scene.kinds() == [Slept, Impaired, Restored]
    assert scene.moved == []  # every instant that is kept is an hour older now, and so it should be


def test_a_clock_of_the_machine_that_is_set_impairs_nothing_and_moves_every_instant(scene):
    moved = []
    scene.self_check.on_clock_set.append(moved.append)
    for by_s, words in ((3600.0, "forward by 1 h"), (-3600.0, "back by 1 h")):
        scene.clock.set_wall(by_s)
        scene.pass_s(1)
        assert words in scene.events[-1]
    assert scene.told == {"A->B": [], "A->C": []}
    assert moved == [3600.0, -3600.0]
    assert all(site.moved == moved for site in scene.sites.values())
    assert scene.moved == [3600.0, 3600.0, -3600.0, -3600.0]  # of both flows


def test_a_clock_that_is_a_little_off_is_followed_in_silence(scene):
    scene.clock.set_wall(0.4)
    scene.pass_s(1)
    assert (scene.events, scene.moved) == ([], [0.4, 0.4])
    assert scene.clock.set_s == 0.0


def test_a_control_probe_over_a_standstill_says_nothing_of_its_cluster(scene):
    control = scene.sites["B"].control
    scene.pass_s(1)
    control.begun_ns = scene.clock.monotonic_ns()
    scene.clock.advance(8)
    scene.self_check.notice()
    now_ns = scene.clock.monotonic_ns()
    assert control.evidence(now_ns=now_ns, now_at=0.0).control is Control.OK
    assert control.evidence(now_ns=now_ns + 1_500_000_000, now_at=0.0).control is Control.FAILING


# --- readers


def test_a_silent_reader_concerns_the_flows_into_its_cluster_alone(scene):
    scene.sites["B"].reader.silent_s = 4.0
    scene.pass_s(10)
    assert scene.sentences() == ["its reader of B has not run for 3 s or longer"]
    assert scene.told["A->C"] == []
    assert scene.told["A->B"][0].since_ns == scene.told["A->B"][0].at_ns - 4_000_000_000


@pytest.mark.parametrize(
    ("positions", "words"),
    [
        ([5, 5, 5, 5], "its reader of B is stalled at offset 5 of A.c, partition 0, and the partition grows"),
        ([-1] * 4, "its reader of B has not started A.c, partition 0, and the partition grows"),
        (
            [5, 6, 7, 8],
            "does not keep up with A.c, partition 0: it was at offset 8 when the log end was at 40",
        ),
    ],
)
def test_a_reader_that_does_not_get_to_the_end(scene, positions, words):
    for position, end in zip(positions, (10, 20, 30, 40), strict=True):
        assert scene.told["A->B"] == []
        scene.self_check.compare("B", "A.c", 0, position=position, end=end)
        scene.pass_s(2)
    assert words in scene.sentences()[0]
    assert scene.told["A->C"] == []
    scene.self_check.compare("B", "A.c", 0, position=50, end=50)
    scene.pass_s(0.1)
    assert scene.kinds() == [Impaired, Restored]


@pytest.mark.parametrize("behind", [0, 9])
def test_a_reader_that_gets_by_the_next_look_to_where_the_end_was_keeps_up(scene, behind):
    for end in range(10, 200, 10):
        scene.self_check.compare("B", "A.c", 0, position=end - behind, end=end)
        scene.pass_s(2)
    assert scene.told["A->B"] == []


def test_a_reader_at_the_end_of_a_quiet_partition_is_well(scene):
    for _ in range(9):
        scene.self_check.compare("B", "A.c", 0, position=10, end=10)
        scene.pass_s(2)
    assert scene.told["A->B"] == []


def test_a_topic_recreated_begins_without_doubts(scene):
    for _ in range(5):
        scene.self_check.compare("B", "A.c", 0, position=1, end=2)
    scene.self_check.note_refusal("B", "A.c", "no")
    scene.self_check.forget("B", "A.c")
    scene.pass_s(0.1)
    assert scene.told["A->B"] == []


@pytest.mark.parametrize("way", ["tap", "description", "sign-in"])
def test_what_may_not_be_read_is_not_blamed_on_the_mirror(scene, way):
    if way == "tap":
        scene.self_check.note_refusal("B", "A.c", "read it is forbidden")
    elif way == "description":
        scene.sites["B"].refused["A.c"] = "read it is forbidden"
    else:
        scene.sites["B"].reached, scene.sites["B"].unreached = False, "read it is forbidden"
    scene.pass_s(0.1)
    assert "it may not read A.c on B: read it is forbidden" in scene.sentences()[0]
    scene.self_check.clear_refusal("B", "A.c")
    scene.sites["B"].refused.clear()
    scene.sites["B"].unreached = ""
    scene.pass_s(0.1)
    assert kinds_of_impairment(scene) == [Impaired, Restored]
    assert scene.told["A->C"] == []


def kinds_of_impairment(scene, flow="A->B"):
    return [kind for kind in scene.kinds(flow) if kind in (Impaired, Restored)]


@pytest.mark.parametrize("way", ["thread", "position"])
def test_a_blind_reader_of_the_source_impairs_nothing_but_is_told(scene, way):
    if way == "thread":
        scene.sites["A"].reader.lazily_silent_s = 7.0
    else:
        for end in (10, 20, 30, 40):
            scene.self_check.compare("A", "c", 0, position=3, end=end)
    scene.pass_s(1)
    assert scene.kinds() == scene.kinds("A->C") == [SourceUnseen]
    where, sentence = scene.problems[0]
    assert where == "A: reading at the source c"
    assert sentence.startswith("the canary does not read c on A: its reader of A ")
    scene.sites["A"].reader.lazily_silent_s = 0.0
    scene.self_check.compare("A", "c", 0, position=50, end=50)
    scene.pass_s(1)
    assert [event.sentence == "" for event in scene.told["A->B"]] == [False, True]
    assert set(scene.settled) == {"A: reading at the source c"}


def test_a_blind_reader_of_a_source_is_no_problem_once_no_flow_leaves_it_any_more(scene):
    scene.sites["A"].reader.lazily_silent_s = 7.0
    scene.pass_s(1)
    first, second = list(scene.flows)
    for held, settled in ((first, []), (second, ["A: reading at the source c"])):
        scene.flows.remove(held)
        scene.self_check.forget_flow(held.flow)
        assert scene.settled == settled


def test_a_flow_that_is_dropped_settles_nothing_that_was_not_told(scene):
    scene.pass_s(1)
    scene.self_check.forget_flow(scene.flows.pop(0).flow)
    assert scene.settled == []


def test_another_reason_for_not_seeing_a_source_is_told_as_well(scene):
    scene.sites["A"].reader.lazily_silent_s = 7.0
    scene.pass_s(1)
    scene.sites["A"].reader.lazily_silent_s = 0.0
    for end in (10, 20, 30, 40):
        scene.self_check.compare("A", "c", 0, position=3, end=end)
    scene.pass_s(1)
    told = [event.sentence for event in scene.told["A->B"]]
    assert ["has not run" in one for one in told] == [True, False]
    assert "is stalled at offset 3 of c, partition 0" in told[1]
    assert scene.problems[-1] == ("A: reading at the source c", f"the canary does not read c on A: {told[1]}")


# --- looks at topics, and the producer


def test_a_doubt_that_goes_over_to_another_cluster_names_that_one(scene):
    for alias in "BA":
        for other in "AB":
            scene.sites[other].look = 0 if other == alias else None
        scene.pass_s(16)
    assert [sentence.split(" for ")[0] for sentence in scene.sentences()] == [
        "it could not describe A.c on B",
        "it could not describe c on A",
    ]
    assert Restored not in scene.kinds()


def test_a_doubt_that_goes_over_to_another_partition_names_that_one(scene):
    for end in (10, 20, 30, 40):
        scene.self_check.compare("B", "A.c", 0, position=3, end=end)
    scene.pass_s(1)
    for end in (10, 20, 30, 40):
        scene.self_check.compare("B", "A.c", 0, position=50, end=50)
        scene.self_check.compare("B", "A.c", 5, position=3, end=end)
    scene.pass_s(1)
    assert ["partition 5" in sentence for sentence in scene.sentences()] == [False, True]


@pytest.mark.parametrize("part", ["looks", "refusal"])
def test_a_doubt_whose_reason_is_another_one_now_says_that(scene, part):
    for error in ("first", "second", "second"):
        if part == "looks":
            scene.sites["B"].look, scene.sites["B"].error = 0, error
        else:
            scene.self_check.note_refusal("B", "A.c", error)
        scene.pass_s(16)
    assert [sentence.rpartition(": ")[2] for sentence in scene.sentences()] == ["first", "second"]


def test_what_is_reported_once_is_true_for_as_long_as_it_lasts(scene):
    scene.sites["B"].reader.silent_s = 4.0
    scene.pass_s(1)
    scene.sites["B"].reader.silent_s = 4000.0
    scene.pass_s(1)
    assert scene.sentences() == ["its reader of B has not run for 3 s or longer"]


@pytest.mark.parametrize(("alias", "concerned"), [("B", {"A->B"}), ("A", {"A->B", "A->C"})])
def test_topics_that_cannot_be_looked_at_concern_the_flows_of_their_cluster(scene, alias, concerned):
    site = scene.sites[alias]
    site.look, site.error = 0, "describing topics ran into a time-out"
    scene.pass_s(15)
    assert scene.told == {"A->B": [], "A->C": []}
    scene.pass_s(0.2)
    assert {flow for flow, told in scene.told.items() if told} == concerned
    topic = "c" if alias == "A" else "A.c"
    wanted = (
        f"it could not describe {topic} on {alias} for 15 s or longer: describing topics ran into a time-out"
    )
    assert scene.sentences()[0] == wanted
    site.look = None
    scene.pass_s(0.1)
    assert scene.kinds() == [Impaired, Restored]


def test_a_producer_that_reports_nothing_is_a_fault(scene):
    scene.self_check.note_sent("A", scene.clock.monotonic_ns())
    scene.pass_s(34)
    scene.self_check.note_sent("A", scene.clock.monotonic_ns())
    assert scene.told["A->B"] == []
    scene.pass_s(2)
    assert scene.sentences() == ["its producer to A has reported nothing for 35 s or longer"]
    scene.self_check.note_report("A")
    scene.pass_s(0.1)
    assert scene.kinds() == scene.kinds("A->C") == [Impaired, Restored]


def test_a_producer_that_reports_now_and_then_is_well(scene):
    for _ in range(30):
        scene.self_check.note_sent("A", scene.clock.monotonic_ns())
        scene.pass_s(5)
        scene.self_check.note_report("A")
    assert scene.told["A->B"] == []


# --- a cluster that is down


def break_target_parts(scene, alias):
    for end in (10, 20, 30, 40):
        scene.self_check.compare(alias, "A.c", 0, position=3, end=end)
    scene.self_check.note_refusal(alias, "A.c", "no")
    scene.sites[alias].look = 0


def break_source_parts(scene, alias):
    for end in (10, 20, 30, 40):
        scene.self_check.compare(alias, "c", 0, position=3, end=end)
    scene.self_check.note_sent(alias, 0)
    scene.sites[alias].look = 0


@pytest.mark.parametrize(("break_parts", "alias"), [(break_target_parts, "B"), (break_source_parts, "A")])
def test_a_cluster_that_is_down_is_no_fault_of_ours(scene, break_parts, alias):
    scene.sites[alias].control.control = Control.FAILING
    break_parts(scene, alias)
    scene.pass_s(60)
    assert scene.told == {"A->B": [], "A->C": []}
    scene.sites[alias].control.control = Control.OK
    scene.pass_s(0.1)
    assert Impaired in scene.kinds()


@pytest.mark.parametrize("control", list(Control))
def test_loop_and_thread_are_ours_whatever_the_clusters_do(scene, control):
    for site in scene.sites.values():
        site.control.control = control
    scene.clock.advance(5)
    scene.pass_s(0.1)
    assert scene.kinds() == [Impaired]
    scene.pass_s(4)
    scene.sites["B"].reader.silent_s = 4.0
    scene.pass_s(0.1)
    assert scene.kinds() == [Impaired, Restored, Impaired]


def test_a_flow_that_is_dropped_is_told_anew_when_it_comes_back(scene):
    scene.sites["B"].reader.silent_s = 4.0
    scene.pass_s(1)
    scene.self_check.forget_flow(scene.flows[0].flow)
    scene.pass_s(1)
    assert scene.kinds() == [Impaired, Impaired]
