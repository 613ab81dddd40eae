"""The ingest process where it may do less than it would like to."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from lagmon.ingest.orders import write_orders
from runtime.kafka.properties.client_settings import ClientSettings
from runtime.process.child import LEAVE_S, NICER, step_back


@pytest.mark.parametrize("refused", [PermissionError("Operation not permitted"), OSError("not here")])
def test_a_sandbox_that_keeps_priorities_to_itself_is_no_reason_to_end(monkeypatch, refused):
    asked = []

    def nice(by):
        asked.append(by)
        raise refused

    monkeypatch.setattr(os, "nice", nice)
    step_back()
    assert asked == [NICER]


def test_it_loads_nothing_that_only_the_service_needs():
    """Each of these takes megabytes of a process that is to hold as little as it can."""
    loaded = subprocess.run(
        [sys.executable, "-c", "import lagmon.ingest.process, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.split()
    assert "numpy" in loaded
    assert not {"aiohttp", "cryptography", "pydantic", "sqlalchemy", "yaml"}.intersection(loaded)


def orders_for(port):
    """Return orders to watch one cluster at this port."""
    return write_orders(
        {"A": ClientSettings({"bootstrap.servers": f"127.0.0.1:{port}"})},
        burrow_names={"A": "A"},
        groups=".*",
        groups_exclude="",
        per_partition=False,
        max_series=0,
        log_level="error",
        log_format="json",
        secrets=frozenset(),
    )


def test_signals_that_are_for_the_service_never_end_it_nor_make_it_speak(tmp_path):
    """As a terminal sends them to every process: from the first moment of its start on, imports included."""
    both = (signal.SIGINT, signal.SIGHUP)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, both)  # as the worker starts it
    process = subprocess.Popen(
        [sys.executable, "-m", "lagmon"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
    )
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    place = tmp_path / "socket"
    try:
        told = False
        until = time.monotonic() + 60
        while time.monotonic() < until and not place.exists():
            process.send_signal(both[round(time.monotonic() * 100) % 2])
            if not told and time.monotonic() > until - 59.5:
                process.stdin.write(json.dumps({**orders_for(9), "socket": str(place)}).encode() + b"\n")
                process.stdin.flush()
                told = True
            time.sleep(0.005)
        for one in both * 20:
            process.send_signal(one)
        assert process.poll() is None
        assert place.exists()
        process.stdin.close()
        assert (process.wait(30), process.stderr.read()) == (0, b"")
    finally:
        process.kill()
        process.wait()
        process.stderr.close()
        process.stdin.close()


@pytest.mark.parametrize("come", [b"", b'{"socket": "/x'])
def test_it_ends_without_a_word_where_who_started_it_is_gone_before_all_orders_came(come):
    ended = subprocess.run(
        [sys.executable, "-m", "lagmon"], input=come, capture_output=True, check=False, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, b"")


def test_it_ends_soon_though_a_cluster_never_answers(tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        orders = orders_for(silent.getsockname()[1])
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
