"""Every test in this folder is real: it runs against the processes that the fixtures start."""

from __future__ import annotations

from pathlib import Path

import pytest

from deploy.local.connect import ConnectWorker
from tests.real.rights import Rights

_HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_HERE):
            item.add_marker(pytest.mark.real)


@pytest.fixture
def rights(secure_broker):
    """Give the ACLs of the secured broker; there are none at first, and none after the test."""
    made = Rights(secure_broker)
    made.withdraw()
    yield made
    made.withdraw()


@pytest.fixture
def worker(no_mirror, kafka_pair, topic_name, tmp_path):
    """Start Kafka Connect on B, whose topics are its own: it runs no connector of another test."""
    made = ConnectWorker(kafka_pair.b, tmp_path / "connect", name=topic_name("connect"))
    made.start()
    try:
        made.wait_ready()
        yield made
    finally:
        made.kill()
