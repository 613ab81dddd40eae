"""Kill -9 and another start on the same store: what was on its way is gone on with, and nothing is made up.

After each the store is held against both topics, read whole, by the code that the benchmark of kills uses.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import sqlite3

import pytest
from confluent_kafka import KafkaException

from bench.book_truth import books_and_topics
from bench.topic_truth import read_topic
from deploy.local.topics import recreate_topic
from tests.eventually import eventually
from tests.real.service.process import ServiceProcess

PARTITIONS = 2
TAKEN_OVER = "taking over the probes of an earlier process"


@pytest.fixture
def topic(topic_name):
    return topic_name("canary")


@pytest.fixture
def running(mirror):
    return mirror()


@pytest.fixture
def service(running, topic, tmp_path):
    """Give a service that watches A->B by a canary topic of this test's own, healthy, with its books written."""
    with ServiceProcess(tmp_path / "one", topic=topic, mm2=running.properties_file) as one:
        one.is_healthy()
        yield one


def use_store(service, path, replica):
    """Have a service that was not started yet use this store under this name."""
    document = json.loads(service.config.read_text())
    document["store"] = {"url": f"sqlite:///{path}", "replica": replica}
    service.config.write_text(json.dumps(document))


def store_of(service):
    return service.config.parent / "mirrorwatch.db"


def told(store, text):
    """Return what the store answers, also while a service writes to it."""
    with contextlib.closing(sqlite3.connect(store, timeout=10)) as connection:
        return connection.execute(text).fetchall()


def logs(pair, topic):
    """Return both topics as they are now."""
    source, target = pair.a.client_properties(), pair.b.client_properties()
    found = []

    def read():
        try:
            found[:] = [read_topic(source, topic), read_topic(target, f"A.{topic}")]
        except (KafkaException, KeyError):  # it was made a moment ago, and has no leader yet
            return False
        return True

    eventually(read, 30, every_s=0.5)
    return found


def agrees(service, pair, topic, *, store=None, **before):
    """Hold the store of a service that has ended against both topics; return the figures.

    What was still on its way when it ended is for another process to judge, so one more is let run for it.
    """
    store = store or store_of(service)
    for _ in range(3):
        truth = books_and_topics(store, "A->B", *logs(pair, topic), **before)
        if not any("in no covered set" in one for one in truth.violations):
            break
        ended = told(store, "select count(*) from canary_incarnations")[0][0]
        service.start()
        is_closed(store, ended)
        service.end()
    assert truth.violations == []
    return truth.figures


def restart(service):
    service.kill()
    service.start()


def is_kept(service, column, least=1):
    """Wait until the rows in the store come to this."""
    eventually(
        lambda: (told(store_of(service), f"select sum({column}) from canary_minutes")[0][0] or 0) >= least,  # noqa: S608
        60,
        what=f"{column} in the store",
    )


def is_closed(store, count=1):
    """Wait until nothing is open any more of so many processes that were killed."""
    closed = "select count(*) from canary_incarnations where closed"
    eventually(lambda: told(store, closed)[0][0] >= count, 60, what=closed)


def test_killed_while_the_mirror_stands_it_is_stalled_again_and_recovers(service, running, kafka_pair, topic):
    running.freeze()
    service.becomes("stalled", cause="mirror_down")
    is_kept(service, "overdue", PARTITIONS)
    restart(service)
    flow = service.becomes("stalled", cause="mirror_down")
    books = flow["counters"]
    assert books["inherited"] >= PARTITIONS
    assert books["outstanding"] >= PARTITIONS
    assert books["warmup"] == 0
    running.thaw()
    service.is_healthy()
    ended = service.end()["A->B"]
    assert ended["recovered"] >= books["inherited"]
    assert ended["lost"] == ended["confirmed"] == ended["returned"] == ended["duplicated"] == 0
    assert ended["warmup"] == ended["outstanding"] == 0
    figures = agrees(service, kafka_pair, topic)
    assert figures["incarnations"] >= 2
    assert figures["missing_on_the_target"] == 0
    assert figures["books"]["overdue"] == figures["books"]["recovered"] > 0
    assert figures["taken_over"] > 0
    assert "losing" not in service.verdicts()


