"""A world of topics on two real brokers: what is written there, by whom it is copied, and audits of it."""

from __future__ import annotations

import contextlib
import io
import json
import random
import re
import time
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from checksum.digest.record_hash import Content
from checksum.digest.spark_digests import SparkDigests
from deploy.local import topics
from deploy.local.properties import write_properties
from mirrorwatch.checksums.session import Session
from mirrorwatch.cli.main import cli
from tests.checksum_spark.logs import read_logs
from tests.checksum_spark.small_mirror import Copy, originals, write, write_syncs
from tests.checksum_spark.truth import Truth, truth_of
from tests.eventually import eventually

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from checksum.digest.cell_rows import Side
    from deploy.local.pair import Pair

DEADLINE_S = 60.0
PARTITIONS = 2
BY_HAND = 90_000  # numbers of a topic from here on are of records that the source never held
EACH = 100_000
KEPT = {"retention.ms": "-1"}


class World:
    """The topics of one test run, by the source's name; `remote` gives the target's."""

    def __init__(self, pair: Pair, *, remote: Callable[[str], str] = "A.{}".format) -> None:
        self.here, self.there = pair.a.client_properties(), pair.b.client_properties()
        self.pair = pair
        self.remote = remote
        self.begun_ms = int(time.time() * 1000) - 3_600_000
        self.written: dict[str, set[int]] = defaultdict(set)
        self.bases: dict[str, int] = {}  # the first number of each topic's records
        self.partitions: dict[str, int] = {}

    def create(
        self, topic: str, *, partitions: int = PARTITIONS, source: Mapping[str, str] | None = None,
        target: Mapping[str, str] | None = None,
    ) -> None:  # fmt: skip
        """Create a topic on the source, and on the target as well where that is given settings."""
        topics.create_topic(self.here, topic, partitions=partitions, config=KEPT | dict(source or {}))
        if target is not None:
            topics.create_topic(
                self.there, self.remote(topic), partitions=partitions, config=KEPT | dict(target)
            )
        self.know(topic)
        self.partitions[topic] = partitions

    def know(self, topic: str) -> None:
        """Give a topic the numbers of its records."""
        if topic not in self.bases:
            self.bases[topic] = EACH * (1 + len(self.bases))

    def contents(self, topic: str, count: int) -> list[Content]:
        """Return new records, each with a number in key and value; every third has headers."""
        first = self.bases[topic] + len(self.written[topic])
        numbers = range(first, first + count)
        self.written[topic] |= set(numbers)
        return [
            Content(
                b"key #%d#" % number,
                b"value #%d#" % number,
                self.begun_ms + 7 * (number % EACH),
                [("trace", b"%d" % number), ("mark", None)] if number % 3 == 0 else None,
            )
            for number in numbers
        ]

    def write(self, topic: str, count: int = 1000, **how: object) -> None:
        """Write new records to the source, evenly over the topic's partitions."""
        partitions = self.partitions[topic]
        found = [Copy(at % partitions, one, None) for at, one in enumerate(self.contents(topic, count))]
        write(self.here, topic, found, **how)

    def stranger(self, topic: str, number: int) -> Content:
        """Return a record that the source never held."""
        number += self.bases[topic] + BY_HAND
        return Content(b"stranger #%d#" % number, b"by hand #%d#" % number, self.begun_ms + number % EACH)

    def copied(self, topic: str, count: int) -> None:
        """Wait until the target holds so many records."""
        remote = self.remote(topic)
        eventually(
            lambda: (
                topics.partition_count(self.there, remote) == self.partitions[topic]
                and topics.log_end(self.there, remote) >= count
            ),
            DEADLINE_S,
            what=f"{count} copies in {remote}",
            every_s=0.2,
        )

    def copy(
        self, topic: str, fault: Callable[[list[Copy]], list[Copy]] = list, *, syncs: str | None,
        since: int = 0,
    ) -> None:  # fmt: skip
        """Copy what the source holds with a fault; syncs go to the topic of that name on the source."""
        copies = fault(originals(self.here, topic, self.partitions[topic], since=since))
        offsets = write(self.there, self.remote(topic), copies)
        if syncs is not None:
            write_syncs(self.here, syncs, topic, copies, offsets)

    def truth(self, chosen: Sequence[str], *, stamped: Sequence[str] = ()) -> dict[str, Truth]:
        """Return what became of each topic's records, by a full read."""
        places = [(topic, number) for topic in chosen for number in range(self.partitions[topic])]
        source = read_logs(self.here, places)
        names = {self.remote(topic): topic for topic in chosen}
        remote = read_logs(self.there, [(self.remote(topic), number) for topic, number in places])
        target = {(names[name], number): log for (name, number), log in remote.items()}
        # What went astray from another topic is told there.
        written = set().union(*(self.written[topic] for topic in chosen))
        return {
            topic: truth_of(topic, source, target, written=written, stamped=topic in stamped)
            for topic in chosen
        }


@dataclass
class Outcome:
    """What one run of `checksum run` told."""

    status: int
    said: str
    run: dict = field(default_factory=dict)

    def of(self, topic: str) -> dict:
        """Return what it told of a topic, by the parts of the document."""
        parts = ("findings", "expected", "not_read_again", "unsettled", "partitions", "left_out")
        return {part: [one for one in self.run[part]["shown"] if one["topic"] == topic] for part in parts}


