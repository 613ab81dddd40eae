"""The ingest process where it may do less than it would like to."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time

import pytest

from lagmon.ingest import LEAVE_S, NICER, step_back
from lagmon.orders import write_orders
from runtime.kafka.translation import ClientSettings


@pytest.mark.parametrize("refused", [PermissionError("Operation not permitted"), OSError("not here")])
def test_a_sandbox_that_keeps_priorities_to_itself_is_no_reason_to_end(monkeypatch, refused):
    asked = []

    def nice(by):
        asked.append(by)
        raise refused

    monkeypatch.setattr(os, "nice", nice)
    step_back()
    assert asked == [NICER]


def test_it_ends_soon_though_a_cluster_never_answers(tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        orders = write_orders(
            {"A": ClientSettings({"bootstrap.servers": f"127.0.0.1:{silent.getsockname()[1]}"})},
            burrow_names={"A": "A"},
            groups=".*",
            groups_exclude="",
            per_partition=False,
            max_series=0,
            log_level="error",
            log_format="json",
            secrets=frozenset(),
        )
        place = tmp_path / "socket"
        with subprocess.Popen([sys.executable, "-m", "lagmon"], stdin=subprocess.PIPE) as process:
            try:
                process.stdin.write(json.dumps({**orders, "socket": str(place)}).encode() + b"\n")
                process.stdin.flush()
                silent.settimeout(60)
                with silent.accept()[0]:  # it asks, and would wait for ten seconds
                    began = time.monotonic()
                    process.stdin.close()
                    assert process.wait(30) == 0
                    assert time.monotonic() - began < LEAVE_S + 4
            finally:
                process.kill()
