"""A topic that is made, filled at once and then quiet: its offset is written before the service has listed it."""

from __future__ import annotations

import time

import pytest

from deploy.local.topics import create_topic
from tests.eventually import eventually
from tests.real.lag.stage import write
from tests.real.lag.test_mirrors import LABELS, Traffic, ends_of, said
from tests.real.service.process import ServiceProcess

RECORDS = 10
LISTED_S = 120  # topics are listed once a minute, and a machine may be busy
PATIENCE_S = 100  # after that a topic of which the mirror has no offset would be told


@pytest.mark.long
def test_a_topic_that_was_copied_before_it_was_listed_is_mirrored(kafka_pair, mirror, topic_name, tmp_path):
    orders, brief = topic_name("orders"), topic_name("brief")
    a, b = kafka_pair.a.client_properties(), kafka_pair.b.client_properties()
    create_topic(a, orders, partitions=3)
    running = mirror({"A->B.topics": f"{orders}|{brief}"})
    with (
        Traffic(a, orders),
        ServiceProcess(
            tmp_path / "service",
            topic=topic_name("canary"),
            mm2=running.properties_file,
            canary={"mode": "off"},
            lag={"commits": "topic", "per_partition": "true"},
        ) as service,
    ):
        said(service, "^Lag [0-9,]+ records? on", deadline_s=90)
        create_topic(a, brief)
        write(a, brief, RECORDS)
        made_at = time.monotonic()
        eventually(lambda: ends_of(b, f"A.{brief}", partitions=1) == {0: RECORDS}, 60, every_s=0.5)

        def listed():
            return service.metric("replication_topic_lag_records", **LABELS, topic=brief) == 0

        eventually(listed, LISTED_S, what=f"{brief} listed, with nothing to copy", every_s=0.5)
        listed_s = time.monotonic() - made_at
        while time.monotonic() - made_at < listed_s + PATIENCE_S:
            told = service.flow()
            assert told["cause"] is None, (listed_s, told)
            time.sleep(1)
        assert "not_mirrored" not in {cause for *_, cause in service.said}, service.said
        service.end()
