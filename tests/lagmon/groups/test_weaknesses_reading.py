"""What Burrow and kminion get wrong before any rule is asked: in reading commits and ends. Ours does not.

Burrow's ways are those of `burrow_reading` and of our own `burrow_ring` and `burrow_rules`.
"""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest

from fleet.verdicts.flow import Flow
from fleet.wire.commits import (
    GroupDescribed,
    Member,
    encode_commit_key,
    encode_commit_value,
    encode_group_key,
    encode_group_metadata,
)
from lagmon.burrow.ring import store
from lagmon.burrow.rules import BurrowPolicy, Commit, burrow_group, burrow_partition
from lagmon.cluster.state import ClusterLag
from lagmon.groups.rings import LENGTH
from lagmon.groups.rules.words import Reason, Status
from lagmon.ingest import commits
from lagmon.ingest.commits import CommitsReader
from lagmon.ingest.watching import ClusterWatch
from lagmon.mirrors.answers.orders import order_of
from lagmon.mirrors.partitions.window import MirrorWindows
from lagmon.mirrors.progress.intake import OffsetsIntake
from runtime.kafka import bulk
from runtime.kafka.bulk import Batch, Bulk
from runtime.kafka.properties.client_settings import ClientSettings
from tests.lagmon.burrow_reading import burrow_reads, burrow_takes

NOW = 1_790_000_000_000
KEY = encode_commit_key("g", "t", 0)
S = 1000


def cluster(partitions=1, *, stable=None):
    """Return a cluster whose topic t ends at 100 everywhere."""
    lag = ClusterLag(wanted=lambda _group, _topic: True)
    lag.note_topics({"t": partitions})
    lag.begin_commits(1)
    places = np.array(lag.places.of("t"), np.int32)
    ends = np.full(partitions, 100)
    for ago_s in (60, 0):
        lag.note_polled(places, ends, ends if stable is None else stable, NOW - ago_s * S)
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
    assert burrow_reads(key, None) == ("dropped: tombstone" if version == 2 else "warned of: key version")
    taken_in = taken(cluster(), (key, None)).intake.taken
    assert (taken_in.malformed, taken_in.sample, taken_in.records) == (0, "", 1)


def described(group, protocol_type):
    """Return the record in which a group with a member describes itself."""
    member = Member("m", None, "client", "/10.0.0.1", (), ())
    told = GroupDescribed(group, protocol_type, 1, None, None, None, (member,))
    return encode_group_key(2, group), encode_group_metadata(told, version=3)


def test_groups_of_connect_and_share_groups_are_counted_though_they_commit_nothing():
    workers, sharers = described("workers", "connect"), (encode_group_key(11, "sharers"), b"\x00\x00")
    assert burrow_reads(*described("billing", "consumer")) == "owners"
    assert burrow_reads(*workers) == "passed over: protocol type"
    assert burrow_reads(*sharers) == "warned of: key version"
    # So it has no group of these names, as it has none of a name that nobody has.
    assert burrow_group([], None, NOW, BurrowPolicy()).status is Status.NOTFOUND
    watch = ClusterWatch("A", None, taken(cluster(), workers, sharers), clock=None, random=lambda: 0.5)
    assert watch.other_groups == {"connect": 1, "share": 1}


def test_how_far_a_source_connector_is_is_read_where_its_worker_keeps_it():
    key = b'["mirror-source",{"cluster":"A","partition":0,"topic":"t"}]'
    # Burrow can be told of another topic to read (offsets-topic), and knows no other kind of record.
    assert burrow_reads(key, b'{"offset":41}') == "warned of: key version"
    flow, windows = Flow("A", "B", on_connect=True, connector="mirror-source"), MirrorWindows()
    intake = OffsetsIntake([(order_of(flow, topic="connect-offsets"), windows)])
    intake.take([key], [b'{"offset":41}'], [NOW], read_ms=NOW, live=True)
    assert windows.next_offset[windows.slot("t", 0)] == 42


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


class Records:
    """A reader of a partition that hands over these batches, and then nothing more."""

    def __init__(self, *batches, positions):
        self._left = list(batches)
        self._positions = positions
        self.when_read = lambda: None

    def open(self, partitions):
        assert list(partitions) == [0]

    def take(self, *, wait_s):
        assert wait_s >= 0
        if not self._left:
            self.when_read()
            return Batch([], [])
        return self._left.pop(0)

    def positions(self):
        return self._positions

    def close(self):
        pass


