"""A real mirror whose aliases are overridden: topics keep their names, and canary and lag find them."""

from __future__ import annotations

import json

import pytest

from deploy.local.topics import create_topic
from tests.eventually import eventually
from tests.real.lag.test_joined import both_move
from tests.real.lag.test_mirrors import PARTITIONS, Traffic, ends_of
from tests.real.service.process import ServiceProcess
from tests.real.service.test_check import said

SETTINGS = {"source.cluster.alias": "", "replication.policy.separator": ""}


@pytest.mark.long
def test_a_mirror_that_keeps_names_by_an_empty_alias_is_healthy(mirror, kafka_pair, topic_name, tmp_path):
    topic, probed = topic_name("orders"), topic_name("canary")
    client = kafka_pair.a.client_properties()
    create_topic(client, topic, partitions=PARTITIONS)
    running = mirror({**SETTINGS, "A->B.topics": f"{topic}, {probed}"})
    with (
        Traffic(client, topic),
        ServiceProcess(
            tmp_path / "service",
            topic=probed,
            mm2=running.properties_file,
            canary={"threshold": "15s", "horizon": "60s"},
            lag={"commits": "topic", "per_partition": "true"},
        ) as service,
    ):
        service.is_healthy(deadline_s=120)
        eventually(both_move(service), 120, what="offsets move", every_s=0.5)
        found = service.flow()
        assert (found["verdict"], set(found["parts"])) == ("healthy", {"canary", "lag"})
        offsets = json.loads(service.get("/api/v1/flows/A->B/offsets")[1])
        assert {(row["topic"], row["partition"]) for row in offsets["partitions"]} >= {
            (topic, number) for number in range(PARTITIONS)
        }
        books = service.end()["A->B"]
    assert books["lost"] == books["duplicated"] == books["looped"] == 0
    assert all(end > 0 for end in ends_of(kafka_pair.b.client_properties(), topic).values())
    code, _, text = said(tmp_path / "service" / "mirrorwatch.yaml")
    assert code == 0, text
    assert "topics keep their names" in text
