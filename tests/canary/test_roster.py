"""Flows and clusters that come and go while the prober runs, and the latch, over clusters that are played."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from canary.config import CanaryConfig
from canary.flows import CanaryFlow
from canary.persistence.inherited import InheritedState, Unfinished
from canary.persistence.latches import Latch
from canary.site.topic_checks import HASTE_S
from canary.tracker.events import Coverage, TargetRead
from canary.tracker.stamp import Stamp, encode
from fleet.verdicts.evidence import CanaryState, Finding, FindingKind
from runtime.kafka.admin import ClusterDescription, TopicDescription
from runtime.kafka.round_trip import RoundTripOutcome
from runtime.kafka.sender import Delivered
from runtime.kafka.tap import TappedRecord
from tests.canary.test_topic_changes import PlayedAdmin, copy, counters, look, scene, tick

__all__ = ["scene"]  # the fixture of the prober over played clusters


def flow(source, target):
    name = f"{source}->{target}"
    return CanaryFlow(name, source, target, "c", f"{source}.c", 5.0, 10.0, 1, exactly_once=False)


def add_cluster(scene, alias, **topics):
    scene.prober.roster.add_site(alias, SimpleNamespace())
    return furnish(scene, alias, **topics)


def furnish(scene, alias, **topics):
    site = scene.prober.sites[alias]
    site.admin, site.description = PlayedAdmin(), ClusterDescription("id", (1,))
    for name, topic_id in topics.items():
        site.admin.topics[name.replace("_", ".")] = TopicDescription(name.replace("_", "."), topic_id, (1,))
    return site


def deliver(scene, tags):
    for offset, tag in enumerate(tags):
        scene.senders[-1].sink(Delivered(tag, offset, scene.clock.now_ns))
    scene.prober.drain()


def of(scene, name):
    found = scene.prober.flows[name].watch.counters
    assert found.discrepancies() == []
    return found


async def test_a_flow_that_is_added_counts_from_its_beginning_and_leaves_the_others_alone(scene):
    await look(scene, "A", "B")
    early = tick(scene) + tick(scene)
    add_cluster(scene, "C", A_c="there")
    scene.prober.roster.add(flow("A", "C"), InheritedState(frozenset({("one", 0)})))
    await look(scene, "C", "A")
    assert len(scene.senders) == 1  # nothing was interrupted
    late = tick(scene)
    deliver(scene, early + late)
    for offset, tag in enumerate(early + late):
        copy(scene, tag, offset, "B-tap-1")
        copy(scene, tag, offset, scene.prober.sites["C"].reader.tap_name)
    assert of(scene, "A->B").good == of(scene, "A->B").expected == len(early + late)
    # What was sent before is no business of the new flow: no duplicate, nothing foreign, nothing expected.
    assert of(scene, "A->C").expected == of(scene, "A->C").good == len(late)
    assert of(scene, "A->C").duplicated == of(scene, "A->C").foreign == 0


async def test_whether_several_flows_share_a_target_topic_is_handed_in(scene):
    await look(scene, "A", "B")
    add_cluster(scene, "C", c="other")
    into_the_same = CanaryFlow("C->B", "C", "B", "c", "A.c", 5.0, 10.0, 1, exactly_once=False)
    scene.prober.roster.add(into_the_same, InheritedState())
    assert [scene.prober.evidence(name).topic.shared for name in ("A->B", "C->B")] == [True, True]
    scene.prober.roster.drop("C->B")
    assert not scene.prober.evidence("A->B").topic.shared


async def test_a_flow_that_is_dropped_ends_with_an_outcome_for_every_probe(scene):
    await look(scene, "A", "B")
    seen, unseen = tick(scene), tick(scene)
    deliver(scene, seen)
    held = scene.prober.roster.drop("A->B")
    found = held.watch.counters
    assert (found.unknown, found.abandoned, found.in_flight) == (len(seen), len(unseen), 0)
    assert found.discrepancies() == []
    assert "A->B" not in scene.prober.flows
    (idle,) = scene.prober.roster.take_idle()
    assert scene.prober.probings == {}
    deliver(scene, unseen)  # what comes now is nobody's
    copy_of_late = SimpleNamespace(sequence=0, topic_id="one")
    scene.prober.probings["A"] = idle
    copy(scene, copy_of_late, 0, "B-tap-1")
    assert held.watch.counters.as_dict() == found.as_dict()
    await idle.finish()
    assert idle.fits(TopicDescription("c", "one", (1,)))  # and never begins again


async def test_a_topic_that_is_wanted_no_more_is_read_no_more_and_known_anew_later(scene):
    await look(scene, "A", "B")
    scene.prober.roster.drop("A->B")
    scene.prober.roster.take_idle()
    await look(scene, "A", "B")
    assert all(site.reader.positions == {} for site in scene.prober.sites.values())
    assert all(site.topics.present == {} for site in scene.prober.sites.values())
    assert all(tap.stopped for tap in scene.taps)
    scene.prober.roster.add(flow("A", "B"), InheritedState(frozenset({("one", 0)})))
    await look(scene, "A", "B")
    assert {place for tap in scene.taps if not tap.stopped for place in tap.places} == {("c", 0), ("A.c", 0)}


async def test_no_sequence_number_is_given_out_twice_when_a_source_comes_back(scene):
    await look(scene, "A", "B")
    first = tick(scene) + tick(scene)
    scene.prober.roster.drop("A->B")
    for idle in scene.prober.roster.take_idle():
        await idle.finish()
        await idle.stop()
    scene.prober.roster.add(flow("A", "B"), InheritedState(frozenset({("one", 0)})))
    await look(scene, "A", "B")
    again = tick(scene)
    assert min(tag.sequence for tag in again) == max(tag.sequence for tag in first) + 1
    deliver(scene, again)
    for offset, tag in enumerate(first + again):
        copy(scene, tag, offset, scene.prober.sites["B"].reader.tap_name)
    assert counters(scene).good == counters(scene).expected == len(again)


async def test_other_clients_of_a_cluster_keep_counters_and_positions(scene):
    await look(scene, "A", "B")
    tags = tick(scene)
    deliver(scene, tags)
    copy(scene, tags[0], 0, "B-tap-1")
    before = scene.prober.sites["B"]
    before.counts.errors["tap"] = 7
    before.control.counts[RoundTripOutcome.GOOD] += 5
    before.throttles["tap"].add(1.5)
    before.throttles["sender"].add(2.5)
    before.counts.foreign_records = 5
    await scene.prober.roster.leave("B")
    assert scene.taps[-1].stopped
    scene.prober.roster.add_site("B", SimpleNamespace())
    furnish(scene, "B", A_c="there")
    await look(scene, "B")
    assert scene.taps[-1].places == {("A.c", 0): 1}
    after = scene.prober.sites["B"]
    assert (after.counts.errors["tap"], after.control.counts[RoundTripOutcome.GOOD]) == (7, 5)
    assert {client: one.total_s for client, one in after.throttles.items()} == {"tap": 1.5, "sender": 2.5}
    assert scene.prober.sites["B"].counts.foreign_records == 5
    await scene.prober.roster.leave("A")
    assert scene.senders[0].ended
    assert scene.prober.state("A->B") == (CanaryState.WAITING, "the client settings of A are changing")
    scene.prober.roster.add_site("A", SimpleNamespace())
    furnish(scene, "A", c="one")
    await look(scene, "A")
    more = tick(scene)
    assert min(tag.sequence for tag in more) == tags[-1].sequence + 1
    assert counters(scene).expected == len(tags + more)


async def test_since_when_a_topic_is_wanted_moves_with_a_clock_that_is_set(scene):
    before = dict(scene.prober.roster.wanted_since)
    scene.clock.set_wall(-3600.0)
    scene.prober.self_check.notice()
    assert before
    assert scene.prober.roster.wanted_since == {place: at - 3600 for place, at in before.items()}


async def test_a_probe_that_comes_back_stops_everything_to_its_source(scene):
    fallen = []
    scene.prober.roster._on_latched = fallen.append
    await look(scene, "A", "B")
    tags = tick(scene) + tick(scene)
    deliver(scene, tags)
    copy(scene, tags[0], 0, "A-tap-1-lazy", topic="c")
    copy(scene, tags[1], 1, "A-tap-1-lazy", topic="c")
    assert not fallen
    copy(scene, tags[0], 2, "A-tap-1-lazy", topic="c")
    copy(scene, tags[1], 3, "A-tap-1-lazy", topic="c")
    sentence = "probe 0 of partition 0 came back to its source; written to the source again, at offset 2"
    assert fallen == [Latch("A", "c", "one", scene.clock.wall_s(), sentence)]
    state, said = scene.prober.state("A->B")
    assert state is CanaryState.LATCHED
    assert sentence in said
    skipped = counters(scene).skipped
    assert tick(scene) == tick(scene) == []
    assert counters(scene).skipped == skipped + 2
    # A topic made anew lifts nothing.
    scene.prober.sites["A"].admin.topics["c"] = TopicDescription("c", "two", (1,))
    await look(scene, "A")
    assert tick(scene) == []
    assert "was deleted and re-created since" in scene.prober.state("A->B")[1]
    assert [one.kind for one in scene.prober.evidence("A->B").canary.findings] == ["looped"]
    scene.prober.roster.hold_latches({})
    assert tick(scene)
    assert scene.prober.state("A->B") == (CanaryState.RUNNING, "")
    assert scene.prober.evidence("A->B").canary.findings == ()


async def test_a_latch_is_there_before_the_first_probe(scene):
    scene.prober.roster.drop("A->B")
    scene.prober.roster.take_idle()
    scene.prober.roster.hold_latches({("A", "c"): Latch("A", "c", "one", 5.0, "it came back")})
    scene.prober.roster.use(CanaryConfig(topic="c"))
    scene.prober.roster.add(flow("A", "B"), InheritedState())
    await look(scene, "A", "B")
    assert tick(scene) == []
    assert counters(scene).skipped == counters(scene).expected > 0


DEAD = "00000000000000dd"


def find(scene, sequence, offset):
    """Let the source's tap read a probe of a process that is gone."""
    probe = encode(Stamp("0" * 32, DEAD, sequence, "one", "c", 0, int(scene.clock.wall_s() * 1000)))
    place = ("A-tap-1-lazy", "c", 0, offset, offset + 1)
    record = TappedRecord(*place, probe.key, probe.value, list(probe.headers), scene.clock.now_ns)
    scene.prober._inbox.put(record)
    scene.prober.drain()


