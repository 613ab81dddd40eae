from dataclasses import replace

import pytest

from fleet.shards import WHOLE, Shard
from lagmon.ingest.orders import read_orders
from mirrorwatch.lag.orders import lag_orders
from tests.mirrorwatch.test_lag_exchange import config_of


@pytest.fixture
def config(tmp_path):
    """Give a configuration with two flows, of which one syncs offsets of groups."""
    found = config_of(tmp_path)
    flows = tuple(replace(one, sync_group_offsets=one.name == "A->B") for one in found.topology.flows)
    assert [one.name for one in flows] == ["A->B", "B->A"]
    return replace(found, topology=replace(found.topology, flows=flows))


def orders_of(config):
    return read_orders({**lag_orders(config).told, "socket": "x"})


def test_another_shard_is_other_orders(config):
    shards = [WHOLE, Shard(1, 2), Shard(2, 2), Shard(1, 3)]
    told = [lag_orders(replace(config, shard=shard)) for shard in shards]
    assert all(told[one] != told[other] for one in range(4) for other in range(one))
    assert [orders_of(replace(config, shard=shard)).shard for shard in shards] == shards
    assert lag_orders(replace(config, shard=Shard(1, 2))) == told[1]


def test_each_shard_knows_every_flow_that_syncs_offsets_of_its_groups(config):
    """A group of the target may belong to another shard than the flow that syncs its offsets."""
    assert orders_of(config.of_shard(WHOLE)).flows_elsewhere == ()
    for number in (1, 2):
        orders = orders_of(config.of_shard(Shard(number, 2)))
        assert len(orders.mirrors) == 1
        (flow,) = orders.flows_to("B")
        assert (flow.name, flow.sync_group_offsets) == ("A->B", True)
        assert [one.name for one in orders.flows_elsewhere] in ([], ["A->B"])
