"""One verdict of canary and offsets, by a real mirror: a standstill, a loss that no probe sees, and the end of both."""

from __future__ import annotations

import pytest

from deploy.local.topics import create_topic, delete_records
from tests.eventually import eventually
from tests.real.lag.test_mirrors import LABELS, PARTITIONS, Traffic, ends_of
from tests.real.service.process import ServiceProcess


@pytest.fixture
def watched(kafka_pair, mirror, topic_name, tmp_path):
    """Give topic, traffic, mirror and service: the flow is watched by its canary and by its offsets."""
    topic, probed = topic_name("orders"), topic_name("canary")
    client = kafka_pair.a.client_properties()
    create_topic(client, topic, partitions=PARTITIONS)
    running = mirror({"A->B.topics": f"{topic}, {probed}"})
    with (
        Traffic(client, topic) as traffic,
        ServiceProcess(
            tmp_path / "service",
            topic=probed,
            mm2=running.properties_file,
            lag={"commits": "topic", "per_partition": "true"},
        ) as service,
    ):
        yield topic, probed, traffic, running, service


def parts_of(found):
    return {row["part"] for row in found["evidence"]}


@pytest.mark.long
def test_a_standstill_and_a_loss_are_one_verdict_with_both_evidences(watched, kafka_pair):
    topic, probed, traffic, running, service = watched
    client = kafka_pair.a.client_properties()
    service.is_healthy()

    def both():
        found = service.flow()
        is_known = found["parts"].get("lag", "").startswith("Lag ")
        return found if is_known and found["verdict"] == "healthy" else None

    found = eventually(both, 90, what="both parts are well", every_s=0.5)
    assert set(found["parts"]) == {"canary", "lag", "failover"}

    # The mirror stands: the canary tells at once, its offsets agree as soon as they can.
    running.freeze()
    found = service.becomes("stalled", cause="mirror_down", deadline_s=20)
    assert parts_of(found) == {"canary"}

    def agreed():
        found = service.flow()
        assert (found["verdict"], found["cause"]["code"]) == ("stalled", "mirror_down"), found
        told = {row["topic"] for row in found["evidence"] if row["part"] == "lag"}
        return found if told >= {topic, probed} and "canary" in parts_of(found) else None

    found = eventually(agreed, 100, what="offsets agree", every_s=0.5)
    assert "No other partition moves" in found["sentence"]
    rows = {(row["topic"], row["partition"]): row for row in found["evidence"] if row["part"] == "lag"}
    age_s = service.metric("flow_recovery_point_age_seconds", **LABELS)
    assert age_s > 30

    # Records of another topic than the canary's are deleted before they were copied.
    traffic.pause()
    end, copied = ends_of(client, topic)[0], ends_of(kafka_pair.b.client_properties(), f"A.{topic}")[0]
    assert rows[topic, 0]["source_offset"] <= copied < end
    delete_records(client, topic, before={0: end})  # more than it may have copied since it wrote its offset
    found = service.becomes("losing", cause="overtaken", deadline_s=60)
    assert 0 < found["lost_records"] <= end - copied
    lost = [row for row in found["evidence"] if (row["topic"], row["partition"]) == (topic, 0)]
    assert "lag" in {row["part"] for row in lost}
    assert found["counters"]["lost"] == 0  # no probe sees it
    assert found["also"]["verdict"] == "stalled"
    assert service.metric("flow_cause", **LABELS, cause="mirror_down") == 1
    # A loss is current for a minute.
    eventually(lambda: service.metric("flow_cause", **LABELS, cause="overtaken") == 0, 90)

    # It goes on: what was lost is told for a while, and nothing else.
    running.thaw()
    traffic.resume()
    eventually(lambda: service.flow()["also"] is None, 100, what="the standstill is over", every_s=0.5)
    eventually(both_move(service), 120, what="offsets move", every_s=0.5)
    found = service.flow()
    assert (found["verdict"], found["cause"]["code"], found["also"]) == ("losing", "overtaken", None)
    assert found["counters"]["lost"] == 0
    told = {(verdict, cause) for _, name, verdict, cause in service.said if name == "A->B"}
    assert not {verdict for verdict, _ in told} & {"altered", "repeating"}
    service.end()


def both_move(service):
    return lambda: "Lag " in service.flow()["parts"]["lag"]
