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
    "| drill | fault | expected | reported | cause | seconds | run (s) | records | right |\n"
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

Each drill has its own topic with two partitions and {RATE_PER_S:g} records/s, 5 % of them tombstones. The
service has neither canary nor offsets: its verdict comes from `mirrorwatch checksum run` (Spark with two
cores). The run starts when the fault has ended and the target is idle. In these drills it starts before
the end of the fault, because the loss or the proof of its cause ends with the fault: {before}.

'Seconds' is the time from the order to inject the fault to the service's verdict; the service polls for
runs every 30 s. 'Run' is the duration of the command. Records are counted by the checksum's verdicts. If
none of them shows the fault, the table also has a value that the fault changes, before and after it.

{table(results)}

A row is right only if the expected verdict was reported, everything was verified, the exit status is 1
for a finding and 0 otherwise, the fault shows, and nothing else was counted. Duplicates are allowed only
if the mirror or the target restarted, or if there are two mirrors.

Duplicates under at-least-once delivery and records of aborted transactions are counted, without an alarm.
The canary finds a second mirror on the flow. A target that sets timestamps itself is compared without
timestamps; the offsets find it.
"""
