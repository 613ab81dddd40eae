"""Killed at any moment and begun again: the store, the source and the target agree to the probe."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from canary.tracker.ranges import Absent
from canary.tracker.sequences import Sequences
from tests.canary.pretend_restarts import HORIZON_S, Process, World


@dataclass(frozen=True)
class Step:
    """What happens in one second."""

    stored: bool  # the probe reaches the source
    acked: bool
    kept: bool  # the store is written
    read: int  # records that each tap may read
    killed: bool
    down_s: int  # how long nobody runs after the kill
    late_s: int  # how long after the kill a stalled broker writes the last probe
    reloaded: bool = False  # the flow is dropped and begun again


steps = st.lists(
    st.builds(
        Step,
        stored=st.sampled_from([True, True, True, False]),
        acked=st.sampled_from([True, True, False]),
        kept=st.booleans(),
        read=st.sampled_from([0, 1, 3, 100]),
        killed=st.sampled_from([False] * 6 + [True]),
        down_s=st.sampled_from([0, 1, 5, 30]),
        late_s=st.sampled_from([0, 0, 2, HORIZON_S - 1]),
        reloaded=st.sampled_from([False] * 8 + [True]),
    ),
    min_size=1,
    max_size=60,
)
worlds = st.builds(
    World,
    lag_s=st.sampled_from([0, 1, 4, 15]),
    dropped=st.frozensets(st.integers(0, 40), max_size=6),
    frozen=st.sets(st.integers(0, 60), max_size=30).map(frozenset),
)


def play(world: World, plan: list[Step]) -> list[Process]:
    """Run the plan with one process at a time, then a last one that sends nothing until all is concluded."""
    processes = [Process(world, 0, 0, ())]
    tick = 0
    for step in plan:
        process = processes[-1]
        if step.reloaded:
            process.reload(tick)
        late_s = step.late_s if step.killed else 0
        process.send(tick, stored=step.stored, acked=step.acked, late_s=late_s)
        world.mirror(tick)
        process.read(tick, at_most=step.read)
        process.rest(tick)
        if step.kept:
            process.keep(tick)
        tick += 1
        if step.killed:
            for _ in range(step.down_s):
                world.mirror(tick)
                tick += 1
            processes.append(successor(world, processes, tick))
    processes.append(successor(world, processes, tick))
    for later in range(tick, tick + 70 + 4 * HORIZON_S):
        world.mirror(later)
        processes[-1].read(later, at_most=100)
        processes[-1].rest(later)
        processes[-1].keep(later)
    return processes


def successor(world: World, before: list[Process], tick: int) -> Process:
    dead = [one.incarnation for one in before if one.incarnation not in world.kept.closed]
    return Process(world, len(before), tick, dead)


def covered(world: World) -> dict[str, Sequences]:
    return {name: Sequences(one.covered) for name, one in world.kept.coverages.items()}


@given(worlds, steps)
@settings(deadline=None, max_examples=300)
def test_every_probe_on_the_source_is_counted_once_and_no_other_than_those_that_ended(world, plan):
    processes = play(world, plan)
    found = covered(world)
    for stamp in world.source:
        assert stamp.sequence in found[stamp.incarnation], stamp
    kept = world.kept
    assert kept.total("expected") == sum(len(one) for one in found.values())
    outcomes = (
        "good", "late", "overdue", "lost", "produce_failed", "produce_unknown", "warmup", "skipped",
        "abandoned", "unknown",
    )  # fmt: skip
    assert kept.total("expected") == sum(kept.total(name) for name in outcomes)
    rows = [Absent.of_row(row, due_ns=0) for one in kept.coverages.values() for row in one.absent]
    waiting = sum(one.count for one in rows if one.outstanding)
    assert (
        kept.total("overdue")
        == kept.total("recovered") + kept.total("confirmed") + kept.total("closed") + waiting
    )
    books = processes[-1].tracker.counters
    assert (books.in_flight, books.outstanding) == (0, waiting)
    concluded = sum(kept.total(name) for name in ("good", "late", "overdue", "lost"))
    assert concluded <= kept.total("settled") <= kept.total("expected")


@given(worlds, steps)
@settings(deadline=None, max_examples=200)
def test_what_is_lost_is_exactly_a_part_of_what_the_mirror_dropped(world, plan):
    play(world, plan)
    kept = world.kept
    assert kept.total("lost") + kept.total("confirmed") <= len(
        [offset for offset in world.dropped if offset < len(world.source)]
    )
    assert kept.total("returned") == 0


@given(worlds, st.lists(st.sampled_from([1, 2]), min_size=4, max_size=40), st.integers(0, 20), st.booleans())
@settings(deadline=None, max_examples=150)
def test_two_replicas_judge_each_its_own_and_the_survivor_what_the_other_left(world, who, killed_at, keeps):
    one, two = Process(world, 1, 0, ()), Process(world, 2, 0, ())
    alive = [one, two]
    for tick, sender in enumerate(who):
        if (one, two)[sender - 1] in alive:
            (one, two)[sender - 1].send(tick, stored=True, acked=tick % 3 > 0)
        world.mirror(tick)
        for process in alive:
            process.read(tick, at_most=5)
            process.rest(tick)
            if keeps or tick % 4 == 0:
                process.keep(tick)
        if tick == killed_at:
            alive = [two]
        if tick == killed_at + 3:
            two.adopt(one.incarnation, tick)
    end = len(who)
    two.adopt(one.incarnation, end)  # once is enough, twice changes nothing
    for tick in range(end, end + 70 + 4 * HORIZON_S):
        world.mirror(tick)
        two.read(tick, at_most=100)
        two.rest(tick)
        two.keep(tick)
    found = covered(world)
    for stamp in world.source:
        assert stamp.sequence in found[stamp.incarnation]
    assert world.kept.total("expected") == sum(len(one) for one in found.values())
    assert two.tracker.counters.in_flight == 0


@given(worlds, steps)
@settings(deadline=None, max_examples=100)
def test_whatever_of_a_snapshot_was_written_twice_counts_once(world, plan):
    processes = play(world, plan)
    before = dict(world.kept.rows)
    processes[-1].keep(10_000)
    processes[-1].keep(10_001)
    assert {key: row for key, row in world.kept.rows.items() if key in before} == before
