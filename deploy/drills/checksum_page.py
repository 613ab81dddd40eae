"""Judge the drills of the checksum and write their part of docs/reference/drills.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from deploy.drills.catalogue_checksum import AUDITS
from deploy.drills.checksum_bench import RATE_PER_S
from deploy.local.faults import BY_NAME
from fleet.verdicts.vocabulary import BAD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deploy.drills.catalogue_checksum import Audit
    from deploy.drills.result import Result

_HEAD: Final = (
    "| drill | fault | expected | said | cause | seconds | run (s) | records | right |\n"
    "|---|---|---|---|---|---|---|---|---|"
)


def wrong(audit: Audit, result: Result) -> str:
    """Return what is wrong with what was said and counted, empty where nothing is."""
    if not result.said:
        return "nothing was said"
    _, verdict, cause = result.said[-1]
    if verdict in BAD if audit.verdict is None else verdict != audit.verdict:
        return f"{verdict} was said"
    if cause != audit.cause:
        return f"{cause} was said"
    return _wrong_run(audit, result) or _wrong_counts(audit, result)


def _wrong_run(audit: Audit, result: Result) -> str:
    if result.status is None or result.coverage is None:
        return "its line of before tells no exit status: run it again"
    if result.status != (0 if audit.verdict is None else 1):
        return f"the checksum ended with {result.status}"
    return "" if result.coverage == 1 else "not everything was verified"


def _wrong_counts(audit: Audit, result: Result) -> str:
    if audit.found and not result.books.get(audit.found, 0):
        return f"nothing was counted as {audit.found}"
    right = {"match", audit.found, *audit.accepted}
    for name, count in result.books.items():
        if count and name not in right:
            return f"{count} were counted as {name}"
    if audit.changes and len(set(result.changed)) != 2:  # before and after
        return f"the {audit.changes} did not change"
    return "" if result.books.get("match", 0) else "nothing was compared"


def table(results: Mapping[str, Result]) -> str:
    """Return the table of the drills that have a result, in the order of the list."""
    return "\n".join([_HEAD, *(_row(one, results[one.label]) for one in AUDITS if one.label in results)])


def _row(audit: Audit, result: Result) -> str:
    at, verdict, cause = result.said[-1] if result.said else (0.0, "nothing", None)
    quiet = audit.verdict is None and verdict not in BAD
    bad = wrong(audit, result)
    cells = [
        f"`{audit.label}`",
        BY_NAME[audit.name].sentence,
        " ".join(filter(None, [audit.verdict or "no alarm", audit.cause])),
        *(("silence", "") if quiet else (verdict, cause or "")),
        f"{at:.0f}",
        f"{result.took_s:.0f}" if result.took_s is not None else "",
        _counted(audit, result),
        f"**no**: {bad}" if bad else "yes",
    ]
    return f"| {' | '.join(cells)} |"


def _counted(audit: Audit, result: Result) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in result.books.items() if count)
    return f"{counts}; {audit.changes}: {' → '.join(map(str, result.changed))}" if result.changed else counts


def section(results: Mapping[str, Result]) -> str:
    """Return what the page says of them."""
    before = ", ".join(f"`{one.label}`" for one in AUDITS if one.mended_after)
    return f"""
## By the checksum

Each on a topic of its own with two partitions and {RATE_PER_S:g} records a second, a twentieth of them
tombstones, and a service with neither canary nor offsets: what it says comes from `mirrorwatch checksum run`
(Spark with two cores), which is typed once the fault is mended and the target stands still (before it is
mended, where the loss or what proves its cause goes with the fault: {before}).
'Seconds' count from the order to begin the fault to when the service told what the run had found, which it
looks for every 30 s; 'run' is the command alone. The records are by the checksum's own verdicts; where none
of them can show that the fault was there, something else that it changes stands beside them, as it was before
and after.

{table(results)}

A row is right only if what is expected was said, if everything was verified, with exit status 1 where
something was to be found and 0 where not, if the fault shows, and if nothing else was counted: second copies
only where the mirror or the target was started again, or there are two mirrors.

Second copies under at-least-once and records of aborted transactions are counted and no alarm; that two
mirrors run on one flow the canary tells. A target that stamps records itself is compared without times: that
it does so is told by the offsets.
"""
