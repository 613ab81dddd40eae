"""What `migrate verify` prints: the headline says no more than the numbers below it."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from mirrorwatch.migration import verifying
from tests.mirrorwatch.migration.test_mirror import Stage
from tests.mirrorwatch.trace.logs import record


@pytest.fixture
def verify(monkeypatch, capsys):
    def run(stage, file):
        monkeypatch.setattr(
            verifying, "opened", lambda *_: nullcontext((file, stage.state(), stage.clusters))
        )
        status = verifying.verify_migration(SimpleNamespace(secrets=()), path=None, flow=None)
        return status, " ".join(capsys.readouterr().out.split())

    return run


def moved(*alike):
    """Return a new mirror that has replicated up to offset 70 of 100; these records have the same content."""
    stage = Stage(members=1)
    for offset in alike:
        stage.source.records[offset] = record(offset, key=b"k", value=b"v")
    file = stage.exported()
    stage.copied(56, 70)
    return stage, file


def test_exact_numbers_need_no_reason(verify):
    status, said = verify(*moved(61, 62))
    assert status == 0
    assert said.startswith("A->B: nothing skipped compared 15 records of 1 partition skipped 0 repeated 4 ")
    assert "same content" not in said


def test_lower_bounds_are_no_proof_and_have_their_reason(verify):
    status, said = verify(*moved(65, 90))
    assert status == 3
    assert said.startswith("A->B: nothing skipped in what was compared compared 15 records ")
    assert " skipped none found repeated at least 4 " in said
    assert said.endswith("lower bounds, as records not replicated yet have the same content: orders-0")
