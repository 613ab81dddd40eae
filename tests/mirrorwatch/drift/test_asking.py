"""Clusters that do not answer: one error, as itself, and all clients closed."""

from __future__ import annotations

import pytest

from fleet.errors import UnavailableError
from fleet.topology import Cluster, Topology
from mirrorwatch.drift import asking
from tests.mirrorwatch.drift.cluster import FakeAdmin
from tests.mirrorwatch.drift.test_facts import FLOW, equal
from tests.runtime.fake_clock import FakeClock


class Admin(FakeAdmin):
    is_open = False

    async def open(self):
        self.is_open = True

    async def close(self):
        self.is_open = False


@pytest.fixture
def admins(monkeypatch):
    source, target = equal()
    made = {"A": Admin(source.sizes, source.settings), "B": Admin(target.sizes, target.settings)}
    monkeypatch.setattr(asking, "ClusterAdmin", lambda _settings, cluster, **_: made[cluster])
    return made


async def drift():
    topology = Topology((Cluster("A"), Cluster("B")), (FLOW,))
    return await asking.read_drift(topology, [FLOW], {"A": None, "B": None}, FakeClock())


async def test_both_clusters_are_read_and_closed(admins):
    (found,) = await drift()
    assert found.flow is FLOW
    assert not any(one.is_open for one in admins.values())


@pytest.mark.parametrize("away", ["A", "B", "AB"])
async def test_a_cluster_that_is_away_is_an_error_of_its_own(admins, away):
    for alias in away:
        admins[alias].away = True
    with pytest.raises(UnavailableError, match="cannot connect to any broker"):
        await drift()
    assert not any(one.is_open for one in admins.values())
