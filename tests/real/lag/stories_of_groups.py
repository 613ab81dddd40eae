"""What becomes of consumer groups of both protocols: what is said of each against what they truly did."""

from __future__ import annotations

import contextlib
import re
from datetime import UTC, datetime
from itertools import pairwise

from deploy.local.groups import set_offsets
from deploy.local.topics import delete_records, recreate_topic
from fleet.dialect import moment_ms
from tests.real.lag.readers import PacedReader
from tests.real.lag.stage import Writer, end_of, name_of, write

PROTOCOLS = ("classic", "consumer")


def groups_of(word):
    return {protocol: f"{protocol}-{name_of(word)}" for protocol in PROTOCOLS}


@contextlib.contextmanager
def reading(stage, word, **settings):
    """Have a reader in a group of each protocol; gives them by the group's name."""
    with contextlib.ExitStack() as held:
        yield {
            group: held.enter_context(
                PacedReader(stage.clients["A"], group, name_of(word), protocol=protocol, **settings)
            )
            for protocol, group in groups_of(word).items()
        }


def groups_that_commit_where_they_stand(stage):
    """The same offset again and again, while records come: STALL, here and in Burrow's words."""
    topic, at, every_s, per_s = name_of("stall"), 20, 3, 5
    write(stage.clients["A"], topic, 50)
    with (
        Writer(stage.clients["A"], topic, per_s=per_s),
        reading(stage, "stall", every_s=every_s, always=at) as readers,
    ):
        for group, reader in readers.items():
            reader.has_committed(at)
            found = stage.becomes("A", group, "STALL", reason="stalled", members=1)
            end = end_of(stage.clients["A"], topic)
            (row,) = found["partitions"]
            assert row["committed_offset"] == at
            assert end - 40 * per_s <= row["log_end_offset"] <= end
            assert row["lag_records"] == row["log_end_offset"] - at == found["lag_records"]
            said = re.match(
                r"Group stalled: lag (\d+) at offset 20\. .* the group still commits, last at (.* UTC)\.",
                row["sentence"],
            )
            assert said, row["sentence"]
            assert int(said[1]) == row["lag_records"]
            last = datetime.strptime(said[2], "%Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC).timestamp()
            assert last - 1.5 <= reader.commits[-1][0] <= last + 30
            assert {one["offset"] for one in row["commits"]} == {at}
            # It stands since its first commit of that offset, or since the first look, which came about then.
            began_at = max(reader.commits[0][0], stage.began_at)
            assert abs(moment_ms(row["since"]) / 1000 - began_at) <= 60
            of_group, word, burrow = stage.burrow("A", group)
            assert (of_group, word) == ("ERR", "STALL")
            assert burrow["start"]["offset"] == burrow["end"]["offset"] == at
            spans_s = (burrow["end"]["timestamp"] - burrow["start"]["timestamp"]) / 1000
            assert spans_s >= 8 * every_s  # it is ten commits
            assert end - 40 * per_s <= burrow["current_lag"] + at <= end + 40 * per_s
            assert burrow["complete"] == 1.0


def groups_that_read_more_slowly_than_is_written(stage):
    """WARN; Burrow agrees where a look at the log's end lies between any two commits, and else says OK."""
    topic, writes, reads = name_of("slow"), 40, 10
    client = stage.clients["A"]
    groups = groups_of("slow")
    with (
        Writer(client, topic, per_s=writes) as writer,
        PacedReader(client, groups["classic"], topic, protocol="classic", every_s=14, per_s=reads) as rarely,
        PacedReader(client, groups["consumer"], topic, protocol="consumer", every_s=3, per_s=reads) as often,
    ):
        for group, reader, word in ((groups["classic"], rarely, "WARN"), (groups["consumer"], often, "OK")):
            found = stage.becomes("A", group, "WARN", reason="growing", members=1)
            (row,) = found["partitions"]
            said = re.match(
                r"Group falls behind: lag rose from (\d+) at (.* UTC) to (\d+) and never fell; (\d+) now\.$",
                row["sentence"].replace(",", ""),  # those of numbers too
            )
            assert said, row["sentence"]
            assert int(said[4]) == row["lag_records"] == row["log_end_offset"] - row["committed_offset"]
            assert row["committed_offset"] in [offset for _, offset in reader.commits]
            # What it had to read when it committed: its end is taken from two looks ten seconds apart.
            at = datetime.strptime(said[2], "%Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC).timestamp()
            (first_at, offset), *_ = [one for one in reader.commits if at <= one[0] < at + 1.5]
            assert abs(int(said[1]) - (writer.written_by(first_at) - offset)) <= 3 * writes
            at_least_s = 60  # for which it is seen to grow
            assert int(said[3]) - int(said[1]) >= at_least_s * (writes - reads) / 2
            assert (
                int(said[3]) <= writer.written_by(reader.commits[-1][0]) - reader.commits[-1][1] + 3 * writes
            )
            of_group, burrows_word, burrow = stage.burrow("A", group)
            assert (of_group, burrows_word) == (word, word), burrow
            assert burrow["start"]["offset"] < burrow["end"]["offset"]


def groups_that_go_back_to_the_beginning(stage):
    """REWIND with the step in numbers, in Burrow's words too; OK once they have been everywhere again."""
    topic, count = name_of("rewind"), 4000
    write(stage.clients["A"], topic, count)
    with reading(stage, "rewind", every_s=2) as readers:
        for group, reader in readers.items():
            reader.has_committed(count)
            stage.becomes("A", group, "OK", reason="caught_up", lag_records=0)
        for reader in readers.values():
            reader.go_back(per_s=5, every_s=10)
        for group, reader in readers.items():
            found = stage.becomes("A", group, "REWIND", reason="rewound", members=1)
            (row,) = found["partitions"]
            offsets = [offset for _, offset in reader.commits]
            step = next(one for one, pair in enumerate(pairwise(offsets), 1) if pair[0] == count > pair[1])
            back_at, back_to = reader.commits[step]
            said = re.match(
                r"Group went back from offset (\d+) to (\d+) at (.* UTC)\. It is at offset (\d+) now: up to (\d+) records",
                row["sentence"].replace(",", ""),
            )
            assert said, row["sentence"]
            assert (int(said[1]), int(said[2])) == (count, back_to)
            at = datetime.strptime(said[3], "%Y-%m-%d %H:%M:%S UTC").replace(tzinfo=UTC).timestamp()
            assert abs(at - back_at) <= 2
            assert int(said[4]) == row["committed_offset"]
            assert int(said[5]) == count - row["committed_offset"] == row["lag_records"]
            of_group, word, burrow = stage.burrow("A", group)
            assert (of_group, word) == ("ERR", "REWIND")
            assert burrow["current_lag"] == count - burrow["end"]["offset"]
        for reader in readers.values():
            reader.per_s = None
        for group in readers:
            found = stage.becomes("A", group, "OK", reason="caught_up", lag_records=0)
            assert found["partitions"][0]["committed_offset"] == count
            assert stage.burrow("A", group)[:2] == ("OK", "OK")


def groups_whose_records_are_deleted_unread(stage):
    """ERR with how many; Burrow knows no log start. Whoever comes back goes on where the log starts."""
    topic, count, at, start = name_of("deleted"), 100, 10, 60
    client = stage.clients["A"]
    write(client, topic, count)
    with reading(stage, "deleted", every_s=1, always=at) as readers:
        for group, reader in readers.items():
            reader.has_committed(at)
            stage.becomes("A", group, None, lag_records=count - at)
    delete_records(client, topic, before={0: start})
    for group in groups_of("deleted").values():
        found = stage.becomes("A", group, "ERR", reason="deleted_unread", members=0)
        (row,) = found["partitions"]
        assert (row["committed_offset"], row["log_start_offset"], row["log_end_offset"]) == (at, start, count)
        assert row["lag_records"] == found["lag_records"] == count - start
        assert row["sentence"].startswith(f"Up to {start - at} records deleted before the group read them.")
        assert row["sentence"].endswith(f" {start}, committed offset {at}, lag {count - start}.")
        of_group, word, burrow = stage.burrow("A", group)
        assert (of_group, word, burrow["current_lag"]) == ("ERR", "STOP", count - at)
    with reading(stage, "deleted", every_s=1) as readers:
        for group in readers:
            found = stage.becomes("A", group, "OK", reason="caught_up", lag_records=0)
            assert found["partitions"][0]["committed_offset"] == count


def groups_on_a_topic_that_is_made_anew(stage):
    """UNKNOWN after a commit that may be of either topic, then judged by what they commit to the new one."""
    topic, before, after, at = name_of("remade"), 30, 20, 5
    client = stage.clients["A"]
    write(client, topic, before)
    with reading(stage, "remade", every_s=1) as readers:
        for group, reader in readers.items():
            reader.has_committed(before)
            stage.becomes("A", group, "OK", reason="caught_up", lag_records=0)
    stage.looks_again("A")  # the old topic's id is known by then
    groups = groups_of("remade").values()
    recreate_topic(client, topic)
    for group in groups:
        set_offsets(client, group, {(topic, 0): at})
    write(client, topic, after)
    for group in groups:
        found = stage.becomes("A", group, "UNKNOWN", reason="recreated")
        (row,) = found["partitions"]
        assert row["committed_offset"] == at
        assert f"re-created after the commit of offset {at} " in row["sentence"]
        assert f"The new topic holds {after} records now." in row["sentence"]
        of_group, word, burrow = stage.burrow("A", group)
        assert (of_group, word, burrow["current_lag"]) == ("ERR", "STOP", after - at)
    with reading(stage, "remade", every_s=1) as readers:
        for group, reader in readers.items():
            reader.has_committed(after)
            found = stage.becomes("A", group, "OK", reason="caught_up", lag_records=0)
            (row,) = found["partitions"]
            assert (row["committed_offset"], row["log_end_offset"]) == (after, after)
            assert {one["offset"] for one in row["commits"]} <= set(range(at, after + 1))
            assert stage.burrow("A", group)[:2] == ("OK", "OK")
