"""A service is told of runs of the checksum: who may, what it shows, over a sudden end too, and what needs no telling."""

from __future__ import annotations

import asyncio
import time

import pytest

from checksum.history.documents import packed_run
from checksum.history.history import ChecksumHistory
from fleet.errors import UnavailableError
from mirrorwatch.checksums.results.reporting import TOKEN, RunRejectedError, tell
from mirrorwatch.service.store_parts import MIGRATIONS
from runtime.store.store import Store
from tests.databases import address_of
from tests.eventually import eventually
from tests.mirrorwatch.told_runs import finding, partition, run
from tests.real.orders import change, post
from tests.real.service.process import ServiceProcess

PATH = "/api/v1/checksums"
OURS = "auditors-only"
LABELS = {"flow": "A->B", "source_cluster": "A", "target_cluster": "B", "topic": "orders"}
SIX_HOURS_S = 6 * 3600.0


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def address(request, tmp_path):
    return address_of(request, tmp_path / "service")


@pytest.fixture
def service(mirror, topic_name, tmp_path, address):
    running = mirror()
    one = ServiceProcess(tmp_path / "service", topic=topic_name("canary"), mm2=running.properties_file)
    url = address.render_as_string(hide_password=False)
    change(one, lambda document: document["http"].update(tokens={"audit": OURS, "operator": "other"}))
    change(one, lambda document: document.setdefault("store", {}).update(url=url))
    with one:
        one.is_healthy(good=1)
        yield one


def numbers(service):
    """Return what /metrics tells of the topic: records by verdict, the share, and when it was last verified."""
    told = service.metrics()
    records = {
        dict(labels)["verdict"]: value
        for (name, labels), value in told.items()
        if name == "mirrorwatch_checksum_records"
    }
    labels = frozenset(LABELS.items())
    return (
        records,
        told.get(("mirrorwatch_checksum_coverage_ratio", labels)),
        told.get(("mirrorwatch_checksum_last_success_timestamp_seconds", labels)),
    )


async def keep(address, document):
    """Keep a run in the service's own store, as a run does that shares it."""
    store = Store(address, migrations=MIGRATIONS)
    await store.open()
    try:
        await ChecksumHistory(store).take(packed_run(document), now_ms=int(time.time() * 1000))
    finally:
        await store.close()


def test_a_run_is_told_shown_and_remembered(service, address):
    assert numbers(service) == ({}, None, None)
    assert service.flow()["checksum"] is None
    ended_at = round(time.time() - SIX_HOURS_S)
    night = run("night-1", ended_at=ended_at, partitions=[partition(lost=1)], findings=[finding()])

    # Who may not, and what is none.
    for token in ("", "other", "auditors"):
        assert post(service, PATH, token=token)[0] == 401
    status, answer = post(service, PATH, token=OURS)
    assert (status, answer["detail"]) == (400, "the document: invalid checksum run; not JSON")
    with pytest.raises(UnavailableError, match="rejects the token in MIRRORWATCH_TOKEN"):
        asyncio.run(tell(service.url, night, {TOKEN: "auditors"}))
    with pytest.raises(RunRejectedError, match=r"HTTP 404: unknown flow 'A->C'"):
        asyncio.run(tell(service.url, night | {"flow": "A->C"}, {TOKEN: OURS}))
    with pytest.raises(
        RunRejectedError,
        match=r"HTTP 400: the document: invalid checksum run; status: must be a whole number",
    ):
        asyncio.run(tell(service.url, night | {"status": 9}, {TOKEN: OURS}))
    assert numbers(service) == ({}, None, None)

    # A run, told twice.
    for _ in range(2):
        asyncio.run(tell(service.url, night, {TOKEN: OURS}))
    found = service.becomes("losing", deadline_s=5)
    sentence = "orders [0]: record at offset 41 on A"
    assert f"The checksum that ended 6 h ago found: {sentence.replace(': ', '; ')}" in found["sentence"]
    (row,) = (one for one in found["evidence"] if one["part"] == "checksum")
    assert (row["topic"], row["partition"], row["source_offset"]) == ("orders", 0, 41)
    assert "100 records of the source compared, everything verified, 1 finding" in found["parts"]["checksum"]
    assert (found["checksum"]["run"], found["checksum"]["page"]) == ("night-1", "/checksums/night-1")
    records, coverage, success_at = numbers(service)
    assert {name: count for name, count in records.items() if count} == {"match": 99, "lost": 1}
    assert (len(records), coverage, success_at) == (8, 1.0, ended_at)
    page = service.get("/")[1]
    assert '<a href="/checksums/night-1">Run ended' in page
    status, text = service.get("/checksums/night-1")
    assert (status, sentence in text) == (200, True)
    assert service.get(f"{PATH}/night-1")[0] == 200
    assert service.get("/checksums/night-2")[0] == 404

    # A sudden end, and another start.
    service.kill()
    service.start()
    assert service.becomes("losing", deadline_s=60)["checksum"]["run"] == "night-1"
    assert numbers(service) == (records, coverage, success_at)

    # A run on the same store needs no telling, and takes nothing back.
    asyncio.run(keep(address, run("night-2", ended_at=ended_at + 3600, partitions=[partition()])))
    eventually(lambda: service.flow()["checksum"]["run"] == "night-2", 45, what="it looks at the store")
    found = service.flow()
    assert (found["verdict"], [one["run"] for one in found["checksum"]["earlier"]]) == ("losing", ["night-1"])
    assert numbers(service)[0]["lost"] == 0
    assert numbers(service)[2] == ended_at + 3600
    assert not [one for one in service.lines() if one["level"] == "error" and "flow" not in one]
    service.end()