def read_to_the_end(monkeypatch, lag, records, *, lock, clock):
    """Have a reader of commits take in all that these records hold, to offset 10."""
    monkeypatch.setattr(commits, "Bulk", lambda *_, **__: records)
    reader = CommitsReader(None, lag, lock, cluster="A", clock=clock)
    records.when_read = reader.stop
    reader.expect({0: 10}, NOW)
    reader.run({0: 0}, {0: 10})
    return reader


class Busy:
    """A lock that somebody else holds for so long whenever it is asked for, and the clock that shows it."""

    def __init__(self, holds_ms):
        self.holds_ms, self.now_ms = holds_ms, NOW

    def __enter__(self):
        self.now_ms += self.holds_ms

    def __exit__(self, *_):
        pass

    def wall_s(self):
        return self.now_ms / S


def test_no_commit_is_lost_while_what_takes_it_in_is_busy(monkeypatch):
    """Burrow's maintainers tell of it, too: github.com/linkedin/Burrow/pull/352."""
    # Ten commits, 10 s apart, the last one of the log's end. As that is read all stands for 3 s, and two
    # commits of other groups have just been read before it.
    made = [Commit(10 * number, NOW - (210 - 10 * number) * S, None, number) for number in range(1, 11)]

    def burrow(stands_ms):
        kept = burrow_takes([(0, "another's"), (0, "another's"), (0, made[-1])], stands_ms=stands_ms)
        ring = (None,) * 10
        for commit in (*made[:-1], *kept[2:]):
            ring = store(ring, commit, 100)
        return burrow_partition(ring, [100] * 10, NOW, BurrowPolicy())

    assert burrow(0).status is Status.OK
    verdict = burrow(3 * S)  # and nothing says that a commit is missing
    assert (verdict.status, verdict.current_lag) == (Status.STOP, 10)

    values = [encode_commit_value(one.offset, one.committed_ms) for one in made]
    records = Records(Batch([KEY] * 9, values[:9]), Batch([KEY], values[9:], ends={0: 10}), positions={0: 10})
    lag, busy = cluster(), Busy(3 * S)
    read_to_the_end(monkeypatch, lag, records, lock=busy, clock=busy)
    assert busy.now_ms >= NOW + 2 * 3 * S
    assert lag.intake.taken.commits == 10
    view = lag.see(NOW)
    assert Reason(int(view.rows.reason[0])) is Reason.CAUGHT_UP
    assert view.rows.lag[0] == 0


def test_history_that_is_read_anew_has_no_lag_against_the_end_of_today():
    values = [encode_commit_value(10 * number, NOW - 86_400 * S + number * 60 * S) for number in range(10)]
    lag = taken(cluster(), *[(KEY, value) for value in values], live=False)
    assert max(100 - 10 * number for number in range(10)) == lag.rings.lag[0].max()  # as Burrow has it
    assert set(lag._windows(slice(0, 1)).lag[0].tolist()) == {-1}


def test_an_open_transaction_of_a_producer_is_no_lag_of_a_group():
    # The high watermark, which Burrow samples, is at 100; consumers see 60 records until it is decided.
    lag = taken(cluster(stable=np.array([60])), (KEY, encode_commit_value(60, NOW)))
    view = lag.see(NOW)
    assert Reason(int(view.rows.reason[0])) is Reason.CAUGHT_UP
    assert view.rows.lag[0] == 0


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


def test_a_marker_as_the_last_record_does_not_keep_it_from_being_ready(monkeypatch):
    """Kminion waits for a record at the end, 9 here, and stays not ready until somebody commits."""
    # Nine commits in a partition whose tenth record is a transaction's marker, which no client hands over.
    values = [encode_commit_value(number, NOW) for number in range(9)]
    records = Records(Batch([KEY] * 9, values), Batch([], [], ends={0: 10}), positions={0: 9})
    lag, clock = cluster(), SimpleNamespace(wall_s=lambda: NOW / S)
    reader = read_to_the_end(monkeypatch, lag, records, lock=threading.Lock(), clock=clock)
    assert reader.progress.ready_after_s is not None
    assert reader.progress.read_records == 10
    assert lag.read_to_ms == NOW
