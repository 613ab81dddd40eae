"""The file of positions: rows that are wrong are named."""

from __future__ import annotations

import json

import pytest

from fleet.errors import ConfigurationError
from mirrorwatch.migration.positions import read_positions
from tests.mirrorwatch.migration.positions import position, positions


def refused(tmp_path, change):
    path, document = tmp_path / "positions.json", positions(position(), position(1)).model_dump(mode="json")
    change(document["topics"])
    path.write_text(json.dumps(document))
    with pytest.raises(ConfigurationError) as error:
        read_positions(path)
    return [str(one).removeprefix(f"{path}: ") for one in error.value.problems]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda topics: topics.append(topics[0]), "topics: orders is listed twice; remove one row"),
        (
            lambda topics: topics[0]["partitions"][1].update(partition=0),
            "partitions: orders-0 is listed twice; remove one row",
        ),
        (
            lambda topics: topics[0]["partitions"][1].update(offset=True),
            "topics.0.partitions.1.offset: must be a whole number, not True",
        ),
        (
            lambda topics: topics[0]["partitions"][1].update(offset=999),
            "orders-1: offset 999 does not fit the other offsets; export again",
        ),
    ],
)
def test_a_row_that_is_wrong_is_named(tmp_path, change, problem):
    assert refused(tmp_path, change) == [problem]
