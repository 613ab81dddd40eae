"""The configuration of one shard: its flows, and the clusters of all groups."""

from __future__ import annotations

import pytest

from fleet.errors import ConfigurationError
from fleet.shards import Shard
from tests.mirrorwatch.configuration.test_reading import read

MANY = """clusters: {A: {bootstrap.servers: 'a:1'}, B: {bootstrap.servers: 'b:1'}, C: {bootstrap.servers: 'c:1'}}
mirror_version: '4.3'
flows: {'A->B': {}, 'A->C': {}, 'B->C': {}, 'C->A': {}, 'B->A': {}}
store: {url: 'sqlite:///x.db', group: all, shards: 3}
"""


@pytest.mark.parametrize("lag", ["", "lag: {commits: 'off'}\n"])
def test_all_shards_together_are_the_configuration(tmp_path, lag):
    config = read(tmp_path, {"mirrorwatch.yml": MANY + lag})
    parts = [config.of_shard(Shard(number, 3)) for number in (1, 2, 3)]
    for what in (
        lambda one: {flow.name for flow in one.topology.flows},
        lambda one: {flow.name for flow in one.canary_flows},
        lambda one: {fact.name for fact in one.flow_facts},
        lambda one: {(aim.flow, aim.kind) for aim in one.objectives},
    ):
        assert set().union(*map(what, parts)) == what(config)
        assert sum(len(what(one)) for one in parts) == len(what(config))
    for one in parts:
        assert set(one.flow_shards) == {"A->B", "A->C", "B->C", "C->A", "B->A"}
        assert {flow.name for flow in one.topology.flows} == {
            name for name, number in one.flow_shards.items() if number == one.shard.number
        }
        assert set(one.clients) == (one.topology.touched if lag else {"A", "B", "C"})


def test_the_only_shard_has_everything(tmp_path):
    config = read(tmp_path, {"mirrorwatch.yml": MANY.replace(", shards: 3", "")})
    one = config.of_shard(Shard(1, 1))
    assert (one.topology, one.clients, one.objectives) == (config.topology, config.clients, config.objectives)


def test_shards_need_a_group(tmp_path):
    with pytest.raises(ConfigurationError, match=r"store\.shards: has an effect only with store\.group"):
        read(tmp_path, {"mirrorwatch.yml": MANY.replace("group: all, ", "")})
