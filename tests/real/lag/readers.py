"""A real consumer that reads at its own pace, commits where it is told to, and goes back when it is told to."""

from __future__ import annotations

import contextlib
import threading
import time

from confluent_kafka import Consumer, KafkaException, TopicPartition

from tests.eventually import eventually


class PacedReader:
    """Reads partition 0 of a topic and commits every so often: what it has read, or always the same offset.

    Every commit that the broker took is in `commits`, as (epoch s, offset).
    """

    def __init__(self, client, group, topic, *, protocol, every_s, per_s=None, always=None):
        self._config = {
            **client,
            "group.id": group,
            "group.protocol": protocol,
            "client.id": f"reader-of-{group}",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "log_level": 0,  # records that are gone before it reads them are part of the story
        }
        self._topic, self._every_s, self._always = topic, every_s, always
        self.per_s = per_s  # None: as fast as it can
        self.commits = []
        self._next = None  # the offset to be read next, as soon as there is one
        self._back = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._ending.set()
        self._thread.join(60)

    def has_committed(self, offset):
        """Wait until this offset was committed."""
        eventually(
            lambda: offset in [one for _, one in self.commits],
            120,
            what=f"commit of {offset}; {self.commits[-3:]}",
        )

    def go_back(self, *, per_s, every_s):
        """Read from the beginning again, at another pace."""
        self.per_s, self._every_s = per_s, every_s
        self._back.set()

    def _read(self):
        consumer = Consumer(self._config)
        consumer.subscribe([self._topic])
        due = time.monotonic()
        while not self._ending.is_set():
            if self.per_s is not None:
                self._ending.wait(1 / self.per_s)
            message = consumer.poll(0.05)
            if message is not None and message.error() is None:
                self._next = message.offset() + 1
            if self._back.is_set() and self._next is not None:
                self._back.clear()
                consumer.seek(TopicPartition(self._topic, 0, 0))
                self._next = 0
                due = time.monotonic() + self._every_s
            if self._next is not None and time.monotonic() >= due:
                due = time.monotonic() + self._every_s
                self._commit(consumer)
        consumer.close()

    def _commit(self, consumer):
        offset = self._next if self._always is None else self._always
        with contextlib.suppress(KafkaException):  # while the group is being shared out anew
            (done,) = consumer.commit(offsets=[TopicPartition(self._topic, 0, offset)], asynchronous=False)
            assert done.error is None
            self.commits.append((time.time(), offset))
