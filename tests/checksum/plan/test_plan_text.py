"""What a plan of many topics says: the largest ones, and how many more there are."""

from __future__ import annotations

from checksum.plan.building import PlanRules
from checksum.plan.plan_text import plan_lines
from checksum.plan.shape import LeftOut
from tests.checksum.plan.test_building import found, partition, plan

MANY = 5000


def test_of_many_topics_the_largest_are_listed_and_the_others_counted():
    sizes = {f"t-{number:04}": 1 + number % 50 for number in range(MANY)}
    sizes |= {"m-large": 900, "z-large": 800}
    topics = [found(name, partitions=(partition(0, (0, size), (0, size)),)) for name, size in sizes.items()]
    lines = plan_lines(plan(*topics), plan_id="0" * 64)[3:]
    listed, rest = lines[:-1], lines[-1]
    assert len(listed) == 20
    assert (listed[0].split()[0], listed[-1].split()[0]) == ("m-large", "z-large")
    assert all("50 records at most" in line for line in listed[1:-1])
    left = sum(sizes.values()) - 900 - 800 - 18 * 50
    assert rest == f"  and {MANY - 18:,} more topics: {left:,} records at most"


def test_of_much_that_is_left_out_the_largest_is_listed_and_the_rest_counted():
    left = [LeftOut(f"t-{number:04}", None, 2, "there is no copy") for number in range(MANY)]
    left += [LeftOut("z-large", 0, 70, "why"), LeftOut("z-large", 1, 7, "why")]
    lines = plan_lines(plan(left_out=left), plan_id="0" * 64)
    begins = lines.index(f"left out: {2 * MANY + 77:,} records")
    assert lines[begins + 1 : begins + 3] == [
        "  t-0000: 2 records: there is no copy",
        "  t-0001: 2 records: there is no copy",
    ]
    assert lines[begins + 20] == "  z-large [0, 1]: 77 records: why"
    assert (
        lines[begins + 21]
        == f"  and {MANY - 19:,} more: {2 * (MANY - 19):,} records; `checksum plan --json FILE` lists more"
    )


def test_as_many_as_are_listed_are_listed_whole():
    topics = [found(f"t-{number:02}") for number in range(20)]
    assert not [line for line in plan_lines(plan(*topics), plan_id="0" * 64) if "more topic" in line]


def test_topics_of_which_nothing_is_compared_are_named_and_counted():
    later = [LeftOut("late", 0, 9, "not mirrored when the plan was made", later=True)]
    lines = plan_lines(plan(left_out=later), plan_id="0" * 64, nothing_new=["empty", "late"])
    assert lines[-2:] == [
        "no new records in 1 topic, empty or compared before: empty",
        "nothing to compare",
    ]
    many = plan_lines(plan(), plan_id="0" * 64, nothing_new=[f"t{number}" for number in range(2000)])
    assert many[-2] == (
        "no new records in 2,000 topics, empty or compared before: t0, t1, t2, t3, t4, t5, t6, t7 and 1,992 more"
    )


def test_other_cells_and_buckets_than_the_settings_are_said():
    rules = PlanRules(cells=64, bucket_ms=60_000)
    made = plan(found())
    assert (made.cells, made.bucket_ms) == (16, 900_000)
    line = "  digests have 16 cells per bucket of 15 min, not 64 cells per bucket of 1 min: they must fit into memory"
    assert line in plan_lines(made, plan_id="0" * 64, rules=rules)
    assert not any("digests" in one for one in plan_lines(made, plan_id="0" * 64, rules=PlanRules()))
