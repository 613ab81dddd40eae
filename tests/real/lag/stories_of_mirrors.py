"""A real mirror whose target lacks a partition, that is killed, and that drops probes where nothing newer comes."""

from __future__ import annotations

import html
import re
import time
from urllib.parse import quote

from canary.tracker.stamp import HEADER
from deploy.local.topics import partition_count
from fleet.dialect import moment_ms
from tests.eventually import eventually
from tests.real.census import census
from tests.real.lag.stage import BRIEF_S, DEADLINE_S, LACKED, end_of
from tests.real.lag.test_mirrors import LABELS, PARTITIONS, said

HARM = {"losing", "altered", "repeating"}
# N is believed once it changes after the time for which it may yet be of another topic (canary.watch.mirror_positions).
UNBELIEVED_S = 60 + 40
PROVED = 8  # probes


def what_the_target_lacks_and_a_mirror_that_is_killed(stage):
    """First the partition, then all of it; a restart mends both, and nothing is called lost."""
    try:
        _is_listed(stage)
        _is_due(stage)
        _is_killed(stage)
        _comes_back(stage)
    finally:
        stage.mirror_came_back.set()
    _lacks_nothing(stage)


def _missing(stage):
    return {
        one["cause"]["code"]: one
        for one in stage.offsets().get("missing", ())
        if one["topic"] == stage.lacking
    }


def _is_listed(stage):
    """At once, on the page too; and how soon retention would overtake a mirror that keeps up."""

    def both():
        found = _missing(stage)
        return found if found.keys() == {"partition_missing", "not_mirrored"} else None

    listed = eventually(both, 120, what="both are listed", every_s=1)
    counts = f"A.{stage.lacking} on B has only 2 of the 3 partitions of {stage.lacking}"
    unwritten = f"No offset of the mirror for 1 partition of {stage.lacking}, which has records"
    assert listed["partition_missing"]["sentence"].startswith(counts)
    assert listed["not_mirrored"]["sentence"].startswith(unwritten)
    for one in listed.values():
        assert stage.began_at - 5 <= moment_ms(one["since"]) / 1000 <= time.time()
    status, page = stage.service.get(f"/flows/{quote('A->B', safe='')}/offsets")
    assert status == 200
    for words in (counts, unwritten):
        assert html.escape(words) in page
    (row,) = [
        one for one in stage.offsets()["partitions"] if (one["topic"], one["partition"]) == (stage.lacking, 2)
    ]
    assert (row["status"], row["reason"], row["next_offset"]) == ("UNKNOWN", "no_offset", None)
    name = "replication_topic_retention_headroom_seconds"

    def whole():
        seconds = stage.service.metric(name, **LABELS, topic=stage.brief)
        return seconds is not None and BRIEF_S - 40 <= seconds <= BRIEF_S

    eventually(whole, 120, what="nearly all of its retention is left", every_s=1)


def _is_due(stage):
    """Once the mirror has had its time to look for topics: stalled, by the flow's verdict too."""
    told = said(stage.service, "partitions? of .* on B only 2", deadline_s=DEADLINE_S)
    assert f"A.{stage.lacking} on B has only 2 of the 3 partitions of {stage.lacking}" in told
    stage.service.becomes("stalled", cause="partition_missing", deadline_s=DEADLINE_S)
    assert partition_count(stage.clients["B"], f"A.{stage.lacking}") == 2
    assert stage.offsets()["verdict"] == "stalled"


