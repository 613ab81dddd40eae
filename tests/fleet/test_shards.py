from hypothesis import given
from hypothesis import strategies as st

from fleet.shards import Shard, shards_of

NAMES = st.sets(st.text(min_size=1, max_size=20), max_size=40)
COUNTS = st.integers(1, 9)


@given(NAMES, COUNTS)
def test_every_flow_has_one_shard_and_loads_differ_by_one_at_most(names, count):
    found = shards_of(names, count)
    assert found.keys() == names
    loads = [sum(one == number for one in found.values()) for number in range(1, count + 1)]
    assert sum(loads) == len(names)
    assert max(loads) - min(loads) <= 1


@given(NAMES, COUNTS, st.randoms())
def test_the_order_of_the_configuration_does_not_count(names, count, random):
    shuffled = list(names)
    random.shuffle(shuffled)
    assert shards_of(shuffled, count) == shards_of(names, count)


def test_a_new_flow_moves_few_others():
    for count in range(2, 9):
        for flows in (20, 100, 499, 500, 501):
            before = shards_of([f"A->{number}" for number in range(flows)], count)
            after = shards_of([f"A->{number}" for number in range(flows + 1)], count)
            assert sum(after[name] != number for name, number in before.items()) <= 6


@given(COUNTS, st.integers(1, 100))
def test_every_partition_has_one_shard(count, partitions):
    shards = [Shard(number, count) for number in range(1, count + 1)]
    for partition in range(partitions):
        assert sum(one.has_partition(partition) for one in shards) == 1
