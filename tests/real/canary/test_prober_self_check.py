"""Where the prober itself is at fault, it says so: `unknown`, cause `prober`, and never a word against the mirror."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import time

import pytest

from tests.eventually import eventually
from tests.real.census import census
from tests.real.service.process import ServiceProcess, kept_as_carried

STOOD_S = 8.0
PARTITIONS = 2


@pytest.fixture
def running(mirror):
    """Give a mirror that copies A->B."""
    return mirror()


@pytest.fixture
def service(running, topic_name, tmp_path):
    """Give a service that is about to be started, with its store in a folder of its own."""
    (tmp_path / "store").mkdir()
    found = ServiceProcess(tmp_path / "service", topic=topic_name("canary"), mm2=running.properties_file)
    document = json.loads(found.config.read_text(encoding="utf-8"))
    document["store"] = {"url": f"sqlite:///{tmp_path}/store/mirrorwatch.db"}
    found.config.write_text(json.dumps(document), encoding="utf-8")
    return found


def told(service, from_line=0):
    """Return every (verdict, cause) that the log tells, in order, from this line of it on."""
    return [(line["verdict"], line["cause"]) for line in service.lines()[from_line:] if "verdict" in line]


def stand_still(service, *, seconds=STOOD_S):
    """Stop the whole process and let it go on; return how many lines its log had before."""
    before = len(service.lines())
    service.freeze()
    time.sleep(seconds)
    service.thaw()
    return before


@pytest.mark.long
def test_a_service_that_stood_still_blames_nobody(service, kafka_pair, topic_name):
    with service:
        service.is_healthy()
        before = stand_still(service)
        service.is_healthy(good=20)
        print(f"after a standstill of {STOOD_S:g} s: {told(service, before)}; {service.books()}")
        assert told(service, before) == [("unknown", "prober"), ("healthy", "none")]
        doubts = [line["sentence"] for line in service.lines()[before:] if "doubts" in line["sentence"]]
        assert len(doubts) == 1
        assert "its event loop was blocked for " in doubts[0]
        assert service.metric("control_probes_total", kafka_cluster="A", outcome="overdue") == 0
        assert service.metric("control_probes_total", kafka_cluster="B", outcome="overdue") == 0
        books = service.end()["A->B"]
    found = census(kafka_pair.a, kafka_pair.b, topic_name("canary"))
    assert found.missing == []
    wrong = ("late", "overdue", "lost", "confirmed", "returned", "corrupted", "duplicated", "looped")
    assert {name: books[name] for name in wrong} == dict.fromkeys(wrong, 0)
    assert books["skipped"] >= (STOOD_S - 2) * PARTITIONS / 0.25
    assert books["in_flight"] == 0


@pytest.mark.long
def test_a_mirror_that_stands_is_told_once_the_doubt_is_over(service, running):
    with service:
        service.is_healthy()
        running.freeze()
        before = stand_still(service)
        service.becomes("stalled", cause="mirror_down", deadline_s=12)
        running.thaw()
        service.is_healthy(deadline_s=40)
        print(f"with a frozen mirror: {told(service, before)}")
        assert told(service, before)[0] == ("unknown", "prober")
        assert {verdict for verdict, _ in told(service, before)} <= {"unknown", "stalled", "late", "healthy"}
        assert {cause for verdict, cause in told(service, before) if verdict == "stalled"} == {"mirror_down"}


def keeps_judging(service, running, folder, *, break_store, mend_store, words):
    """Break the store before there is anything to write; expect verdicts, and then everything in its place."""
    with service:
        running.freeze()  # so that nothing has come through yet, and nothing is in the store of it
        eventually(lambda: service.flow().get("canary", {}).get("state") == "running", 30)
        assert kept_as_carried(folder) == 0
        break_store()
        try:
            running.thaw()
            service.is_healthy(deadline_s=60)
            eventually(lambda: words in service.problems().get("store", ""), 30, what="the problem of it")
            running.freeze()
            service.becomes("stalled", cause="mirror_down", deadline_s=30)
            running.thaw()
            service.is_healthy(deadline_s=40)
            assert service.metric("store_errors_total", operation="write") > 0
            assert service.get("/-/healthy")[0] == 200
        finally:
            mend_store()
        eventually(lambda: "store" not in service.problems(), 40, what="a store that works")
        eventually(lambda: kept_as_carried(folder) == PARTITIONS, 20, what="every row in the store")
        assert "unknown" not in {verdict for verdict, cause in told(service) if cause == "prober"}
        service.end()


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a disk of one megabyte")
def test_a_full_disk_hides_no_fault_and_no_row_is_lost(service, running, tmp_path):
    folder = tmp_path / "store"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], check=True)
    fill = folder / "fill"

    def fill_up():
        with contextlib.suppress(OSError), fill.open("wb", buffering=0) as file:
            while True:
                file.write(b"x" * 512)

    try:
        keeps_judging(
            service, running, folder, break_store=fill_up, mend_store=fill.unlink, words="the disk is full"
        )
    finally:
        service.kill()
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.long
def test_a_store_that_another_process_holds_hides_no_fault(service, running, tmp_path):
    folder = tmp_path / "store"
    with contextlib.ExitStack() as holder:

        def hold():
            store = holder.enter_context(
                contextlib.closing(sqlite3.connect(folder / "mirrorwatch.db", isolation_level=None))
            )
            store.execute("BEGIN IMMEDIATE")

        keeps_judging(
            service,
            running,
            folder,
            break_store=hold,
            mend_store=holder.close,
            words="locked by another process",
        )