def _is_killed(stage):
    stage.mirror.kill()
    killed_at = time.time()
    told = said(stage.service, "No other partition moves", deadline_s=120)
    numbers = re.search(r"(\d+) partitions? of .* lag (\d+) record", told.replace(",", ""))
    assert numbers, told
    assert int(numbers[1]) >= PARTITIONS
    stage.service.becomes("stalled", cause="mirror_down", deadline_s=120)
    stood_s = time.time() - killed_at
    # What waits, in one topic of which it is known when each record was written.
    (row,) = [one for one in stage.offsets()["partitions"] if one["topic"] == stage.brief]
    next_offset, end = row["next_offset"], end_of(stage.clients["A"], stage.brief)
    assert row["status"] in {"STOP", "STALL"}
    assert row["lag_records"] == row["log_end_offset"] - next_offset
    assert end - 20 * 5 <= row["log_end_offset"] <= end
    assert row["lag_records"] >= 5 * (stood_s - 30)
    assert row["target_log_end_offset"] >= next_offset
    waits_s = time.time() - stage.brief_writer.written_at[next_offset]
    assert abs(row["lag_s"] - waits_s) <= 20
    assert row["headroom_from"] == "by retention.ms"
    assert abs(row["headroom_s"] - (BRIEF_S - waits_s)) <= 20
    headroom_s = stage.service.metric(
        "replication_topic_retention_headroom_seconds", **LABELS, topic=stage.brief
    )
    assert abs(headroom_s - (BRIEF_S - waits_s)) <= 20
    assert row["headroom_records"] == next_offset  # the log begins at 0
    assert stage.service.metric("replication_status", **LABELS) == 4


def _comes_back(stage):
    stage.mirror.start()
    stage.mirror.wait_ready(deadline_s=180)
    said(stage.service, "^Lag [0-9,]+ records? on", deadline_s=DEADLINE_S)
    stage.service.becomes("healthy", deadline_s=120)
    assert not stage.service.verdicts() & HARM, stage.service.said
    assert lost(stage.service) == 0


def _lacks_nothing(stage):
    copy, b = f"A.{stage.lacking}", stage.clients["B"]
    assert partition_count(b, copy) == 3
    eventually(lambda: end_of(b, copy, 2) == LACKED, 120, what="all of its copies", every_s=1)
    eventually(lambda: not _missing(stage), 120, what="nothing is missing any more", every_s=1)


def probes_that_only_the_mirrors_own_offsets_prove_lost(stage):
    """Every probe of a partition is dropped, strangers among them are not: N passes, and no newer probe comes."""
    assert stage.mirror_came_back.wait(2 * DEADLINE_S)
    time_left_s = stage.began_at + UNBELIEVED_S - time.time()
    eventually(lambda: time.time() >= stage.began_at + UNBELIEVED_S, max(1.0, time_left_s + 5), every_s=1)
    service, switch = stage.service, stage.mirror.switch
    stage.service.is_healthy(deadline_s=120)
    assert lost(service) == 0
    switch.on("drop", topics=re.escape(stage.canary), partition=0, select=f"header:{HEADER}")
    try:
        eventually(lambda: lost(service) >= PROVED, 120, what=f"{PROVED} probes proved lost", every_s=0.5)
    except AssertionError as error:
        raise AssertionError(f"{error}; {service.books()}; {service.flow()['cause']}") from None
    flow = service.becomes("losing", cause="filtered", deadline_s=30)
    known, (probes, missing, copies) = lost(service), _dropped(stage)
    assert missing
    assert missing == [offset for offset in probes if offset >= min(missing)]  # nothing newer has come
    assert known <= len(missing)
    assert any(not copy.headers for copy in copies)  # strangers came through
    rows = {(row["partition"], row["source_offset"]) for row in flow["evidence"] if row["part"] == "canary"}
    assert rows
    assert rows <= {(0, offset) for offset in missing}
    switch.off()
    good = service.books()["good"]
    eventually(lambda: service.books()["good"] >= good + 10, 60, what="probes come again", every_s=0.5)

    def settled():
        counted, missing = lost(service), _dropped(stage)[1]
        return counted == len(missing) and (counted, missing)

    eventually(settled, 120, what="all that are missing are called lost, and no others", every_s=3)
    assert service.books()["returned"] == 0


def _dropped(stage):
    """Return the offsets of the probes of partition 0 on the source, of those that have no copy, and the copies."""
    found = census(stage.pair.a, stage.pair.b, stage.canary)
    probes, missing = (
        [one.offset for one in copies if one.partition == 0 and HEADER in dict(one.headers)]
        for copies in (found.source, found.missing)
    )
    return probes, missing, [one for one in found.target if one.partition == 0]


def lost(service):
    """Return how many probes were proved lost: before their horizon, or after it."""
    return service.books()["lost"] + service.books()["confirmed"]
