"""Requests are counted as they pass, whatever pieces they come in, and bytes pass as they are."""

from __future__ import annotations

import asyncio
import struct

from hypothesis import given
from hypothesis import strategies as st

from bench.lagmon_admin import requests
from bench.request_counter import Counter, Requests, busiest
from deploy.local.ports import free_port

_BODIES = st.lists(st.tuples(st.integers(0, 90), st.integers(0, 40)), max_size=8)


def written(asked):
    """Return requests as bytes: of each the API key and how many bytes follow that."""
    return b"".join(struct.pack(">ih", 2 + rest, key) + b"\0" * rest for key, rest in asked)


@given(_BODIES, st.lists(st.integers(1, 50), max_size=40))
def test_each_request_is_seen_once_however_its_bytes_are_cut(asked, cuts):
    data, requests, found = written(asked), Requests(), []
    for size in cuts:
        piece, data = data[:size], data[size:]
        found += requests.take(piece)
    found += requests.take(data)
    assert found == [key for key, _ in asked]


@given(st.lists(st.integers(0, 60), max_size=30), st.integers(1, 20))
def test_the_fullest_stretch_is_that_of_a_count_at_each_instant(times, width):
    times = sorted(float(one) for one in times)
    assert busiest(times, float(width)) == max(
        (sum(first <= one < first + width for one in times) for first in times), default=0
    )


def test_rates_are_those_of_the_stretch_and_the_fullest_second_is_one_of_all():
    start = [(0.01 * number, 9) for number in range(30)]  # 30 at once, before the stretch
    steady = [(10 + 0.1 * number, key) for number in range(100) for key in (10, 9)]
    others = [(11.0, 16), (12.0, 15), (13.0, 69), (14.0, 2), (15.0, 3), (30.0, 2)]
    assert requests(start + steady + others, 10.0, 20.0) == {
        "offsets": 10.0,
        "coordinators": 10.0,
        "members": 0.2,
        "lists": 0.1,
        "others": 0.2,
        "offsets_fullest_second": 30,
        "members_fullest_second": 1,
    }


async def test_what_is_counted_has_passed_both_ways():
    told = b"answer" * 3_000_000  # more than all buffers between both hold

    async def answer(reader, writer):
        await reader.readexactly(len(asked))
        writer.write(told)
        await writer.drain()
        writer.close()

    asked = written([(18, 5), (9, 70_000), (3, 0)])
    broker_port, counted_port = free_port(), free_port()
    counter = Counter(broker_port)
    broker = await asyncio.start_server(answer, "127.0.0.1", broker_port)
    passing = await asyncio.start_server(counter.serve, "127.0.0.1", counted_port)
    async with asyncio.timeout(20), broker, passing:
        reader, writer = await asyncio.open_connection("127.0.0.1", counted_port)
        writer.write(asked)
        assert await reader.readexactly(len(told)) == told
        assert [key for _, key in counter.seen] == [18, 9, 3]
        writer.close()
