"""Mirrors with other settings than most have, by their offsets alone: each keeps up, dies, comes back, and no more."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from deploy.local.mirror import MirrorMaker
from deploy.local.pair import Pair
from deploy.local.service import offsets_at
from deploy.local.topics import create_topic
from tests.eventually import eventually
from tests.real.lag.test_mirrors import PARTITIONS, Traffic, ends_of
from tests.real.mirrors.test_topologies import OLDER
from tests.real.service.process import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Mapping

HARM = {"losing", "altered", "repeating"}


@dataclass(frozen=True)
class Kind:
    """What the mirror's file says, and what the service is told of the flow beside that file."""

    settings: Mapping[str, str] = field(default_factory=dict)
    said: Mapping[str, object] = field(default_factory=dict)
    version: str | None = None


KINDS = {
    "exactly once": Kind(
        {
            "dedicated.mode.enable.internal.rest": "true",
            "listeners": "http://127.0.0.1:0",
            "B.exactly.once.source.support": "enabled",
        }
    ),
    "syncs on the target": Kind({"A->B.offset-syncs.topic.location": "target"}, {"lag_from": "offset-syncs"}),
    "read committed": Kind({"A->B.consumer.isolation.level": "read_committed"}),
    f"all of {OLDER}": Kind(version=OLDER),
}


@pytest.fixture
def stage(request, tmp_path):
    """Give topic, clients, traffic, mirror and service; brokers and mirror are this test's own."""
    kind: Kind = request.param
    topic = "orders"
    settings = {"A->B.topics": topic, **kind.settings}
    with Pair(tmp_path / "kafka", flows=(), version=kind.version) as pair:
        clients = a, _ = [broker.client_properties() for broker in (pair.a, pair.b)]
        create_topic(a, topic, partitions=PARTITIONS)
        mirror = MirrorMaker(
            (pair.a, pair.b), tmp_path / "mirror", settings=settings, version=kind.version, switchable=False
        )
        mirror.start()
        try:
            with (
                Traffic(a, topic) as traffic,
                ServiceProcess(
                    tmp_path / "service",
                    topic="canary",
                    mm2=mirror.properties_file,
                    canary={"mode": "off"},
                    lag={"commits": "topic"},
                    flows={"A->B": kind.said} if kind.said else None,
                    version=kind.version,
                ) as service,
            ):
                yield topic, clients, traffic, mirror, service
        finally:
            mirror.kill()


@pytest.mark.long
@pytest.mark.parametrize("stage", KINDS.values(), ids=KINDS, indirect=True)
def test_it_keeps_up_dies_and_comes_back(stage):
    topic, (a, b), traffic, mirror, service = stage
    mirror.wait_ready(deadline_s=90)

    def told():
        return offsets_at(service.url, "A->B")

    def well():
        now = told()
        return (
            now.get("verdict") == "healthy"
            and (now["lag_records"] or 0) < 1000
            and now["commit_interval_s"] < 30
        )

    eventually(well, 150, what="healthy, with a lag of late", every_s=0.5)
    mirror.kill()
    found = service.becomes("stalled", cause="mirror_down", deadline_s=180)
    assert "No other partition moves" in found["sentence"]
    traffic.pause()
    written = ends_of(a, topic)
    mirror.start()
    service.becomes("healthy", deadline_s=120)

    def at_rest():
        now = told()
        return now.get("verdict") == "healthy" and now["lag_records"] == 0

    eventually(at_rest, 120, what="all is copied, and no lag", every_s=0.5)
    copied = ends_of(b, f"A.{topic}")
    assert all(copied[number] >= written[number] for number in written)
    traffic.resume()
    eventually(well, 90, what="healthy with new records", every_s=0.5)
    assert not service.verdicts() & HARM, service.said
    assert told()["findings"] == []
    assert service.problems() == {}
    service.end()
