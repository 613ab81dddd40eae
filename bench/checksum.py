"""The checksum on two real brokers and two cores: its bars, one part after the other.

Both sides hold equal records at equal offsets (bench/checksum_records.py), so that nothing but the checksum
works while it is measured: no mirror runs.

- speed: counts and digests of each side in turn, in one session of Spark, with the same reader's options.
- bare: the same for a topic without headers, on one side.
- scaling: a tenth of the records and all of them on one core and on two, and the slope.
- again: in a new session, digests into folders that hold all already.
- compare: in a new session, both sides' digests from their files to the verdict.
- command: the whole command in a process of its own, for a tenth of the records and for all; its memory.
- second: the whole command once more.
- plain: a comparer without Spark (bench/checksum_plain.py) on a tenth of the records; its digest is held
  against Spark's.
"""

from __future__ import annotations

from typing import Any, Final

from bench.found import Found

PARTS: Final = ("speed", "bare", "scaling", "again", "compare", "command", "second", "plain")
RECORDS: Final = 10_000_000
LEAST_RECORDS: Final = 1_000


def measure(*, parts: tuple[str, ...] = PARTS, records: int = RECORDS) -> dict[str, Any]:
    """Return the figures of these parts, each printed as soon as it is there.

    Raises ValueError for a part that there is not, and for fewer than 1,000 records.
    """
    if unknown := set(parts) - set(PARTS):
        raise ValueError(f"no part is called {', '.join(sorted(unknown))}: there are {', '.join(PARTS)}")
    if records < LEAST_RECORDS:
        raise ValueError(f"{records} records are too few to measure anything: give {LEAST_RECORDS} or more")
    from bench.checksum_stage import stage_of  # noqa: PLC0415 - the other benchmarks need no PySpark

    found = Found()
    with stage_of(records) as stage:
        found.keep("preparing", stage.prepared)
        for part in PARTS:
            if part in parts:
                found.keep(part, getattr(stage, part)())
    return found.figures