async def test_what_a_dead_process_left_is_gone_on_with_when_its_flow_is_changed(scene):
    await look(scene, "A", "B")
    add_cluster(scene, "C", A_c="there")
    carried = frozenset({("one", 0)})
    left = {DEAD: Unfinished(0.0, (("", Coverage(DEAD, "one", 0)),))}
    scene.prober.roster.add(flow("A", "C"), InheritedState(carried, left))
    await look(scene, "C", "A")
    find(scene, 0, 0)
    dropped = scene.prober.roster.drop("A->C")
    assert (dropped.watch.counters.expected, dropped.watch.counters.unknown) == (1, 1)
    scene.prober.roster.add(flow("A", "C"), InheritedState(carried))
    for number in (1, 2):
        find(scene, number, number)
    assert (of(scene, "A->C").expected, of(scene, "A->C").unknown) == (2, 2)
    assert of(scene, "A->B").expected == 0  # it took over nothing


# --- what was found, over a reload


def add_again(scene, *, source="A", **inherited):
    scene.prober.roster.add(flow(source, "B"), InheritedState(frozenset({("one", 0)}), **inherited))


def found_of(scene, name="A->B"):
    return scene.prober.evidence(name).canary.findings


def finding(scene, kind, *, ago_s=5.0):
    return Finding(kind, scene.clock.wall_s() - ago_s, "A.c", 0, 7, 9, "it was found")


