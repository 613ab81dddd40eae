"""What came of the drills: kept in a file, compared with what was expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deploy.drills import checksum_page, checksum_runs
from deploy.drills.catalogue import BY_LABEL
from deploy.drills.catalogue_checksum import AUDITS
from deploy.drills.result import Result, as_line, from_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from deploy.drills.catalogue_checksum import Audit
    from deploy.drills.drill import Drill

AUDIT_LABELS = [one.label for one in AUDITS]


def groups(drills: Iterable[Drill]) -> list[list[Drill]]:
    """Return the drills by the mirror's settings that they need, each group in order."""
    found: dict[tuple[tuple[str, str], ...], list[Drill]] = {}
    for drill in drills:
        found.setdefault(tuple(sorted(drill.settings.items())), []).append(drill)
    return list(found.values())


class Ledger:
    """The results, kept in a file where one is named, and the labels of those that are not right."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self.results = kept_results(file)
        self.failed: list[str] = []

    def drill(self, drill: Drill, result: Result) -> None:
        """Take what came of a drill."""
        self._take(result, result.wrong(drill), f"{_said(result)}; {result.books}")

    def audit(self, audit: Audit, result: Result) -> None:
        """Take what came of a drill of the checksum."""
        self._take(result, checksum_page.wrong(audit, result), f"{_said(result)}; {result.books}")

    def checksums(self, result: Result) -> None:
        """Take what came of the checksums in a row."""
        self._take(result, checksum_runs.wrong(result), f"{result.books}")

    def fail(self, label: str) -> None:
        """Take that a drill could not be made to happen: what came of it before tells of it no more."""
        self.failed.append(label)
        self.results.pop(label, None)
        self._write()

    def _take(self, result: Result, wrong: str, said: str) -> None:
        self.results[result.label] = result
        self.failed += [result.label] if wrong else []
        print(f"{f'BAD ({wrong})' if wrong else 'ok '} {result.label}: {said}", flush=True)
        print(f"    {result.sentence}", flush=True)
        self._write()

    def _write(self) -> None:
        if self._file is not None:
            lines = [as_line(one) + "\n" for one in self.results.values()]
            self._file.write_text("".join(lines), encoding="utf-8")


def _said(result: Result) -> str:
    said = ", ".join(f"{at:.1f} s {verdict}/{cause or '-'}" for at, verdict, cause in result.said)
    fired = ", ".join(f"{at:.1f} s {name}" for at, name, _ in result.fired or ())
    pages = ", ".join(name for _, name in result.paged)
    return f"{said}; fired {fired}; paged {pages}" if result.fired is not None else said


def kept_results(file: Path | None) -> dict[str, Result]:
    """Return the results that a file holds, by drill; none where there is no file."""
    if file is None or not file.exists():
        return {}
    kept = (from_line(line) for line in file.read_text(encoding="utf-8").splitlines())
    known = {*BY_LABEL, *AUDIT_LABELS, checksum_runs.LABEL}
    return {one.label: one for one in kept if one.label in known}
