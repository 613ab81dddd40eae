"""Make each fault happen on real clusters and hold what the service says against what was done.

    python -m deploy.drills [NAME ...] [--results FILE] [--write docs/drills.md]

For every fault: a healthy flow, watched by a service in its own process; the fault, begun by another
process; what the service said and after how many seconds; the end of the fault, and how the flow came back.
The service cannot know which fault it is. At last ten checksums in a row of a mirror that is well
(`checksums`). Exit status 1 when a verdict or a cause was not the expected one.

`--results` keeps a line for each drill and replaces the lines of those that ran before, so that they can be
run in portions and written down together.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from deploy import drill_checksum
from deploy.drill_list import BY_LABEL, DRILLS
from deploy.drill_page import page, table
from deploy.drill_result import Result, as_line, from_line
from deploy.drill_runs import Bench

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deploy.drill import Drill


def groups(drills: Iterable[Drill]) -> list[list[Drill]]:
    """Return the drills by the mirror's settings that they need, each group in order."""
    found: dict[tuple[tuple[str, str], ...], list[Drill]] = {}
    for drill in drills:
        found.setdefault(tuple(sorted(drill.settings.items())), []).append(drill)
    return list(found.values())


def main() -> None:
    """Run the drills that are named, or all, and print or write their table."""
    parser = argparse.ArgumentParser(prog="python -m deploy.drills", description=main.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="a drill; all of them where none is named")
    parser.add_argument(
        "--results", type=Path, metavar="FILE", help="keep a line for each drill in this file"
    )
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the page of all results")
    chosen = parser.parse_args()
    known = [*BY_LABEL, drill_checksum.LABEL]
    strange = sorted(set(chosen.names) - set(known))
    if strange:
        parser.error(f"no drill is called {strange[0]}; there are: {', '.join(known)}")
    wanted = [one for one in DRILLS if not chosen.names or one.label in chosen.names]
    results = _kept(chosen.results)
    failed: list[str] = []

    def hold(result: Result) -> None:
        results[result.label] = result
        if chosen.results is not None:
            chosen.results.write_text(
                "".join(as_line(one) + "\n" for one in results.values()), encoding="utf-8"
            )

    def keep(drill: Drill, result: Result) -> None:
        hold(result)
        said = ", ".join(f"{at:.1f} s {verdict}/{cause or '-'}" for at, verdict, cause in result.said)
        wrong = result.wrong(drill)
        print(f"{f'BAD ({wrong})' if wrong else 'ok '} {drill.label}: {said}; {result.books}", flush=True)
        print(f"    {result.sentence}", flush=True)

    with tempfile.TemporaryDirectory(prefix="mirrorwatch-drills-", ignore_cleanup_errors=True) as name:
        if wanted:
            with Bench(Path(name)) as bench:
                for group in groups(wanted):
                    failed += bench.run(group, keep)
        if not chosen.names or drill_checksum.LABEL in chosen.names:
            folder = Path(name) / drill_checksum.LABEL
            folder.mkdir()
            hold(drill_checksum.checksums(folder, lambda sentence: print(sentence, flush=True)))
            if bad := drill_checksum.wrong(results[drill_checksum.LABEL]):
                failed.append(drill_checksum.LABEL)
                print(f"BAD ({bad})\n{results[drill_checksum.LABEL].sentence}", flush=True)
    print(table(results), table(results, by_offsets=True), sep="\n\n")
    if chosen.write is not None:
        chosen.write.write_text(page(results), encoding="utf-8")
    wrong = [one for one in wanted if one.label in results and results[one.label].wrong(one)]
    sys.exit(1 if wrong or failed else 0)


def _kept(file: Path | None) -> dict[str, Result]:
    if file is None or not file.exists():
        return {}
    kept = (from_line(line) for line in file.read_text(encoding="utf-8").splitlines())
    return {one.label: one for one in kept if one.label in BY_LABEL or one.label == drill_checksum.LABEL}


if __name__ == "__main__":
    main()
