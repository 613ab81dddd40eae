"""Make each fault happen on real clusters and hold what the service says against what was done.

    python -m deploy.drills [NAME ...] [--results FILE] [--write docs/reference/drills.md] [--both]

For every fault: a healthy flow, watched by a service in its own process; the fault, begun by another
process; what the service said and after how many seconds; the end of the fault, and how the flow came back.
The service cannot know which fault it is. Then come faults that the checksum has to find (`checksum-...`),
and at last ten checksums in a row of a mirror that is well (`checksums`). Exit status 1 when a verdict or a
cause was not the expected one.

`--results` keeps a line for each drill and replaces the lines of those that ran before, so that they can be
run in portions and written down together; of a drill that could not be run no line stays. With `--both` the
services with a canary judge by offsets too, as they do by default: what is said sooner or more exactly then
is not what the table holds, and what one drill lost is told while the next ones run. `--alert-times` measures
for docs/reference/alerts.md: faults last for two and a half minutes, and alerts wait as long as for users.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.drills import checksum_page, checksum_runs
from deploy.drills.alerts import HOLD_S
from deploy.drills.catalogue import BY_LABEL, DRILLS
from deploy.drills.catalogue_checksum import AUDITS
from deploy.drills.checksum_bench import AuditBench
from deploy.drills.ledger import AUDIT_LABELS, Ledger, groups
from deploy.drills.page import page, table
from deploy.drills.result import first_seconds
from deploy.drills.runs import Bench

if TYPE_CHECKING:
    from collections.abc import Container


def main() -> None:
    """Run the drills that are named, or all, and print or write their table."""
    parser = argparse.ArgumentParser(prog="python -m deploy.drills", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a drill; all of them where none is named")
    parser.add_argument(
        "--results", type=Path, metavar="FILE", help="keep a line for each drill in this file"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page of all results")
    parser.add_argument(
        "--alert-times",
        type=Path,
        metavar="FILE",
        help="have the rules that users have, and write after how many seconds each alert fired",
    )
    parser.add_argument("--both", action="store_true", help="judge by canary and offsets together")
    chosen = parser.parse_args()
    if chosen.both and chosen.write is not None:
        parser.error("--both is for looking: the page is of canary and offsets each by itself")
    known = [*BY_LABEL, *AUDIT_LABELS, checksum_runs.LABEL]
    strange = sorted(set(chosen.names) - set(known))
    if strange:
        parser.error(f"no drill is called {strange[0]}; there are: {', '.join(known)}")
    ledger = Ledger(chosen.results)
    with tempfile.TemporaryDirectory(prefix="mirrorwatch-drills-", ignore_cleanup_errors=True) as name:
        hold_s = HOLD_S if chosen.alert_times is not None else 0.0
        _run(Path(name), chosen.names or known, ledger, both=chosen.both, hold_s=hold_s)
    results = ledger.results
    print(table(results), table(results, by_offsets=True), checksum_page.table(results), sep="\n\n")
    if chosen.alert_times is not None:
        times = first_seconds(results.values())
        chosen.alert_times.write_text(json.dumps(times, indent=1) + "\n", encoding="utf-8")
    if chosen.write is not None:
        chosen.write.write_text(page(results), encoding="utf-8")
    sys.exit(1 if ledger.failed else 0)


def _run(folder: Path, labels: Container[str], ledger: Ledger, *, both: bool, hold_s: float) -> None:
    drills = [one for one in DRILLS if one.label in labels]
    audits = [one for one in AUDITS if one.label in labels]
    if drills:
        with Bench(folder, both=both, hold_s=hold_s) as bench:
            for group in groups(drills):
                bench.run(group, ledger.drill, ledger.fail)
    if audits:
        with AuditBench(_made(folder / "audits")) as audit_bench:
            in_order = sorted(audits, key=lambda one: sorted(one.settings))
            audit_bench.run(in_order, ledger.audit, ledger.fail)
    if checksum_runs.LABEL in labels:
        tell = partial(print, flush=True)
        ledger.checksums(checksum_runs.checksums(_made(folder / checksum_runs.LABEL), tell))


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


if __name__ == "__main__":
    main()
