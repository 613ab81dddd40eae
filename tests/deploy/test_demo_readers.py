"""The demo's readers by their pace: who keeps up with the traffic, and who falls behind."""

from __future__ import annotations

import pytest

from deploy.local.demo.readers import READERS, Reader
from deploy.local.traffic import STREAMS

SLOW = Reader(group="slow", cluster="A", topics=("t",), records_per_s=10)


@pytest.mark.parametrize(
    ("elapsed_s", "read", "may"), [(0.0, 0, 0), (0.1, 0, 1), (1.0, 4, 6), (1.0, 12, 0), (3600.0, 0, 500)]
)
def test_no_one_reads_more_than_its_pace_and_never_much_at_once(elapsed_s, read, may):
    assert SLOW.may_read(elapsed_s=elapsed_s, read=read) == may


def test_two_keep_up_with_the_traffic_and_one_falls_behind():
    written = {stream.topic: stream.records_per_s for stream in STREAMS}
    arriving = {
        reader.group: sum(written[topic.removeprefix("A.")] for topic in reader.topics) for reader in READERS
    }
    assert [one.group for one in READERS if one.records_per_s < arriving[one.group]] == ["page-statistics"]