async def test_what_was_found_a_moment_before_a_reload_of_its_flow_is_still_known(scene):
    """The store may not have it yet, and what the store has of it may be older."""
    await look(scene, "A", "B")
    tags = tick(scene) + tick(scene)
    deliver(scene, tags)
    for offset, tag in enumerate(tags):
        copy(scene, tag, offset, "A-tap-1-lazy", topic="c")
    copy(scene, tags[1], 0, "B-tap-1")
    scene.prober._dispatch.deliver_to_target("B", "A.c", TargetRead(0, 1, 1))
    (lost,) = found_of(scene)
    losses = list(scene.prober.flows["A->B"].watch.found.losses)
    assert losses[0].sequence == tags[0].sequence
    scene.prober.roster.drop("A->B")
    add_again(scene, findings=(finding(scene, FindingKind.LOST),), losses=(finding(scene, FindingKind.LOST),))
    assert found_of(scene) == (lost,)
    assert list(scene.prober.flows["A->B"].watch.found.losses) == losses


async def test_of_a_flow_that_was_not_watched_before_the_store_tells_what_was_found(scene):
    add_cluster(scene, "C", A_c="there")
    stored = finding(scene, FindingKind.LOST)
    scene.prober.roster.add(flow("A", "C"), InheritedState(findings=(stored,), losses=(stored,)))
    assert found_of(scene, "A->C") == (stored,)


