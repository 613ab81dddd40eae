"""A client that could not reach its cluster is gone once it is closed, with its threads."""

import asyncio
import gc

import pytest
from confluent_kafka.admin import AdminClient

from fleet.errors import UnavailableError
from runtime.kafka.admin import ClusterAdmin
from runtime.kafka.properties.client_settings import ClientSettings

AWAY = ClientSettings({"bootstrap.servers": "127.0.0.1:1"})


async def ask_in_vain(settings: ClientSettings) -> str:
    admin = ClusterAdmin(settings, cluster="A", timeout_s=0.2)
    await admin.open()
    try:
        await admin.describe_cluster()
    except UnavailableError as error:
        return str(error)
    finally:
        await admin.close()
    return ""


@pytest.fixture
def _no_collection():
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collection")
def test_nothing_of_it_is_left_for_the_garbage_collection():
    before = clients()
    for _ in range(3):
        assert "A" in asyncio.run(ask_in_vain(AWAY))
    assert clients() == before


def clients() -> int:
    return sum(isinstance(one, AdminClient) for one in gc.get_objects())
