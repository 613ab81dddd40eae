"""One Spark session for all tests in here: a start takes as long as all of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from checksum.spark.session import spark_session
from checksum.spark.settings import SparkSettings

HERE = Path(__file__).parent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let PySpark leave sockets to Java to the garbage collector, as it does with each answer it reads."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker(
                pytest.mark.filterwarnings("ignore:.*socket:pytest.PytestUnraisableExceptionWarning")
            )
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Give Spark on this machine's cores, with its log in the tests' folder."""
    folder = tmp_path_factory.mktemp("spark")
    # Few and small data: more parts than cores only cost time.
    settings = SparkSettings(folder, master="local[2]", extra={"spark.sql.shuffle.partitions": "2"})
    with spark_session(settings) as session:
        yield session