async def test_what_was_found_moves_with_the_clock_also_while_its_flow_is_not_watched(scene):
    altered = finding(scene, FindingKind.ALTERED)
    scene.prober.flows["A->B"].watch.found.add(altered, pause_s=5.0)
    scene.prober.roster.drop("A->B")
    scene.clock.set_wall(3600.0)
    scene.prober.self_check.notice()
    add_again(scene)
    assert [one.at for one in found_of(scene)] == [altered.at + 3600.0]


@pytest.mark.parametrize("watched", [True, False], ids=["watched", "dropped meanwhile"])
async def test_a_loop_that_was_called_fixed_comes_back_with_no_reload(scene, watched):
    forgotten = []
    scene.prober.roster._memory.forget_loops = forgotten.append
    scene.prober.roster.hold_latches({("A", "c"): Latch("A", "c", "one", 5.0, "it came back")})
    for kind in (FindingKind.LOOPED, FindingKind.DUPLICATED, FindingKind.ALTERED):
        scene.prober.flows["A->B"].watch.found.add(finding(scene, kind), pause_s=5.0)
    if not watched:
        scene.prober.roster.drop("A->B")
    scene.prober.roster.hold_latches({})
    assert forgotten == ["A->B"]
    if watched:
        scene.prober.roster.drop("A->B")
    add_again(scene)
    assert [one.kind for one in found_of(scene)] == [FindingKind.ALTERED]


# --- what is doubted, over a reload


def impaired(scene):
    scene.prober.self_check.check()
    return scene.prober.evidence("A->B").canary.impaired


def let_pass(scene, seconds):
    """Let time pass while the event loop and the readers run."""
    for _ in range(int(seconds * 2)):
        scene.clock.advance(0.5)
        for tap in scene.taps:
            tap.last_poll_ns = scene.clock.now_ns
        scene.prober.self_check.check()


async def test_a_flow_that_starts_again_is_told_what_the_former_was_told(scene):
    scene.prober.self_check.check()
    scene.clock.advance(5)
    assert "its event loop was blocked" in impaired(scene)
    scene.prober.roster.drop("A->B")
    add_again(scene)
    assert "its event loop was blocked" in impaired(scene)


async def test_a_sender_that_was_ended_with_probes_unreported_says_nothing_of_the_next_one(scene):
    await look(scene, "A", "B")
    assert tick(scene)
    scene.prober.roster.drop("A->B")
    (idle,) = scene.prober.roster.take_idle()
    await idle.stop()
    add_again(scene)
    let_pass(scene, 60)
    assert impaired(scene) is None


async def test_what_a_cluster_said_of_a_topic_is_forgotten_once_no_one_wants_it(scene):
    scene.prober.self_check.note_refusal("B", "A.c", "not authorised")
    assert "not authorised" in impaired(scene)
    scene.prober.roster.drop("A->B")
    add_again(scene)
    assert impaired(scene) is None


async def test_the_settings_of_a_target_are_read_again_soon_while_probes_wait(scene):
    asked = []
    admin = scene.prober.sites["B"].admin
    read, admin.describe_topic_config = (
        admin.describe_topic_config,
        lambda name: asked.append(name) or read(name),
    )
    await look(scene, "A", "B")
    deliver(scene, tick(scene))
    let_pass(scene, HASTE_S)
    await look(scene, "A", "B")
    assert asked.count("A.c") == 2
