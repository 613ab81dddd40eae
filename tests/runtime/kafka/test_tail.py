"""A tail over a cluster that is not there: nothing comes, nothing is waited for, and its client goes."""

from __future__ import annotations

import pytest

from fleet.errors import ConfigurationError
from runtime.kafka.tail import FROM_NEWEST, FROM_START, Tail
from tests.runtime.kafka.test_clients import AWAY, BAD

PLACES = {"A.heartbeats": FROM_NEWEST, "mm2-configs.A.internal": FROM_START}


def tail(settings):
    return Tail(settings, cluster="B", name="B-heartbeats")


async def test_of_a_cluster_that_is_away_nothing_comes_and_the_client_can_be_recreated_and_closed():
    one = tail(AWAY)
    for _ in range(2):
        await one.begin(PLACES)
        assert await one.take() == []
    await one.close()
    assert await one.take() == []


async def test_without_topics_there_is_no_client_and_closing_twice_is_well():
    one = tail(AWAY)
    await one.begin(PLACES)
    await one.begin({})
    assert await one.take() == []
    await one.close()
    await one.close()


async def test_settings_that_the_client_does_not_take_are_an_error_of_ours():
    with pytest.raises(ConfigurationError, match=r"no\.such\.property"):
        await tail(BAD).begin(PLACES)
