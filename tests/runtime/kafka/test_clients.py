"""Our clients where no cluster is needed: settings that are not taken, hostile headers, clients that end."""

from __future__ import annotations

import asyncio
import time

import pytest

from fleet.errors import ConfigurationError
from runtime.kafka import tap as tap_module
from runtime.kafka.admin import ClusterAdmin
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.kafka.round_trip import RoundTrip, RoundTripOutcome
from runtime.kafka.sender import NotDelivered, Sender
from runtime.kafka.tap import Place, Tap, TapFault
from runtime.process.clock import SystemClock
from tests.eventually import eventually

BAD = ClientSettings({"bootstrap.servers": "127.0.0.1:1", "no.such.property": "1"})
AWAY = ClientSettings({"bootstrap.servers": "127.0.0.1:1"})


def sender(settings, sink, *, timeout_s=30.0):
    return Sender(
        settings, name="t", cluster="A", clock=SystemClock(), sink=sink, message_timeout_s=timeout_s
    )


async def test_settings_that_are_not_taken_are_one_sentence_everywhere():
    trip = RoundTrip(BAD, cluster="A", topic="t", clock=SystemClock())
    for make in (ClusterAdmin(BAD, cluster="A").open(), trip.open(from_offset=0)):
        with pytest.raises(ConfigurationError, match=r"no\.such\.property"):
            await make
    with pytest.raises(ConfigurationError, match=r"no\.such\.property"):
        sender(BAD, [].append).start()
    await trip.close()


def test_a_tap_that_cannot_be_made_says_so_and_ends():
    said = []
    tap = Tap(BAD, name="t", cluster="A", clock=SystemClock(), sink=said.append)
    tap.start([Place("c", 0, 0)])
    assert tap.join(10.0)
    (fault,) = said
    assert isinstance(fault, TapFault)
    assert fault.lasting
    assert "no.such.property" in str(fault.error)


class Message:
    """A record whose header has a name that is no UTF-8, as the client shows it."""

    def __init__(self, error):
        self._error = error

    def headers(self):
        raise self._error


@pytest.mark.parametrize(
    "error",
    [UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), SystemError("error without one")],
)
def test_a_header_that_cannot_be_read_is_a_strange_header(error):
    assert tap_module.headers_of(Message(error)) == [("\N{REPLACEMENT CHARACTER}", None)]


def test_what_is_given_up_at_the_end_is_reported_as_that():
    said = []
    one = sender(AWAY, said.append)
    one.start()
    assert one.send("t", 0, key=b"k", value=b"v", headers=(), tag="first")
    one.stop()
    assert one.join(10.0)
    (report,) = said
    assert isinstance(report, NotDelivered)
    assert (report.tag, report.ended) == ("first", True)
    assert not one.send("t", 0, key=b"k", value=b"v", headers=(), tag="second")
    assert one.flush(0.1) == 0


def test_what_is_not_reported_in_time_is_given_up_and_the_next_goes_to_another_client():
    said = []
    one = sender(AWAY, said.append, timeout_s=0.3)
    one.start()
    for number in range(3):
        assert one.send("t", 0, key=b"k", value=b"v", headers=(), tag=number)
    eventually(lambda: len(said) == 3, 10)
    assert one.send("t", 0, key=b"k", value=b"v", headers=(), tag=3)
    eventually(lambda: len(said) == 4, 10)
    assert [(report.tag, report.in_doubt, report.ended) for report in said] == [
        (number, True, False) for number in range(4)
    ]
    assert all("127.0.0.1:1" in str(report.error) for report in said)
    one.stop()
    assert one.join(10.0)
    assert len(said) == 4


async def test_a_round_trip_under_way_gives_up_when_it_is_closed():
    trip = RoundTrip(AWAY, cluster="A", topic="t", clock=SystemClock())
    await trip.open(from_offset=0)
    began = time.monotonic()
    under_way = asyncio.create_task(trip.once(b"n", timeout_s=60.0))
    await asyncio.sleep(0.2)
    await trip.close()
    result = await under_way
    assert time.monotonic() - began < 10
    assert result.outcome is not RoundTripOutcome.GOOD
    again = await trip.once(b"n", timeout_s=60.0)
    assert again.outcome is RoundTripOutcome.PRODUCE_FAILED


async def test_a_cancelled_round_trip_may_be_closed_at_once():
    trip = RoundTrip(AWAY, cluster="A", topic="t", clock=SystemClock())
    await trip.open(from_offset=0)
    under_way = asyncio.create_task(trip.once(b"n", timeout_s=60.0))
    await asyncio.sleep(0.2)
    under_way.cancel()
    async with asyncio.timeout(10):
        await trip.close()


def test_a_tap_ends_soon_while_its_cluster_is_away():
    tap = Tap(AWAY, name="t", cluster="A", clock=SystemClock(), sink=lambda _: None)
    tap.start([Place("c", 0, 0)])
    first = tap.last_poll_ns
    eventually(lambda: tap.last_poll_ns > first, 10)
    tap.stop()
    assert tap.join(5.0)


def test_a_tap_that_ends_by_itself_is_dead_and_one_that_was_told_to_is_not():
    tap = Tap(AWAY, name="t", cluster="A", clock=SystemClock(), sink=lambda _: None)
    assert not tap.dead
    tap.start([Place("c", 0, 0)])
    assert not tap.dead
    tap.stop()
    assert tap.join(5.0)
    assert not tap.dead
    refused = Tap(BAD, name="t", cluster="A", clock=SystemClock(), sink=lambda _: None)
    refused.start([Place("c", 0, 0)])
    assert refused.join(5.0)
    assert refused.dead
