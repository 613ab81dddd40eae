"""A flow A->B from its offsets, with the polls of both clusters' logs, advanced by hand."""

from __future__ import annotations

import numpy as np

from fleet.verdicts.flow import Flow
from lagmon.cluster.state import ClusterLag
from lagmon.logs.readable_gaps import Seen
from lagmon.mirrors.answers.orders import order_of
from lagmon.mirrors.answers.pages import partition_page
from lagmon.mirrors.flow import MirrorFlow
from lagmon.mirrors.verdict import judge_flow

NOW = 1_790_000_000_000
S = 1000


class Mirrored:
    """A flow whose clock is `now`; `orders` has two partitions unless `topics` says otherwise.

    At each look the source's logs are read where the flow asks for it, unless `reads` is false; `refused` are
    topics that may not be read.
    """

    def __init__(
        self,
        topics=None,
        *,
        target=None,
        flush_s=1.0,
        lag_from="connect-offsets",
        group=None,
        topics_read=False,
        reads=True,
        **flow,
    ):
        topics = topics or {"orders": 2}
        target = {f"A.{name}": count for name, count in topics.items()} if target is None else target
        settings = {"mirror_version": "4.3", "offset_flush_interval_s": flush_s, **flow}
        self.now = NOW
        self.a, self.b = (ClusterLag(wanted=lambda *_: True) for _ in range(2))
        self.flow = MirrorFlow(
            order_of(Flow("A", "B", **settings), lag_from=lag_from, group=group, topics_read=topics_read),
            self.a,
            self.b,
        )
        self.a.note_topics(topics)
        self.b.note_topics(target)
        self.ends, self.target_ends, self.starts = {}, {}, {}
        self.reads, self.refused = reads, set()
        self.no_record = set()  # topic, partition and offset of each that nobody can read
        for name, count in topics.items():
            self.ends |= {(name, number): 0 for number in range(count)}
        for name, count in target.items():
            self.target_ends |= {(name, number): 0 for number in range(count)}

    def write(self, count, topic="orders", partition=0, *, copied=True, record=True):
        """Have the log grow by so many records; where `record` is false, by markers or dead records."""
        end = self.ends[topic, partition]
        if not record:
            self.no_record |= {(topic, partition, offset) for offset in range(end, end + count)}
            copied = False
        self.ends[topic, partition] += count
        if copied:
            self.target_ends[f"A.{topic}", partition] += count

    def commit(self, topic="orders", partition=0, *, to=None, live=True):
        """Let the worker write that all is mirrored, or up to, and not including, `to`."""
        to = self.ends[topic, partition] if to is None else to
        self.flow.windows.take(topic, partition, to - 1, self.now, live=live)

    def poll(self, *, starts=True):
        """Look at both clusters' logs and the target's topics, and read the offsets topic to its end."""
        for lag, ends in ((self.a, self.ends), (self.b, self.target_ends)):
            known = [
                (place, end)
                for (topic, number), end in ends.items()
                for place in [lag.places.of(topic)[number]]
            ]
            places, values = (np.array(column) for column in zip(*known, strict=True))
            lag.heads.note(places.astype(np.int32), values, self.now)
            lag.heads.note_stable(places.astype(np.int32), values)
        if starts:
            for topic, number in self.ends:
                place = np.array([self.a.places.of(topic)[number]], np.int32)
                self.a.heads.note_starts(place, np.array([self.starts.get((topic, number), 0)]))
        self.flow.read_to_ms = self.b.listed_ms = self.now
        if self.reads:
            self.read_logs(True), self.read_logs(False)

    def read_logs(self, committed):
        """Read the source's logs where the flow asks for it, as logs/tail_reads.py does; return how many."""
        lag = self.a
        lag.tails.refused = set(self.refused)
        readable = lag.readable if committed else lag.readable_uncommitted
        without = {place for topic in self.refused for place in lag.places.of(topic)}
        due = lag.tails_due(self.now, committed=committed, without=without)
        readable.note_asked([one.place for one in due], self.now)
        for one in due:
            name = lag.places.name(one.place)
            end = self.ends[name]
            first = next((at for at in range(one.first, end) if (*name, at) not in self.no_record), end)
            readable.note([Seen(one.place, one.first, first, first < end)])
        return len(due)

    def go(self, seconds, *, each=None, step=1, poll=10):
        """Let time pass in steps of so many seconds; `each` is called at each step, before a look."""
        for second in range(step, seconds + 1, step):
            self.now += step * S
            if each is not None:
                each()
            if second % poll == 0:
                self.poll()
                self.snapshot()
        return self

    def rest(self, topic="orders", *, partitions=(0, 1)):
        """Let the mirror copy 100 records, twice, with looks when it has: they tell where its copies end."""
        for _ in range(2):
            for partition in partitions:
                self.write(100, topic, partition)
                self.commit(topic, partition)
            self.go(30)
        return self

    def snapshot(self):
        return self.flow.take_snapshot(self.now)

    def verdict(self):
        return judge_flow(self.flow, self.snapshot())

    def flow_rows(self):
        rows, _ = partition_page(self.flow, self.snapshot())
        return sorted(rows, key=lambda row: (row["topic"], row["partition"]))

    def slot(self, topic="orders", partition=0):
        return self.flow.windows.slot(topic, partition)


def told(one):
    """Return verdict and cause of a flow."""
    verdict = one.verdict()
    return verdict.verdict, verdict.cause


def busy(one, *, moves=(0, 1), commits=None):
    """Have a second pass in which 100 records come to each partition, and these are copied, and committed.

    Those alone are committed that are copied, unless `commits` says which.
    """
    for partition in (0, 1):
        one.write(100, partition=partition, copied=partition in moves)
        if partition in (moves if commits is None else commits):
            one.commit(partition=partition)


def busy_for_a_minute():
    """Give a flow of two partitions of which all was copied, and committed at once, for a minute."""
    one = Mirrored()
    one.poll()
    return one.rest().go(58, each=lambda: busy(one))