@pytest.mark.long
def test_two_services_on_one_store_leave_each_other_s_probes_alone(
    running, kafka_pair, topic, tmp_path, mirror
):
    store = tmp_path / "shared.db"
    one, two = (
        ServiceProcess(tmp_path / name, topic=topic, mm2=running.properties_file) for name in ("one", "two")
    )
    for service, name in ((one, "left"), (two, "right")):
        use_store(service, store, name)
    with one, two:
        for service in (one, two):
            service.is_healthy()
        for service in (one, two):
            books = service.books()
            assert {name: books[name] for name in ("foreign", "duplicated", "reordered", "lost")} == {
                "foreign": 0,
                "duplicated": 0,
                "reordered": 0,
                "lost": 0,
            }
        begun = dict(told(store, "select replica, incarnation from canary_incarnations"))
        restart(one)
        one.is_healthy()
        assert [line["incarnation"] for line in one.lines() if line["sentence"] == TAKEN_OVER] == [
            begun["left"]
        ]
        two.is_healthy()
        for service in (one, two):
            books = service.end()["A->B"]
            assert books["foreign"] == books["duplicated"] == books["lost"] == books["returned"] == 0
            assert not service.verdicts() & {"losing", "altered", "repeating"}
    rows = told(store, "select distinct replica, incarnation, probes_of from canary_minutes")
    assert {replica for replica, _, of in rows if of == begun["left"]} == {"left"}
    assert {(replica, writer) for replica, writer, of in rows if of == begun["right"]} == {
        ("right", begun["right"])
    }
    figures = agrees(one, kafka_pair, topic, store=store)
    assert figures["incarnations"] >= 3
    assert figures["missing_on_the_target"] == 0


@pytest.mark.long
def test_what_was_found_lost_is_told_with_its_evidence_after_a_kill(service, running, kafka_pair, topic):
    running.switch.on("drop", topics=re.escape(topic), modulus=5)
    service.becomes("losing")
    found = "select sum(count) from canary_findings where kind = 'lost'"
    eventually(lambda: (told(store_of(service), found)[0][0] or 0) >= 4, 30, what="losses in the store")
    running.switch.off()
    service.kill()
    lost = set(
        told(store_of(service), "select partition, source_offset from canary_findings where kind = 'lost'")
    )
    service.start()
    flow = service.becomes("losing", cause="filtered")
    shown = {(one["partition"], one["source_offset"]) for one in flow["evidence"]}
    assert shown
    assert shown & lost
    is_closed(store_of(service))
    service.end()
    figures = agrees(service, kafka_pair, topic)
    assert figures["missing_on_the_target"] >= figures["books"]["lost"] >= 4
    assert figures["findings"]["lost"] == figures["books"]["lost"] + figures["books"]["confirmed"]


@pytest.mark.long
def test_a_source_topic_made_anew_meanwhile_closes_what_was_outstanding(service, running, kafka_pair, topic):
    running.freeze()
    is_kept(service, "overdue", PARTITIONS)
    service.kill()
    before = logs(kafka_pair, topic)
    waiting = told(store_of(service), "select sum(overdue) from canary_minutes")[0][0]
    recreate_topic(kafka_pair.a.client_properties(), topic)
    running.thaw()
    service.start()
    is_kept(service, "closed + recovered", waiting)
    service.is_healthy()
    ended = service.end()["A->B"]
    # What the mirror had fetched before it was frozen it writes when it goes on.
    assert ended["closed"] + ended["recovered"] == ended["inherited"] == waiting
    assert ended["closed"] > 0
    assert ended["lost"] == ended["confirmed"] == ended["returned"] == 0
    figures = agrees(service, kafka_pair, topic, source_before=[before[0]])
    assert figures["books"]["closed"] == ended["closed"]
    assert figures["outstanding"] == 0


@pytest.mark.long
def test_a_target_topic_made_anew_meanwhile_is_read_from_its_beginning(service, running, kafka_pair, topic):
    is_kept(service, "good", 10)
    service.kill()
    running.freeze()
    before = logs(kafka_pair, topic)
    recreate_topic(kafka_pair.b.client_properties(), f"A.{topic}")
    running.thaw()
    good = told(store_of(service), "select sum(good) from canary_minutes")[0][0]
    service.start()
    is_kept(service, "good", good + 10)
    is_closed(store_of(service))
    service.end()
    figures = agrees(service, kafka_pair, topic, target_before=[before[1]])
    books = figures["books"]
    # What was there and had no outcome yet is gone with the old topic: absent, and rightly called so.
    assert books["lost"] + books["confirmed"] <= figures["missing_on_the_target"]
    assert books["returned"] == 0


def test_a_backup_that_was_made_while_it_ran_is_restored(service, kafka_pair, topic, tmp_path):
    store, backup = store_of(service), tmp_path / "backup.db"
    with (
        contextlib.closing(sqlite3.connect(store, timeout=10)) as held,
        contextlib.closing(sqlite3.connect(backup)) as copy,
    ):
        held.backup(copy)
    good = service.books()["good"]
    eventually(lambda: service.books()["good"] > good + 20, 30, what="records after the backup")
    service.kill()
    for path in store.parent.glob("mirrorwatch.db*"):
        path.unlink()
    shutil.copy(backup, store)
    service.start()
    service.is_healthy(deadline_s=40)
    service.end()
    agrees(service, kafka_pair, topic)
