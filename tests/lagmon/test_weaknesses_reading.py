"""What Burrow and kminion get wrong before any rule is asked: in reading commits and ends. Ours does not.

`burrow_reads` is Burrow's way with one record, worked out from github.com/linkedin/Burrow,
core/internal/consumer/kafka_client.go and seen on Kafka 4.3.0.
"""

from __future__ import annotations

import struct
import threading
from types import SimpleNamespace

import numpy as np
import pytest

from fleet.wire_commits import encode_commit_key, encode_commit_value, encode_group_key
from lagmon import commits
from lagmon.burrow_ring import store
from lagmon.burrow_rules import Commit
from lagmon.cluster import ClusterLag
from lagmon.commits import CommitsReader
from lagmon.rings import LENGTH
from lagmon.words import Reason
from runtime.kafka import bulk
from runtime.kafka.bulk import Batch, Bulk
from runtime.kafka.client_settings import ClientSettings

NOW = 1_790_000_000_000
KEY = encode_commit_key("g", "t", 0)
S = 1000


def burrow_reads(key, value):
    """Return offset and time, or why nothing of the record reaches Burrow's rings."""
    if int.from_bytes(key[:2], "big") > 1:
        return None if key[1] == 2 else "warned of: key version"
    if not value:
        return "dropped: tombstone"
    version, offset = struct.unpack_from(">hq", value)
    if version not in {0, 1, 3, 4}:
        return "warned of: value version"
    at = 14 if version >= 3 else 10
    # A compact string's length is a varint of one more; one byte of it is read.
    length = value[at] - 1 if version == 4 else struct.unpack_from(">h", value, at)[0]
    at += 1 if version == 4 else 2
    if at + length + 8 > len(value):
        return "warned of: too short"
    return offset, struct.unpack_from(">q", value, at + length)[0]


def cluster(partitions=1, *, stable=None):
    """Return a cluster whose topic t ends at 100 everywhere."""
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics({"t": partitions})
    lag.begin_commits(1)
    places = np.array(lag.places.of("t"), np.int32)
    ends = np.full(partitions, 100)
    for ago_s in (60, 0):
        lag.note_looked(places, ends, ends if stable is None else stable, NOW - ago_s * S)
    lag.note_read(0, NOW)
    return lag


def taken(lag, *records, live=True):
    keys, values = zip(*records, strict=True)
    lag.intake.take(list(keys), list(values), read_ms=NOW, live=live)
    return lag


def newest(lag):
    """Return offset and time of the newest commit of the only position there is."""
    (slot,) = np.flatnonzero(lag.slots.place[: len(lag.slots)] >= 0)
    return int(lag.rings.offset[slot, -1]), int(lag.rings.committed_ms[slot, -1])


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_every_version_of_a_commit_is_read(version):
    value = encode_commit_value(60, NOW, version=version, metadata="m")
    assert burrow_reads(KEY, value) == ("warned of: value version" if version == 2 else (60, NOW))
    lag = taken(cluster(), (KEY, value))
    assert (newest(lag), lag.intake.taken.malformed) == ((60, NOW), 0)


@pytest.mark.parametrize("length", [126, 127, 128, 200, 300, 5000])
def test_metadata_of_any_length_hides_no_group_and_shifts_no_time(length):
    value = encode_commit_value(60, NOW, version=4, metadata="m" * length)
    assert (burrow_reads(KEY, value) == (60, NOW)) == (length < 127)
    assert newest(taken(cluster(), (KEY, value))) == (60, NOW)


def test_an_offset_that_was_deleted_is_gone():
    value = encode_commit_value(60, NOW)
    ring = store((None,) * 10, Commit(60, NOW, None), 100)
    assert burrow_reads(KEY, None) == "dropped: tombstone"
    assert ring[-1].offset == 60  # for a week, and STOP all that time
    lag = taken(cluster(), (KEY, value), (KEY, None))
    assert (lag.slots.used, list(lag.slots.groups()), lag.intake.taken.gone) == (0, [], 1)


