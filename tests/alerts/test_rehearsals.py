"""Rehearsals in the store and in the report."""

from __future__ import annotations

import json
from functools import partial

from alerts.rehearsals.rehearsal import ReachedStep, Rehearsal
from alerts.rehearsals.tables import keep_rehearsal, rehearsals_between
from alerts.reports import Report, document, markdown
from mirrorwatch.service.store_parts import MIGRATIONS
from runtime.store.store import Store

DONE = Rehearsal(
    "A->B", 1_800_000_000.0, 1_800_000_090.0, 2, complete=True, steps=(ReachedStep("replicated", 1.0, "all"),)
)
CUT = Rehearsal("A->B", 1_800_000_500.0, 1_800_000_501.0, 1, complete=False, steps=())


async def test_they_are_stored_and_read_by_time(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'store.db'}", migrations=MIGRATIONS)
    await store.open()
    try:
        for one in (DONE, CUT):
            await store.write(partial(keep_rehearsal, one=one))
        read = partial(rehearsals_between, flows=["A->B"], since_at=0.0)
        assert await store.read(partial(read, until_at=2e9)) == [CUT, DONE]
        assert await store.read(partial(read, until_at=1_800_000_400.0)) == [DONE]
    finally:
        await store.close()


def test_the_report_shows_them():
    report = Report(0, 10, (), rehearsals=(DONE, CUT))
    text = markdown(report)
    assert "| A->B | 2027-01-15 08:00 | 1 min 30 s | complete | all |" in text
    assert "| 0 steps | No step was reached. |" in text
    (first, second) = json.loads(json.dumps(document(report)))["rehearsals"]
    assert (first["complete"], first["steps"][0]["step"], second["groups"]) == (True, "replicated", 1)
