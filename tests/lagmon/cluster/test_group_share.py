import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.shards import Shard
from lagmon.arrays.java_hash import partition_of
from lagmon.cluster.commits import CommitsKnown
from lagmon.cluster.group_share import USUAL_PARTITIONS, GroupShare

GROUPS = st.lists(st.text(max_size=12), max_size=30)
COUNTS = st.integers(1, 9)
PARTITIONS = st.integers(1, 120)


def shares(count, partitions):
    found = [GroupShare(Shard(number, count)) for number in range(1, count + 1)]
    for one in found:
        one.divide(partitions)
    return found


@given(GROUPS, COUNTS, PARTITIONS)
def test_each_group_belongs_to_one_shard_and_this_one_reads_its_partition(groups, count, partitions):
    every = shares(count, partitions)
    for group in groups:
        (owner,) = [one for one in every if one.has(group)]
        assert partition_of(group, partitions) in owner.read(partitions)


@given(COUNTS, PARTITIONS)
def test_each_partition_is_read_by_one_shard(count, partitions):
    read = [number for one in shares(count, partitions) for number in one.read(partitions)]
    assert sorted(read) == list(range(partitions))


def test_without_shards_all_groups_belong_and_all_partitions_are_read():
    share = GroupShare()
    share.divide(3)
    assert (share.divides, share.has("g"), share.read(3)) == (False, True, [0, 1, 2])


@given(st.text(max_size=12), COUNTS)
def test_a_topic_that_is_not_listed_has_the_usual_partitions(group, count):
    (owner,) = [one for one in shares(count, 0) if one.has(group)]
    assert owner.shard.has_partition(partition_of(group, USUAL_PARTITIONS))


@given(st.lists(st.sampled_from(["a", "b", "", "c"]), max_size=10), st.lists(PARTITIONS, max_size=3))
def test_the_last_answer_is_repeated_for_the_same_group_and_division_only(groups, divisions):
    share = GroupShare(Shard(1, 2))
    for partitions in (50, *divisions):
        share.divide(partitions)
        for group in groups:
            assert share.has(group) is (partition_of(group, partitions) % 2 == 0)


@pytest.mark.parametrize(
    ("listed", "all_read"),
    [((2,), False), ((2, 2), False), ((0, 2), False), ((2, 0, 2), False), ((2, 3), True), ((2, 0, 3), True)],
)
def test_after_a_change_of_the_number_of_partitions_all_are_read(listed, all_read):
    """Running brokers divide groups by the number before, so that a group may be in any partition."""
    share = GroupShare(Shard(1, 2))
    for partitions in listed:
        share.divide(partitions)
    last = listed[-1]
    assert share.read(last) == [one for one in range(last) if all_read or one % 2 == 0]
    assert [share.has(group) for group in "abc"] == [partition_of(group, last) % 2 == 0 for group in "abc"]


def test_a_mirror_s_progress_may_be_in_any_partition_and_groups_are_divided_all_the_same():
    share = GroupShare(Shard(2, 2), reads_all=True)
    share.divide(4)
    assert share.read(4) == [0, 1, 2, 3]
    assert [share.has(group) for group in "abcd"] == [partition_of(group, 4) % 2 == 1 for group in "abcd"]


def test_commits_are_known_once_those_of_the_read_partitions_are():
    known = CommitsKnown()
    known.begin(5, [1, 4])
    for partition, to_ms in ((1, -1), (4, 7)):
        assert known.to_ms == -1
        known.note_read(partition, 7)
        assert known.to_ms == to_ms
    known.note_read(1, 9)
    assert known.to_ms == 7
    group = next(one for one in map(str, range(100)) if partition_of(one, 5) == 1)
    assert known.of_group(group) == 9


def test_a_shard_without_any_partition_knows_no_commits():
    known = CommitsKnown()
    known.begin(1, [])
    assert known.to_ms == -1
