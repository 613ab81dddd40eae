"""A mirror whose clusters let us see only a part: what may not be seen is unknown, and never missing."""

from __future__ import annotations

import time

import pytest

from deploy.local.mirror import MirrorMaker
from deploy.local.topics import create_topic
from tests.eventually import eventually
from tests.real.lag.test_mirrors import Traffic
from tests.real.service.process import ServiceProcess

OFFSETS = "mm2-offsets.B.internal"
SOON_S, LOOKS_S = 60, 30  # for what is told; and of silence, some looks at topics and logs


@pytest.fixture
def topic(kafka_pair, topic_name):
    found = topic_name("orders")
    create_topic(kafka_pair.b.client_properties(), found, partitions=3)
    return found


def tells(service, words):
    def look():
        return words in service.flow("B->S").get("parts", {}).get("lag", "")

    try:
        eventually(look, SOON_S, every_s=0.5)
    except AssertionError:
        raise AssertionError(f"{words!r} was not said, but {service.flow('B->S').get('parts')}") from None


@pytest.mark.long
def test_what_may_not_be_seen_is_unknown_and_is_known_once_it_may(
    secure_broker, kafka_pair, rights, topic, tmp_path
):
    mirror = MirrorMaker(
        (kafka_pair.b, secure_broker), tmp_path, flows=["B->S"], settings={"B->S.topics": topic}
    )
    clusters = {"S": secure_broker.java_properties("watcher"), "B": kafka_pair.b.client_properties()}
    with (
        Traffic(kafka_pair.b.client_properties(), topic),
        ServiceProcess(
            tmp_path / "service",
            topic="unused",
            clusters=clusters,
            flows={"B->S": {"topics": topic}},
            canary={"mode": "off"},
            lag={"commits": "topic"},
        ) as service,
    ):
        try:
            mirror.start()
            # Nothing of S may be seen.
            tells(service, f"it is not known whether it has the topic {OFFSETS}")
            tells(service, "the principal lacks Describe on them; grant it")
            # How far the mirror is may be seen, and not its copies: they are not missing.
            rights.grant(OFFSETS, "READ")
            service.becomes("healthy", flow="B->S", deadline_s=SOON_S)
            time.sleep(LOOKS_S)
            assert service.flow("B->S")["verdict"] == "healthy"
            rights.grant(f"B.{topic}", "DESCRIBE")
            end = {"flow": "B->S", "source_cluster": "B", "target_cluster": "S", "topic": topic}
            eventually(
                lambda: (service.metric("replication_target_end_offset", **end) or 0) > 0,
                SOON_S,
                every_s=0.5,
            )
            rights.withdraw()
            service.becomes("unknown", flow="B->S", deadline_s=SOON_S)
            tells(service, f"reading {OFFSETS} failed: the principal may not do this")
            assert service.verdicts("B->S") == {"unknown", "healthy"}
            service.end()
        finally:
            mirror.kill()
