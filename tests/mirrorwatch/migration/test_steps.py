"""The steps that are left, with commands that a shell takes as they are."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from fleet.verdicts.flow import Flow
from lagmon.mirrors.answers.orders import order_of
from mirrorwatch.failover.mirror_topics import MirrorTopics
from mirrorwatch.migration.mirror import MirrorState
from mirrorwatch.migration.steps import Steps

FLOW = Flow("A", "B", mirror_version="4.3", on_connect=True)
CONFIG = SimpleNamespace(connect=None, path=Path("new.yaml"))


@pytest.mark.parametrize(
    ("name", "written"),
    [("mm", "mm"), ("mirror orders/eu", "mirror%20orders%2Feu"), ("it's", "it%27s"), ("", "NAME")],
)
def test_the_address_of_a_connector_is_one_word_with_its_name_quoted(name, written):
    order = order_of(replace(FLOW, connector=name), lag_from="connect-offsets")
    mirror = MirrorState(MirrorTopics(order), {}, runs=True, evidence="")
    steps = list(Steps(CONFIG, mirror, 3, Path("p.json"), Path("seeds")).left())
    addresses = [shlex.split(one[1])[-1] for one in steps if one[1].startswith("curl")]
    address = f"http://CONNECT:8083/connectors/{written}"
    assert addresses == [f"{address}/stop", f"{address}/offsets", f"{address}/resume"]
