"""Hold the canary's books in a store against both topics, read whole: to the probe, by the rules of restart.

It reads SQLite, JSON and bytes, and knows nothing of how the service keeps or judges them. The books are to
be at rest: the last process has ended in an orderly way after everything had its outcome.
"""

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from collections import Counter, defaultdict
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from bench.topic_truth import Content

    Records = Mapping[tuple[int, int], Content]  # by partition and offset

CONCLUDED = ("good", "late", "overdue", "lost")
NEVER_SENT = ("skipped", "produce_failed")  # these are surely not on the source
PERHAPS_SENT = ("produce_unknown", "abandoned", "unknown", "warmup")
OUTCOMES = (*CONCLUDED, *NEVER_SENT, *PERHAPS_SENT)
OF_OTHERS = ("overdue", "lost", "unknown")  # how a probe may end that was taken over
ENDS = ("recovered", "confirmed", "closed")  # of what was overdue
TABLES = ("canary_minutes", "canary_coverage", "canary_incarnations", "canary_findings")
MINUTE_MS = 60_000
SHOWN = 5  # of violations that are alike


class Probe(NamedTuple):
    """Which probe it is."""

    incarnation: str
    topic_id: str
    partition: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Original:
    """A probe in the source's log: its place there, its minute, and all its bytes."""

    offset: int
    minute: int
    content: Content


@dataclass(slots=True)
class Books:
    """What the store holds of one flow."""

    rows: list[dict[str, Any]]
    coverages: dict[tuple[str, str, int], dict[str, Any]]
    incarnations: dict[str, dict[str, Any]]
    findings: list[dict[str, Any]]
    installation: str
    table_rows: dict[str, int]

    def total(self, column: str, *, of: str | None = None) -> int:
        """Return the sum of a column over all rows, or over those that count this incarnation's probes."""
        return sum(row[column] for row in self.rows if of in (None, row["probes_of"]))


@dataclass(slots=True)
class Truth:
    """What was found: every violation in a sentence, and the figures."""

    violations: list[str] = field(default_factory=list)
    figures: dict[str, Any] = field(default_factory=dict)

    def expect(self, holds: bool, sentence: str) -> None:
        """Note a violation unless this holds."""
        if not holds:
            self.violations.append(sentence)

    def expect_none(self, found: Iterable[object], sentence: str) -> None:
        """Note a violation that names the first few of what should not be."""
        found = list(found)
        if found:
            shown = "; ".join(str(one) for one in found[:SHOWN])
            self.violations.append(f"{len(found)} {sentence}: {shown}")


def read_books(store: Path, flow: str) -> Books:
    """Return what a store of SQLite holds of a flow; nobody may have it open for writing."""
    with closing(sqlite3.connect(store)) as connection:
        connection.row_factory = sqlite3.Row

        def rows(table: str, of: str = "") -> list[dict[str, Any]]:
            where, values = (" where flow = ?", (of,)) if of else ("", ())
            return [dict(row) for row in connection.execute(f"select * from {table}{where}", values)]  # noqa: S608

        coverages = rows("canary_coverage", flow)
        for row in coverages:
            row["covered"], row["absent"] = json.loads(row["covered"]), json.loads(row["absent"])
        return Books(
            rows=rows("canary_minutes", flow),
            coverages={(row["incarnation"], row["topic_id"], row["partition"]): row for row in coverages},
            incarnations={row["incarnation"]: row for row in rows("canary_incarnations")},
            findings=rows("canary_findings", flow),
            installation=str(connection.execute("select installation_id from installation").fetchone()[0]),
            table_rows={
                table: int(connection.execute(f"select count(*) from {table}").fetchone()[0])  # noqa: S608
                for table in TABLES
            },
        )


