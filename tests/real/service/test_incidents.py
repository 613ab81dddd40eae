"""Incidents of a real service over a real mirror: through a kill of the service, and until it is healthy again."""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.eventually import eventually
from tests.real.service.process import ServiceProcess

pytestmark = pytest.mark.real


def _incidents(service):
    status, body = service.get("/api/v1/incidents?flow=A:B")
    return json.loads(body)["incidents"] if status == 200 else []


def _open(service):
    found = [one for one in _incidents(service) if one["state"] == "open"]
    return found or None


async def test_a_stall_is_one_incident_through_a_kill_of_the_service(
    kafka_pair, mirror, topic_name, tmp_path
):
    topic = topic_name("canary")
    running = await asyncio.to_thread(mirror)
    with ServiceProcess(tmp_path / "service", topic=topic, mm2=running.properties_file) as service:
        await asyncio.to_thread(service.is_healthy)
        assert _incidents(service) == []
        assert service.metric("incident_open", flow="A->B", source_cluster="A", target_cluster="B") == 0
        running.freeze()
        (before,) = await asyncio.to_thread(eventually, lambda: _open(service), 40, what="an open incident")
        assert before["conditions"] == ["stalled"]
        assert service.metric("incident_open", flow="A->B", source_cluster="A", target_cluster="B") == 1
        service.kill()
        service.start()
        await asyncio.to_thread(service.becomes, "stalled", deadline_s=60)
        (after,) = await asyncio.to_thread(eventually, lambda: _open(service), 20, what="the open incident")
        assert (after["incident"], after["started_at"]) == (before["incident"], before["started_at"])
        running.thaw()
        await asyncio.to_thread(service.becomes, "healthy", deadline_s=60)
        assert len(_incidents(service)) == 1
        for path in ("/flows", "/flows/A:B", "/incidents", f"/incidents/{after['incident']}", "/checksums"):
            status, body = service.get(path)
            assert status == 200, path
            assert "<h1" in body
        assert "stalled" in service.get("/flows/A:B/incident")[1]