@pytest.mark.parametrize("version", [2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15])
def test_keys_of_newer_groups_are_known_and_nothing_to_warn_of(version):
    key = encode_group_key(version, "g", "m" if version in {5, 7, 8} else "")
    assert burrow_reads(key, None) == (None if version == 2 else "warned of: key version")
    taken_in = taken(cluster(), (key, None)).intake.taken
    assert (taken_in.malformed, taken_in.sample, taken_in.records) == (0, "", 1)


def test_a_group_that_reads_some_partitions_of_a_topic_is_shown_with_these():
    records = [(encode_commit_key("g", "t", one), encode_commit_value(100, NOW)) for one in range(100)]
    lag = taken(cluster(200), *records)
    # Burrow lists a ring for each partition of the topic: 100 of them lag 0, OK, and nobody reads them.
    assert len(lag.slots.of("g")) == 100
    number = lag.slots.number("g")
    assert sum(lag.see(NOW).groups.row(number).partitions) == 100


def test_not_one_of_many_commits_at_once_is_lost():
    lag = cluster()
    count = 100_000
    values = [encode_commit_value(number, NOW) for number in range(count)]
    for first in range(0, count, 10_000):
        taken(lag, *[(KEY, value) for value in values[first : first + 10_000]])
    assert lag.intake.taken.commits == count
    assert lag.rings.offset[0].tolist() == list(range(count - LENGTH, count))


def test_history_that_is_read_anew_has_no_lag_against_the_end_of_today():
    values = [encode_commit_value(10 * number, NOW - 86_400 * S + number * 60 * S) for number in range(10)]
    lag = taken(cluster(), *[(KEY, value) for value in values], live=False)
    assert max(100 - 10 * number for number in range(10)) == lag.rings.lag[0].max()  # as Burrow has it
    assert set(lag._windows(1).lag[0].tolist()) == {-1}


def test_an_open_transaction_of_a_producer_is_no_lag_of_a_group():
    # The high watermark, which Burrow samples, is at 100; consumers see 60 records until it is decided.
    lag = taken(cluster(stable=np.array([60])), (KEY, encode_commit_value(60, NOW)))
    sight = lag.see(NOW)
    assert Reason(int(sight.rows.reason[0])) is Reason.CAUGHT_UP
    assert sight.rows.lag[0] == 0


class Client:
    """A consumer of the client's: what it was made with, and what it hands out."""

    def __init__(self, config, **_others):
        self.config = config

    def assign(self, places):
        self.places = places


def test_offsets_of_open_and_aborted_transactions_are_not_even_handed_over(monkeypatch):
    monkeypatch.setattr(bulk, "Consumer", Client)
    made = Bulk(
        ClientSettings({"bootstrap.servers": "a:1"}), cluster="A", topic="__consumer_offsets", name="n"
    )
    made.open([0])
    assert made._consumer.config["isolation.level"] == "read_committed"


class Records:
    """Nine commits in a partition whose tenth record is a transaction's marker, which no client hands over."""

    def __init__(self, *_args, **_others):
        self.handed_over = False

    def open(self, partitions):
        assert list(partitions) == [0]

    def take(self, *, wait_s):
        assert wait_s >= 0
        if self.handed_over:
            return Batch([], [], ends={0: 10})
        self.handed_over = True
        return Batch([KEY] * 9, [encode_commit_value(number, NOW) for number in range(9)])

    def positions(self):
        return {0: 9}

    def close(self):
        pass


def test_a_marker_as_the_last_record_does_not_keep_it_from_being_ready(monkeypatch):
    """Kminion waits for a record at the end, 9 here, and stays not ready until somebody commits."""
    monkeypatch.setattr(commits, "Bulk", Records)
    lag = cluster()
    reader = None
    moments = iter(range(100))

    def wall_s():
        if next(moments) > 20:
            reader.stop()
        return NOW / S

    lock = threading.Lock()
    reader = CommitsReader(None, lag, lock, cluster="A", clock=SimpleNamespace(wall_s=wall_s))
    reader.expect({0: 10}, NOW)
    reader.run({0: 0}, {0: 10})
    assert reader.progress.ready_after_s is not None
    assert reader.progress.read_records == 10
    assert lag.read_to_ms == NOW