def books_and_topics(
    store: Path,
    flow: str,
    source: Records,
    target: Records,
    *,
    source_before: Sequence[Records] = (),
    target_before: Sequence[Records] = (),
) -> Truth:
    """Compare a flow's books with the records of both topics, by (partition, offset).

    What stood in logs that were deleted since is given beside them: nobody can take over what such a source
    held, and nobody can see any more what such a target held, but what was counted of them has to be right.
    """
    truth, books = Truth(), read_books(store, flow)
    here = probes_in(source, books.installation, truth)
    before = [probes_in(log, books.installation, truth) for log in source_before]
    known = {probe: one for log in (*before, here) for probe, one in log.items()}
    copies = Counter(target.values())
    ever = copies + sum((Counter(log.values()) for log in target_before), Counter())
    _check_rows(truth, books)
    _check_coverage(truth, books, here, known)
    _check_sums(truth, books, known)
    _check_losses(truth, books, known, copies)
    _check_deliveries(truth, books, known, ever, copies)
    _check_minutes(truth, books, known)
    _check_leases(truth, books, known)
    _check_findings(truth, books, ever)
    named = (*OUTCOMES, *ENDS, "returned", "expected", "settled")
    truth.figures |= {
        "source_probes": len(known),
        "target_records": len(target),
        "missing_on_the_target": sum(one.content not in copies for one in known.values()),
        "repeated_on_the_target": sum(count - 1 for count in copies.values()),
        "incarnations": len(books.incarnations),
        "outstanding": sum(map(_count, _outstanding(books))),
        "taken_over": sum(row["expected"] for row in books.rows if row["incarnation"] != row["probes_of"]),
        "books": {name: books.total(name) for name in named},
        "table_rows": books.table_rows,
    }
    return truth