def audit(
    spark: SparkSession, config: Path, chosen: Sequence[str],
    before: Mapping[Side, Sequence[Callable[[], None]]] | None = None, *, waits_s: float = 3.0,
) -> Outcome:  # fmt: skip
    """Run `mirrorwatch checksum run` in this process, with this session of Spark.

    `before` is done before a side is digested: the plan is made by then, which waits for the mirror for
    `waits_s` seconds at most.
    """
    result = config.with_suffix(".result.json")
    result.unlink(missing_ok=True)
    untouched, wait_policy = SparkDigests.digest, Session.wait_policy

    def digest(self, plan, side, folder):
        for act in (before or {}).get(side, ()):
            act()
        yield from untouched(self, plan, side, folder)

    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("checksum.digest.spark_digests.spark_session", lambda _: contextlib.nullcontext(spark))
        patch.setattr("checksum.recheck.recheck.PAUSE_S", 0.5)
        patch.setattr(Session, "wait_policy", lambda *of: replace(wait_policy(*of), longest_s=waits_s))
        patch.setattr(SparkDigests, "digest", digest)
        patch.setenv("COLUMNS", "200")
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = cli.main(
                ["checksum", "run", str(config), "--flow", "A:B", "--json", str(result)]
                + [part for topic in chosen for part in ("--topic", re.escape(topic))],
                standalone_mode=False,
            )
    assert "Traceback" not in said.getvalue(), said.getvalue()
    document = json.loads(result.read_text()) if result.exists() else {"runs": [{}]}
    return Outcome(status, said.getvalue(), document["runs"][0])


def mirror_file(path: Path, pair: Pair, settings: Mapping[str, str] | None = None) -> Path:
    """Write the mm2.properties of a mirror of everything from A to B."""
    write_properties(
        path,
        {
            "clusters": "A, B",
            "A.bootstrap.servers": pair.a.bootstrap,
            "B.bootstrap.servers": pair.b.bootstrap,
            "A->B.enabled": "true",
            "A->B.topics": ".*",
            **(settings or {}),
        },
    )
    return path


# --- faults of the small mirror: each takes what it would copy and returns what it does copy


def dropped(*numbers: int) -> Callable[[list[Copy]], list[Copy]]:
    """Leave out those at these places of the list."""
    return lambda copies: [one for at, one in enumerate(copies) if at not in numbers]


def swapped(at: int) -> Callable[[list[Copy]], list[Copy]]:
    """Let a record and the next one change places."""

    def fault(copies: list[Copy]) -> list[Copy]:
        return [*copies[:at], copies[at + 1], copies[at], *copies[at + 2 :]]

    return fault


def moved(at: int, by: int) -> Callable[[list[Copy]], list[Copy]]:
    """Copy a record so much later."""

    def fault(copies: list[Copy]) -> list[Copy]:
        left = [*copies[:at], *copies[at + 1 :]]
        return [*left[: at + by], copies[at], *left[at + by :]]

    return fault


def misplaced(at: int, partition: int, into: int) -> Callable[[list[Copy]], list[Copy]]:
    """Copy a record into another partition, to this place of the list."""

    def fault(copies: list[Copy]) -> list[Copy]:
        astray = copies[at]._replace(partition=partition, origin=None)
        left = [*copies[:at], *copies[at + 1 :]]
        return [*left[:into], astray, *left[into:]]

    return fault


def altered(at: int, **parts: object) -> Callable[[list[Copy]], list[Copy]]:
    """Copy a record with other parts."""

    def fault(copies: list[Copy]) -> list[Copy]:
        return [
            one._replace(content=one.content._replace(**parts)) if place == at else one
            for place, one in enumerate(copies)
        ]

    return fault


def added(at: int, partition: int, content: Content) -> Callable[[list[Copy]], list[Copy]]:
    """Write a record that nobody wrote to the source."""
    return lambda copies: [*copies[:at], Copy(partition, content, None), *copies[at:]]


def repeated(first: int, until: int) -> Callable[[list[Copy]], list[Copy]]:
    """Copy some records, and then once more, as after a crash."""
    return lambda copies: [*copies[:until], *copies[first:until], *copies[until:]]


def all_of(*faults: Callable[[list[Copy]], list[Copy]]) -> Callable[[list[Copy]], list[Copy]]:
    """Do one fault after the other, so that places are those that the one before left."""

    def fault(copies: list[Copy]) -> list[Copy]:
        for one in faults:
            copies = one(copies)
        return copies

    return fault


def many(seed: int, count: int, *, of: int) -> Callable[[list[Copy]], list[Copy]]:
    """Do so many faults at random to a list of `of` records."""
    drawn = random.Random(seed)
    kinds = [
        dropped,
        lambda at: altered(at, value=b"another"),
        lambda at: altered(at, headers=[("new", b"")]),
        lambda at: repeated(at, at + drawn.randrange(1, 4)),
        lambda at: moved(at, drawn.randrange(1, 9)),
    ]
    room = of // count
    # One in each stretch, from the last to the first: so that none hides another.
    places = [(number + 1) * room - drawn.randrange(20, room - 20) for number in range(count)]
    return all_of(*(drawn.choice(kinds)(at) for at in reversed(places)))
