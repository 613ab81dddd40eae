"""The document of a finished run as the service reads it: foreign data, checked as a whole. Pure.

`checksum/report/result_document.py` writes it. A posted document has no fields but the known ones. In one of
the store, which another version may have written, unknown fields are left alone. Known fields have to be as
they should, and every problem is reported at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checksum.compare.findings import RecordVerdict
from checksum.report.result_document import MOST_FINDINGS, MOST_LEFT_OUT, MOST_PARTITIONS, VERSION
from fleet.dialect import unknown_name
from fleet.errors import MalformedError
from fleet.verdicts.vocabulary import Cause
from mirrorwatch.cli.told_values import ToldValue

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_BYTES = 16 * 2**20
"""Of a document as JSON, as it is told."""

MOST_RUNS = 100
"""Of one file of `--json`: there is one for each flow that a command named."""

FIELDS = frozenset(
    {
        "version",
        "run",
        "begun_at",
        "ended_at",
        "who",
        "counts_only",
        "flow",
        "plan",
        "planned_at",
        "topics",
        "offsets",
        "bytes",
        "left_out",
        "status",
        "coverage",
        "not_due",
        "records",
        "source_records",
        "target_records",
        "findings",
        "expected",
        "not_read_again",
        "unsettled",
        "partitions",
        "nothing_new",
        "counts",
    }
)
"""Of the document of a run; the schema of the API has the same."""

MOST_PROBLEMS = 50
RUN_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"

_SHOWN = 60
_CAUSES = frozenset(cause.value for cause in Cause)
_VERDICTS = frozenset(verdict.value for verdict in RecordVerdict)


@dataclass(frozen=True, slots=True)
class ToldFinding:
    """One finding; offsets are the first that it may be at, None on a side where there is none."""

    verdict: RecordVerdict
    cause: Cause
    sentence: str
    topic: str
    partition: int
    records: int
    source_offset: int | None
    target_offset: int | None


@dataclass(frozen=True, slots=True)
class ToldBlock:
    """Offsets that differ and were not told apart; `certain`: something is wrong in there for sure."""

    sentence: str
    topic: str
    partition: int
    certain: bool
    lacking: int
    surplus: int
    source_offset: int | None
    target_offset: int | None


@dataclass(frozen=True, slots=True)
class ToldPartition:
    """What became of one partition: offsets that were to be compared, those verified, records by verdict."""

    topic: str
    offsets: int
    verified: int
    records: Mapping[RecordVerdict, int]


@dataclass(frozen=True, slots=True)
class ToldLeftOut:
    """What was not compared of a topic; `later`: it is merely new."""

    topic: str
    records: int
    later: bool


@dataclass(frozen=True, slots=True)
class ToldRun:
    """A finished run. Instants are epoch seconds; lists may be shorter than the numbers beside them say."""

    run: str
    flow: str
    plan: str
    begun_at: float
    ended_at: float
    status: int
    counts_only: bool
    coverage: float
    records: Mapping[RecordVerdict, int]
    source_records: int
    target_records: int
    findings: tuple[ToldFinding, ...]
    findings_count: int
    expected_count: int
    blocks: tuple[ToldBlock, ...]
    blocks_count: int
    partitions: tuple[ToldPartition, ...]
    partitions_count: int
    left_out: tuple[ToldLeftOut, ...]
    left_out_count: int
    nothing_new: tuple[str, ...]  # topics that were asked for, and of which all was verified before
    not_due: int = 0


@dataclass(frozen=True, slots=True)
class Told:
    """A run's document, and what it says; `place` is where it stands in a file, "" for one that is alone."""

    place: str
    document: Any
    run: ToldRun


class NoRunError(MalformedError):
    """A document that no run makes; `problems` has a sentence for each thing that is wrong with it.

    `shown` are those that are told, and `more` is how many are not.
    """

    def __init__(self, problems: list[str], *, more: int = 0) -> None:
        self.shown = problems[:MOST_PROBLEMS]
        self.more = more + len(problems) - len(self.shown)
        super().__init__("; ".join(self.shown[:3]))
        self.problems = [*self.shown, f"and {self.more} more"] if self.more else self.shown


def read_run(document: object, *, posted: bool = False) -> ToldRun:
    """Return what a document says; raises NoRunError with everything that is wrong with it.

    A `posted` one is refused for fields that are unknown.
    """
    problems: list[str] = []
    top = ToldValue(document, "", problems)
    if not top.is_object:
        raise NoRunError(["the document: must be a JSON object"])
    version = top["version"].held
    if version != VERSION or isinstance(version, bool):
        told = version if isinstance(version, int) and not isinstance(version, bool) else "none"
        known = f"is not supported (this service reads {VERSION}); use one release for both"
        raise NoRunError([f"version: {str(told)[:_SHOWN]} {known}"])
    names = document if posted and isinstance(document, dict) else ()
    strange = [name for name in names if name not in FIELDS]
    problems += [unknown_name("field", name, FIELDS) for name in strange[:MOST_PROBLEMS]]
    counts_only = top.get("counts_only").flag()
    run = _run(top, counts_only=counts_only)
    if problems:
        raise NoRunError(problems, more=max(0, len(strange) - MOST_PROBLEMS))
    return run