def probes_in(records: Records, installation: str, truth: Truth) -> dict[Probe, Original]:
    """Return the probes of a source's log; a second one of the same name is a violation."""
    found: dict[Probe, Original] = {}
    for (partition, offset), content in sorted(records.items()):
        stamp = json.loads(content[2] or b"{}")
        if stamp.get("installation") != installation:
            continue
        probe = Probe(stamp["incarnation"], stamp["topic_id"], stamp["partition"], stamp["sequence"])
        truth.expect(partition == probe.partition, f"{probe} stands in partition {partition} of the source")
        truth.expect(probe not in found, f"{probe} is on the source twice, the second time at {offset}")
        found.setdefault(probe, Original(offset, stamp["due_at_ms"] // MINUTE_MS, content))
    return found


def _check_rows(truth: Truth, books: Books) -> None:
    """Each row adds up; what was taken over ends in no other way than the rules have it."""
    for row in books.rows:
        place = f"row {row['minute']} by {row['incarnation']} of probes of {row['probes_of']}"
        counted = sum(row[name] for name in OUTCOMES)
        truth.expect(row["expected"] == counted, f"{place}: {row['expected']} expected, {counted} outcomes")
        concluded = sum(row[name] for name in CONCLUDED)
        truth.expect(
            concluded <= row["settled"] <= row["expected"],
            f"{place}: {row['settled']} settled of {row['expected']}, {concluded} concluded",
        )
        if row["incarnation"] != row["probes_of"]:
            others = {name: row[name] for name in OUTCOMES if name not in OF_OTHERS and row[name]}
            truth.expect(not others, f"{place}, which were taken over: {others}")
    truth.expect(books.total("returned") == 0, f"{books.total('returned')} returned after they were given up")


def _check_coverage(
    truth: Truth, books: Books, here: Mapping[Probe, Original], known: Mapping[Probe, Original]
) -> None:
    """Every probe on the source is covered; nobody covers one that a process which is gone never sent."""
    for key, row in books.coverages.items():
        flat = [number for pair in row["covered"] for number in pair]
        truth.expect(flat == sorted(flat), f"the ranges of {key} overlap: {row['covered'][:SHOWN]}")
    covered = _covered(books)
    truth.expect_none(
        (
            f"{probe} at source offset {one.offset}"
            for probe, one in here.items()
            if not _within(covered.get(probe[:3], []), probe.sequence)
        ),
        "probes on the source are in no covered set",
    )
    numbers: Counter[str] = Counter()
    present: Counter[str] = Counter()
    for key, ranges in covered.items():
        numbers[key[0]] += sum(last - first + 1 for first, last in ranges)
    for probe in known:
        present[probe.incarnation] += _within(covered.get(probe[:3], []), probe.sequence)
    for incarnation, count in numbers.items():
        own = [row for row in books.rows if row["probes_of"] == row["incarnation"] == incarnation]
        least = sum(row[name] for row in own for name in NEVER_SENT)
        most = least + sum(row[name] for row in own for name in PERHAPS_SENT)
        truth.expect(
            least <= count - present[incarnation] <= most,
            f"of {incarnation}, {count - present[incarnation]} probes are covered that never reached the"
            f" source; by its rows they are {least} to {most}",
        )


def _check_sums(truth: Truth, books: Books, known: Mapping[Probe, Original]) -> None:
    """Rows and coverages agree: what was expected is what is covered, and what was overdue has its end."""
    topics = {key[1] for key in books.coverages}
    for incarnation in sorted({row["probes_of"] for row in books.rows} | {key[0] for key in books.coverages}):
        mine = [row for key, row in books.coverages.items() if key[0] == incarnation]
        covered = sum(last - first + 1 for row in mine for first, last in row["covered"])
        expected = books.total("expected", of=incarnation)
        # What fell due for a topic that was gone already is counted without a place to cover it in.
        spare = books.total("unknown", of=incarnation) if len(topics) > 1 else 0
        truth.expect(
            covered <= expected <= covered + spare,
            f"{incarnation}: the rows expect {expected}, {covered} sequence numbers are covered",
        )
        overdue = books.total("overdue", of=incarnation)
        waiting = sum(_count(one) for row in mine for one in row["absent"] if _waits(one))
        ended = {name: books.total(name, of=incarnation) for name in ENDS}
        truth.expect(
            overdue == sum(ended.values()) + waiting,
            f"{incarnation}: {overdue} overdue, but {ended} and {waiting} outstanding",
        )
    overlooked = {probe.incarnation for probe in known} - {row["probes_of"] for row in books.rows}
    truth.expect_none(sorted(overlooked), "incarnations have probes on the source and no row")


def _check_losses(
    truth: Truth, books: Books, known: Mapping[Probe, Original], copies: Counter[Content]
) -> None:
    """What is called lost or outstanding is absent indeed; a range with holes does not say which ones."""
    there = {probe for probe, one in known.items() if one.content in copies}
    for key, row in books.coverages.items():
        for one in row["absent"]:
            first, last, outcome, proved, *_ = one
            if one[8] or not (outcome == "lost" or proved or _waits(one)):
                continue
            word = "outstanding" if _waits(one) else ("confirmed" if proved else outcome)
            wrong = [Probe(*key, number) for number in range(first, last + 1) if Probe(*key, number) in there]
            truth.expect_none(wrong, f"probes are called {word} and are on the target intact")


def _check_deliveries(
    truth: Truth,
    books: Books,
    known: Mapping[Probe, Original],
    ever: Counter[Content],
    copies: Counter[Content],
) -> None:
    """No more are called delivered than ever came, no more lost than are missing, and none is left unsaid."""
    covered = _covered(books)
    counted = {
        probe: one for probe, one in known.items() if _within(covered.get(probe[:3], []), probe.sequence)
    }
    sent = Counter(probe.incarnation for probe in counted)
    came = Counter(probe.incarnation for probe, one in counted.items() if one.content in ever)
    stayed = Counter(probe.incarnation for probe, one in counted.items() if one.content in copies)
    for incarnation, count in sent.items():
        told = {name: books.total(name, of=incarnation) for name in (*OUTCOMES, *ENDS)}
        delivered = told["good"] + told["late"] + told["recovered"]
        truth.expect(
            delivered <= came[incarnation],
            f"{incarnation}: {delivered} were delivered or recovered, {came[incarnation]} came",
        )
        lost = told["lost"] + told["confirmed"]
        unsaid = sum(told[name] for name in PERHAPS_SENT) + told["overdue"] - told["confirmed"]
        truth.expect(
            lost <= count - stayed[incarnation] and count - came[incarnation] <= lost + unsaid,
            f"{incarnation}: {count - came[incarnation]} are missing on the target, {lost} are called lost or"
            f" confirmed and {unsaid} left open",
        )


def _check_minutes(truth: Truth, books: Books, known: Mapping[Probe, Original]) -> None:
    """Every minute expects the probes that were due in it, and beside them only such as were never sent."""
    covered = _covered(books)
    due: Counter[tuple[str, int]] = Counter()
    for probe, one in known.items():
        due[probe.incarnation, one.minute] += _within(covered.get(probe[:3], []), probe.sequence)
    expected: Counter[tuple[str, int]] = Counter()
    not_sent: Counter[tuple[str, int]] = Counter()
    for row in books.rows:
        expected[row["probes_of"], row["minute"]] += row["expected"]
        if row["probes_of"] == row["incarnation"]:
            open_ones = sum(row[name] for name in (*NEVER_SENT, *PERHAPS_SENT))
            not_sent[row["probes_of"], row["minute"]] += open_ones
    truth.expect_none(
        (
            f"{incarnation} minute {minute}: {expected[incarnation, minute]} expected, {count} on the source"
            for (incarnation, minute), count in sorted((due | expected).items())
            if not 0
            <= expected[incarnation, minute] - due[incarnation, minute]
            <= not_sent[incarnation, minute]
        ),
        "minutes do not agree with the stamps",
    )


def _check_leases(truth: Truth, books: Books, known: Mapping[Probe, Original]) -> None:
    """Whoever sent a probe had written its lease before, and each one's heir is known."""
    begun = books.incarnations
    truth.expect_none(sorted({probe.incarnation for probe in known} - begun.keys()), "senders had no lease")
    truth.expect_none(
        sorted({row["incarnation"] for row in books.rows} - begun.keys()), "writers of rows had no lease"
    )
    left = [name for name, row in begun.items() if not (row["ended"] or row["taken_over_by"])]
    truth.expect_none(left, "processes are gone and were taken over by nobody")


def _check_findings(truth: Truth, books: Books, copies: Counter[Content]) -> None:
    """What was found lost is what the rows call lost; no more copies are called repeated than are."""
    found: defaultdict[str, int] = defaultdict(int)
    for one in books.findings:
        found[one["kind"]] += one["count"]
    lost = books.total("lost") + books.total("confirmed")
    truth.expect(found["lost"] == lost, f"{found['lost']} were found lost, the rows have {lost}")
    repeated = sum(count - 1 for count in copies.values())
    truth.expect(
        found["duplicated"] <= repeated,
        f"{found['duplicated']} copies were found repeated, of {repeated} that are",
    )
    truth.figures["findings"] = dict(found)


def _covered(books: Books) -> dict[tuple[str, str, int], list[tuple[int, int]]]:
    return {key: [(first, last) for first, last in row["covered"]] for key, row in books.coverages.items()}


def _within(ranges: list[tuple[int, int]], number: int) -> bool:
    index = bisect_right(ranges, (number, 2**63)) - 1
    return index >= 0 and number <= ranges[index][1]


def _outstanding(books: Books) -> list[list[Any]]:
    return [one for row in books.coverages.values() for one in row["absent"] if _waits(one)]


def _waits(row: Sequence[Any]) -> bool:
    return row[2] == "overdue" and not row[3]


def _count(row: Sequence[Any]) -> int:
    return int(row[1] - row[0] + 1 - row[8])
