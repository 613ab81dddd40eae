"""Documents of runs as `result_document` makes them, as far as the history reads them."""

from __future__ import annotations

from checksum.compare.finding_text import time_text

BEGUN_MS = 1_790_000_000_000


def document(run="r1", *, flow="A->B", begun_ms=BEGUN_MS, ended_ms=BEGUN_MS + 60_000, status=0, **more):
    return {
        "version": 1,
        "run": run,
        "flow": flow,
        "plan": "5ca1ab1e",
        "begun_at": time_text(begun_ms),
        "ended_at": time_text(ended_ms),
        "status": status,
        "coverage": 1.0,
        "findings": {"count": 0, "shown": []},
        "source_records": 10,
        "target_records": 10,
        **more,
    }
