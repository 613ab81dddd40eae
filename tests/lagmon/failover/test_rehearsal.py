"""The steps of a planned failover, played through."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from lagmon.failover.readiness import judge_group
from lagmon.failover.rehearsal import QUIET_S, STEPS, Look, Rehearsed, Step
from tests.lagmon.failover.test_readiness import FACTS

SETTLE_S = 5.0
DONE = judge_group("billing", [replace(FACTS, target_committed=150)])
READY = judge_group("billing", [FACTS])
LOOK = Look(at_s=0.0, ends=100, unreplicated=40, running=("billing",), groups=(READY,), not_ready=())


def rehearsed(*looks):
    made = Rehearsed("A", "B", settle_s=SETTLE_S)
    for look in looks:
        made.see(look)
    return made


def test_step_by_step():
    made = rehearsed(replace(LOOK, not_ready=("billing",)))
    assert (made.reached, made.waits_for) == ([], "make these groups ready: billing")
    made.see(LOOK)
    assert [one.step for one in made.reached] == [Step.READY]
    assert made.waits_for == "stop everything that writes to A"
    made.see(replace(LOOK, at_s=QUIET_S))
    assert made.waits_for == "stop the groups on A: billing"
    made.see(replace(LOOK, at_s=15.0, running=()))
    assert made.waits_for == "the mirror: 40 offsets left, transaction markers too"
    made.see(replace(LOOK, at_s=21.0, running=(), unreplicated=0))
    assert made.waits_for == "the last checkpoints and synced offsets, 15 s without a change"
    made.see(replace(LOOK, at_s=36.0, running=(), unreplicated=0))
    assert made.is_complete
    assert made.waits_for == ""
    assert [f"{one.step}: {one.sentence}" for one in made.reached] == [
        "groups ready: 1 group ready to fail over to B",
        "writers stopped: no record was written to their topics on A for 10 s, after 10 s",
        "groups stopped: none of them has members on A, after 15 s",
        "replicated: all records of their topics are on B, 11 s after the writers stopped",
        "offsets final: the groups read 49 records again and miss none, after 36 s",
    ]


def test_offsets_are_final_if_they_do_not_change():
    other = judge_group("billing", [replace(FACTS, target_committed=140)])
    last = replace(LOOK, running=(), unreplicated=0)
    made = rehearsed(LOOK, replace(last, at_s=10.0), replace(last, at_s=12.0, groups=(other,)))
    assert made.waits_for == "the last checkpoints and synced offsets, 15 s without a change"
    made.see(replace(last, at_s=27.0, groups=(other,)))
    assert made.is_complete


def test_offsets_at_the_next_record_are_final_at_once():
    last = replace(LOOK, running=(), unreplicated=0, groups=(DONE,))
    assert rehearsed(replace(LOOK, groups=(DONE,)), replace(last, at_s=10.0)).is_complete


def test_offsets_that_nothing_commits_are_not_final():
    without = judge_group("billing", [replace(FACTS, target_committed=None)])
    last = replace(LOOK, running=(), unreplicated=0, groups=(without,))
    made = rehearsed(last, replace(last, at_s=100.0))
    assert [one.step for one in made.reached][-1] is Step.REPLICATED
    assert made.waits_for.startswith("commit the offsets of these groups on B, with 'mirrorwatch offsets")


def test_ends_that_are_not_known_are_not_quiet():
    last = replace(LOOK, running=(), unreplicated=0, ends=None)
    made = rehearsed(last, replace(last, at_s=100.0))
    assert made.waits_for == "the log end offsets of A, which are not all known"


def test_who_writes_again_leads_back():
    made = rehearsed(LOOK, replace(LOOK, at_s=10.0, running=()))
    assert len(made.reached) == 3
    made.see(replace(LOOK, at_s=11.0, running=(), ends=101))
    assert [one.step for one in made.reached] == [Step.READY]


def test_what_is_not_known_is_not_reached():
    last = replace(LOOK, running=(), unreplicated=None)
    assert rehearsed(last, replace(last, at_s=30.0)).waits_for == "the mirror does not show how far it is"


LOOKS = st.builds(
    Look,
    at_s=st.just(0.0),
    ends=st.none() | st.integers(0, 2),
    unreplicated=st.none() | st.integers(0, 1),
    running=st.sampled_from(((), ("billing",))),
    groups=st.just((READY,)),
    not_ready=st.sampled_from(((), ("billing",))),
)


@given(st.lists(st.tuples(st.integers(0, 12), LOOKS), min_size=1))
def test_steps_are_reached_in_order_and_hold_now(story):
    made, at_s = Rehearsed("A", "B", settle_s=SETTLE_S), 0.0
    for step_s, look in story:
        at_s += step_s
        made.see(replace(look, at_s=at_s))
    last = story[-1][1]
    steps = [one.step for one in made.reached]
    assert steps == list(STEPS[: len(steps)])
    assert made.is_complete is (made.waits_for == "")
    assert not (Step.READY in steps and last.not_ready)
    assert not (Step.GROUPS_STOPPED in steps and last.running)
    assert not (Step.REPLICATED in steps and last.unreplicated != 0)
    assert [one.at_s for one in made.reached] == sorted(one.at_s for one in made.reached)


def test_without_groups_nothing_is_read_again():
    last = replace(LOOK, unreplicated=0, running=(), groups=())
    made = rehearsed(last, replace(last, at_s=QUIET_S))
    assert made.reached[-1].sentence == "the groups read 0 records again and miss none, after 10 s"
