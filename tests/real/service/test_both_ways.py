"""One mirror, both directions: each flow is probed and judged for itself, over one pair of clusters."""

from __future__ import annotations

import pytest

from tests.eventually import eventually
from tests.real.census import census
from tests.real.service.process import ServiceProcess


@pytest.mark.long
def test_each_direction_is_probed_and_judged_for_itself(mirror, kafka_pair, topic_name, tmp_path):
    topic = topic_name("canary")
    running = mirror(flows=("A->B", "B->A"))
    with ServiceProcess(tmp_path / "service", topic=topic, mm2=running.properties_file) as service:
        for flow in ("A->B", "B->A"):
            service.is_healthy(flow=flow)
        books = service.end()
    for flow, source, target in (
        ("A->B", kafka_pair.a, kafka_pair.b),
        ("B->A", kafka_pair.b, kafka_pair.a),
    ):
        assert books[flow]["lost"] == books[flow]["duplicated"] == books[flow]["looped"] == 0
        alias = flow[0]
        seen = eventually(
            lambda source=source, target=target, alias=alias: _complete(source, target, topic, alias), 30
        )
        assert len(seen.source) == books[flow]["expected"] - books[flow]["skipped"] - books[flow]["abandoned"]


def _complete(source, target, topic, alias):
    """Return the full read of both sides once nothing is missing downstream."""
    found = census(source, target, topic, alias=alias)
    return None if found.missing else found