def read_told(document: object) -> list[Told]:
    """Return what a run's document says, or each of the runs in a file of `--json`.

    Flows of such a file that were not compared have nothing to tell. Raises NoRunError with what is wrong
    with its runs, up to the one with which there are MOST_PROBLEMS, where there is none, and where there are
    more than are taken at once.
    """
    if not isinstance(document, dict) or "run" in document or not isinstance(document.get("runs"), list):
        return [Told("", document, read_run(document, posted=True))]
    runs = document["runs"]
    if len(runs) > MOST_RUNS:
        raise NoRunError([f"runs: {len(runs)} are too many; post at most {MOST_RUNS} at once"])
    found, problems, more = [], [], 0
    for number, one in enumerate(runs):
        if isinstance(one, dict) and "failure" in one and "run" not in one:
            continue
        place = f"runs[{number}]: "
        try:
            found.append(Told(place, one, read_run(one, posted=True)))
        except NoRunError as error:
            problems += [f"{place}{problem}" for problem in error.shown]
            more += error.more
        if len(problems) >= MOST_PROBLEMS:
            break
    if not found and not problems:
        problems = ["runs: no finished run"]
    if problems:
        raise NoRunError(problems, more=more)
    return found


def _run(top: ToldValue, *, counts_only: bool) -> ToldRun:
    begun_at, ended_at = top["begun_at"].moment(), top["ended_at"].moment()
    if ended_at and begun_at > ended_at:
        top["begun_at"].wrong("must not be later than ended_at")
    findings_count, findings = (0, ()) if counts_only else top["findings"].some(MOST_FINDINGS)
    blocks_count, blocks = (0, ()) if counts_only else top["not_read_again"].some(MOST_FINDINGS)
    partitions_count, partitions = (0, ()) if counts_only else top["partitions"].some(MOST_PARTITIONS)
    left_out_count, left_out = top.get("left_out").some(MOST_LEFT_OUT)
    return ToldRun(
        run=top["run"].matching(
            RUN_ID, "letters, digits, '.', '_' and '-', at most 64, a letter or digit first"
        ),
        flow=top["flow"].text(300),
        plan=top["plan"].text(64),
        begun_at=begun_at,
        ended_at=ended_at,
        status=top["status"].whole(most=4),
        counts_only=counts_only,
        coverage=1.0 if counts_only else top["coverage"].share(),
        records={} if counts_only else _by_verdict(top["records"]),
        source_records=top["source_records"].whole(),
        target_records=top["target_records"].whole(),
        findings=tuple(_finding(one) for one in findings),
        findings_count=findings_count,
        expected_count=0 if counts_only else top["expected"].some(MOST_FINDINGS)[0],
        blocks=tuple(_block(one) for one in blocks),
        blocks_count=blocks_count,
        partitions=tuple(_partition(one) for one in partitions),
        partitions_count=partitions_count,
        left_out=tuple(_left_out(one) for one in left_out),
        left_out_count=left_out_count,
        not_due=top.get("not_due").whole(),
        nothing_new=tuple(one.topic() for one in top.get("nothing_new").items(MOST_PARTITIONS)),
    )


def _finding(one: ToldValue) -> ToldFinding:
    return ToldFinding(
        RecordVerdict(one["verdict"].one_of(_VERDICTS, RecordVerdict.UNVERIFIABLE)),
        Cause(one["cause"].one_of(_CAUSES, Cause.UNEXPLAINED)),
        one["sentence"].text(4000),
        one["topic"].topic(),
        one["partition"].whole(),
        one["records"].whole(),
        one["source_offsets"].first_offset(),
        one["target_offsets"].first_offset(),
    )


def _block(one: ToldValue) -> ToldBlock:
    return ToldBlock(
        one["sentence"].text(4000),
        one["topic"].topic(),
        one["partition"].whole(),
        one["certain"].flag(),
        one["lacking"].whole(),
        one["surplus"].whole(),
        one["source_offsets"].first_offset(),
        one["target_offsets"].first_offset(),
    )


def _partition(one: ToldValue) -> ToldPartition:
    one["partition"].whole()
    records = _by_verdict(one["records"])
    return ToldPartition(one["topic"].topic(), one["offsets"].whole(), one["verified"].whole(), records)


def _left_out(one: ToldValue) -> ToldLeftOut:
    return ToldLeftOut(one["topic"].topic(), one["records"].whole(), one["later"].flag())


def _by_verdict(value: ToldValue) -> dict[RecordVerdict, int]:
    return {RecordVerdict(name): count for name, count in value.counts(_VERDICTS).items()}
