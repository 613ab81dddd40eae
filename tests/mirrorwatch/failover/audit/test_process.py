"""The audit's process: what it loads."""

from __future__ import annotations

import subprocess
import sys


def test_it_loads_nothing_that_only_the_service_needs():
    loaded = subprocess.run(
        [sys.executable, "-c", "import mirrorwatch.failover.audit.process, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout.split()
    assert "confluent_kafka" in loaded
    assert not {"aiohttp", "numpy", "sqlalchemy", "yaml"}.intersection(loaded)
