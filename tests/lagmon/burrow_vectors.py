"""The golden vectors of Burrow's behaviour, as its own types."""

from __future__ import annotations

import json
from pathlib import Path

from lagmon.burrow.rules import BurrowPolicy, Commit, burrow_partition

_FOUND = json.loads((Path(__file__).parent / "golden" / "burrow_vectors.json").read_text(encoding="utf-8"))
PARTITIONS, GROUPS, RINGS = _FOUND["partitions"], _FOUND["groups"], _FOUND["rings"]


def by_name(vector):
    return vector["name"]


def ring_of(vector):
    return [None if one is None else Commit(*one) for one in vector["ring"]]


def policy_of(vector):
    return BurrowPolicy(
        allowed_lag=vector.get("allowed_lag", 0),
        minimum_complete=vector.get("minimum_complete", 0.0),
        expire_group_s=vector.get("expire_group_s", 604_800),
    )


def partitions_of(group):
    return [
        burrow_partition(ring_of(one), one["ends"], group["now_ms"], policy_of(group))
        for one in group["partitions"]
    ]
