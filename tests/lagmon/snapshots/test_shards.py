"""What a process kept says nothing of groups: another shard that takes it up shows its own groups only."""

from hypothesis import given, settings

from fleet.shards import Shard
from fleet.wire.commits import decode_key
from lagmon.arrays.java_hash import partition_of
from lagmon.cluster.group_share import GroupShare
from lagmon.cluster.state import ClusterLag
from lagmon.snapshots.cluster import take_up
from tests.lagmon.snapshots.test_cluster import PARTITIONS, TOPICS, begun, kept, looks, restarted, told


def taken_up(world, state, number, count):
    """Return the lag of a shard that took up a state, before it has read a commit."""
    share = GroupShare(Shard(number, count))
    share.divide(PARTITIONS)
    lag = ClusterLag(wanted=lambda group, _topic: share.has(group), share=share)
    lag.begin_commits(PARTITIONS)
    take_up(lag, state, partitions=TOPICS, now_ms=world.now)
    lag.note_topics(TOPICS)
    return lag


@given(looks)
@settings(deadline=None, max_examples=25)
def test_what_was_kept_by_one_process_or_another_shard_brings_no_group_and_is_good_for_all(happenings):
    world, lag, _ = begun(happenings)
    one = restarted(world, lag)
    for number in (1, 2, 3):
        state = kept(lag, world.now)
        for _ in range(2):  # of the process without shards, then of a shard
            part = taken_up(world, state, number, 3)
            assert (part.slots.used, part.slots.group_numbers, part.membership.kinds) == (0, 0, {})
            assert part.silent_groups() == set()
            state = kept(taken_up(world, state, number % 3 + 1, 3), world.now)
    parts = [taken_up(world, kept(lag, world.now), number, 3) for number in (1, 2, 3)]
    for each in (one, *parts):
        for key, value in world.commits:
            if partition_of(decode_key(key).group, PARTITIONS) in each.share.read(PARTITIONS):
                each.intake.take([key], [value], read_ms=world.now, live=False)
        for number in each.share.read(PARTITIONS):
            each.note_read(number, world.now)
        world.look(each)
    found = [told(part, world.now) for part in parts]
    assert {name: said for part in found for name, said in part.items()} == told(one, world.now)
    assert sum(map(len, found)) == len(told(one, world.now))
