"""The document of a finished run, checked as foreign data. Pure.

`checksum/report/result_document.py` writes it. A posted document must have no unknown fields, and every field
must be valid: the service returns it as it is. A stored one may have other fields, as another version may
have written it: only what is used is read. All problems are reported at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from checksum.compare.findings import Proof, RecordVerdict
from checksum.compare.verdicts import FINDING, OK
from checksum.counts.buckets import MOST_ROWS
from checksum.counts.counting import Difference
from checksum.report.result_document import MOST_FINDINGS, MOST_LEFT_OUT, MOST_PARTITIONS, VERSION
from fleet.dialect import unknown_name
from fleet.errors import MalformedError
from fleet.verdicts.vocabulary import Cause
from mirrorwatch.audits.json_values import JsonValue

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    _Check = Callable[[JsonValue], object]

MOST_BYTES = 16 * 2**20
"""Limit of a posted document."""

MOST_RUNS = 100
"""Limit of one `--json` file, which has one run for each flow of a command."""

MOST_PROBLEMS = 50
RUN_ID = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"

_SHOWN = 60
_CAUSES = frozenset(cause.value for cause in Cause)
_VERDICTS = frozenset(verdict.value for verdict in RecordVerdict)
_PROOFS = frozenset(proof.value for proof in Proof)


@dataclass(frozen=True, slots=True)
class DocumentFinding:
    """One finding with its first possible offsets; None on a side where there is no record."""

    verdict: RecordVerdict
    cause: Cause
    sentence: str
    topic: str
    partition: int
    records: int
    source_offset: int | None
    target_offset: int | None


@dataclass(frozen=True, slots=True)
class DocumentBlock:
    """Unresolved offsets that differ; `certain`: something is surely wrong in them."""

    sentence: str
    topic: str
    partition: int
    certain: bool
    lacking: int
    surplus: int
    source_offset: int | None
    target_offset: int | None


@dataclass(frozen=True, slots=True)
class DocumentPartition:
    """One partition: offsets to compare, verified offsets, and records by verdict."""

    topic: str
    offsets: int
    verified: int
    records: Mapping[RecordVerdict, int]


@dataclass(frozen=True, slots=True)
class DocumentLeftOut:
    """What was not compared of a topic; `later`: it is merely new."""

    topic: str
    records: int
    later: bool


@dataclass(frozen=True, slots=True)
class RunDocument:
    """A finished run. Times are epoch seconds; a list may be shorter than its count."""

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
    findings: tuple[DocumentFinding, ...]
    findings_count: int
    expected_count: int
    blocks: tuple[DocumentBlock, ...]
    blocks_count: int
    partitions: tuple[DocumentPartition, ...]
    partitions_count: int
    left_out: tuple[DocumentLeftOut, ...]
    left_out_count: int
    nothing_new: tuple[str, ...]  # requested topics that were verified completely before
    not_due: int = 0
    whole: bool = False  # all topics that the flow replicated were requested


@dataclass(frozen=True, slots=True)
class PostedRun:
    """A run and its document; `place` is its position in a file, "" for a single document."""

    place: str
    document: Any
    run: RunDocument


class InvalidRunError(MalformedError):
    """An invalid document; `problems` has one sentence each.

    `shown` are those in the message, `more` counts the others.
    """

    def __init__(self, problems: list[str], *, more: int = 0) -> None:
        self.shown = problems[:MOST_PROBLEMS]
        self.more = more + len(problems) - len(self.shown)
        super().__init__("; ".join(self.shown[:3]))
        self.problems = [*self.shown, f"and {self.more} more"] if self.more else self.shown


def read_run(document: object, *, posted: bool = False) -> RunDocument:
    """Read a run's document; raises InvalidRunError with all its problems.

    Every field of a `posted` document must be known and valid.
    """
    problems: list[str] = []
    top = JsonValue(document, "", problems)
    if not top.is_object:
        raise InvalidRunError(["the document: must be a JSON object"])
    version = top["version"].held
    if version != VERSION or isinstance(version, bool):
        told = version if isinstance(version, int) and not isinstance(version, bool) else "none"
        known = f"is not supported (this service reads {VERSION}); use one release for both"
        raise InvalidRunError([f"version: {str(told)[:_SHOWN]} {known}"])
    names = document if posted and isinstance(document, dict) else ()
    strange = [name for name in names if name not in FIELDS]
    problems += [unknown_name("field", name, FIELDS) for name in strange[:MOST_PROBLEMS]]
    counts_only = top.get("counts_only").flag()
    run = _run(top, counts_only=counts_only)
    if posted:
        for name, check in _FIELDS.items():
            if name in names:
                check(top.get(name))
        if not problems:
            _check_status(top, run)
    if problems:
        named = len(strange[:MOST_PROBLEMS])
        once = dict.fromkeys(problems[named:])  # a field may have been read twice
        raise InvalidRunError([*problems[:named], *once], more=len(strange) - named)
    return run


def read_runs(document: object) -> list[PostedRun]:
    """Read a run's document, or each run of a `--json` file.

    Skips flows of such a file that were not compared. Raises InvalidRunError with the problems of its runs
    (it stops after MOST_PROBLEMS), or if the file has no run or too many.
    """
    if not isinstance(document, dict) or "run" in document or not isinstance(document.get("runs"), list):
        return [PostedRun("", document, read_run(document, posted=True))]
    runs = document["runs"]
    if len(runs) > MOST_RUNS:
        raise InvalidRunError([f"runs: {len(runs)} are too many; post at most {MOST_RUNS} at once"])
    found, problems, more = [], [], 0
    for number, one in enumerate(runs):
        if isinstance(one, dict) and "failure" in one and "run" not in one:
            continue
        place = f"runs[{number}]: "
        try:
            found.append(PostedRun(place, one, read_run(one, posted=True)))
        except InvalidRunError as error:
            problems += [f"{place}{problem}" for problem in error.shown]
            more += error.more
        if len(problems) >= MOST_PROBLEMS:
            break
    if not found and not problems:
        problems = ["runs: no finished run"]
    if problems:
        raise InvalidRunError(problems, more=more)
    return found


def _run(top: JsonValue, *, counts_only: bool) -> RunDocument:
    begun_at, ended_at = top["begun_at"].moment(), top["ended_at"].moment()
    if ended_at and begun_at > ended_at:
        top["begun_at"].wrong("must not be later than ended_at")
    findings_count, findings = (0, ()) if counts_only else top["findings"].some(MOST_FINDINGS)
    blocks_count, blocks = (0, ()) if counts_only else top["not_read_again"].some(MOST_FINDINGS)
    partitions_count, partitions = (0, ()) if counts_only else top["partitions"].some(MOST_PARTITIONS)
    left_out_count, left_out = top.get("left_out").some(MOST_LEFT_OUT)
    return RunDocument(
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
        whole=top.get("whole").flag(),
    )


def _finding(one: JsonValue) -> DocumentFinding:
    return DocumentFinding(
        RecordVerdict(one["verdict"].one_of(_VERDICTS, RecordVerdict.UNVERIFIABLE)),
        Cause(one["cause"].one_of(_CAUSES, Cause.UNEXPLAINED)),
        one["sentence"].text(4000),
        one["topic"].topic(),
        one["partition"].whole(),
        one["records"].whole(),
        one["source_offsets"].first_offset(),
        one["target_offsets"].first_offset(),
    )


def _block(one: JsonValue) -> DocumentBlock:
    return DocumentBlock(
        one["sentence"].text(4000),
        one["topic"].topic(),
        one["partition"].whole(),
        one["certain"].flag(),
        one["lacking"].whole(),
        one["surplus"].whole(),
        one["source_offsets"].first_offset(),
        one["target_offsets"].first_offset(),
    )


def _partition(one: JsonValue) -> DocumentPartition:
    one["partition"].whole()
    records = _by_verdict(one["records"])
    return DocumentPartition(one["topic"].topic(), one["offsets"].whole(), one["verified"].whole(), records)


def _left_out(one: JsonValue) -> DocumentLeftOut:
    return DocumentLeftOut(one["topic"].topic(), one["records"].whole(), one["later"].flag())


def _by_verdict(value: JsonValue) -> dict[RecordVerdict, int]:
    return {RecordVerdict(name): count for name, count in value.counts(_VERDICTS).items()}


def _check_status(top: JsonValue, run: RunDocument) -> None:
    """Report a status that contradicts the other fields."""
    status, findings = top["status"], run.findings_count
    if run.counts_only:
        findings, proof = top.get("findings").some(MOST_FINDINGS)[0], False
        whole = not findings and not any(not one.later for one in run.left_out)
    else:
        proof = findings > 0 or any(one.certain for one in run.blocks)
        unsettled = top.get("unsettled").some(MOST_FINDINGS)[0]
        whole = not (run.blocks_count or unsettled) and run.coverage == 1
    if proof and run.status != FINDING:
        status.wrong(f"{run.status} contradicts the findings; it must be {FINDING}")
    elif run.status == FINDING and not (findings or run.blocks_count):
        status.wrong(f"{FINDING} without a finding")
    elif run.status == OK and not whole:
        status.wrong(f"{OK}, but not everything was verified")


@dataclass(frozen=True, slots=True)
class _Shape:
    """Checks of an object's fields; those in `required` must be there, and no others than these."""

    fields: Mapping[str, _Check]
    required: Collection[str] = ()

    def __call__(self, one: JsonValue) -> None:
        if not one.is_object:
            one["topic"].topic()  # reports that it must be an object
            return
        for name in self.required:
            one[name]  # reports that it is missing
        for name in one.held:
            check = self.fields.get(name)
            if check is None:
                one.wrong(f"unknown field '{name[:_SHOWN]}'")
            else:
                check(one.get(name))


def _text(one: JsonValue) -> None:
    one.text(4000)


def _hash(one: JsonValue) -> None:
    one.matching(r"-?[0-9]{1,20}", "digits, with or without '-'")


def _offsets(one: JsonValue) -> None:
    if one.first_offset() is not None:
        one.items(2)[1].whole()


def _place(one: JsonValue) -> None:
    topic_and_partition = one.items(2)
    if len(topic_and_partition) == 2:
        topic_and_partition[0].topic()
        topic_and_partition[1].whole()
    else:
        one.wrong("must be a topic and a partition")


def _nullable(check: _Check) -> _Check:
    return lambda one: None if one.held is None else check(one)


def _each(check: _Check, most: int) -> _Check:
    def check_all(one: JsonValue) -> None:
        for each in one.items(most):
            check(each)

    return check_all


def _some(check: _Check, most: int, **others: _Check) -> _Check:
    """Return the check of a list with its count, and perhaps other fields."""
    fields = {"count": JsonValue.whole, "shown": _each(check, most), **others}
    shape = _Shape(fields, required=("count", "shown"))

    def check_list(one: JsonValue) -> None:
        shape(one)
        if one.is_object:
            one.some(most)

    return check_list


def _verified(one: JsonValue) -> None:
    _PARTITION(one)
    if one.is_object and "verified" in one.held and one["verified"].whole() > one["offsets"].whole():
        one["verified"].wrong("must not be more than offsets")


_WHOLE, _FLAG, _TOPIC = JsonValue.whole, JsonValue.flag, JsonValue.topic
_COUNTS = frozenset(how.value for how in Difference)
_BOTH = _Shape({"source": _WHOLE, "target": _WHOLE}, required=("source", "target"))
_WHERE: Mapping[str, _Check] = {"topic": _TOPIC, "partition": _WHOLE}
_RECORDS: Mapping[str, _Check] = {"source_records": _WHOLE, "target_records": _WHOLE}
_VERDICT_COUNTS = _Shape(dict.fromkeys(_VERDICTS, _WHOLE))
_FINDING = _Shape(
    {
        **_WHERE,
        **_RECORDS,
        "verdict": lambda one: one.one_of(_VERDICTS | _COUNTS, ""),
        "cause": _nullable(lambda one: one.one_of(_CAUSES, "")),
        "sentence": _text,
        "records": _WHOLE,
        **dict.fromkeys(("at", "target_at", "until"), _nullable(_text)),
        **dict.fromkeys(("source_offsets", "target_offsets"), _offsets),
        "found_in": _nullable(_place),
        "altered": _each(_text, len(_VERDICTS)),
        "aborted": _FLAG,
        "tombstone": _FLAG,
        "proof": lambda one: one.one_of(_PROOFS, ""),
        "hash": _hash,
        "target_hash": _nullable(_hash),
    }
)
_BLOCK_FIELDS: Mapping[str, _Check] = {
    **_WHERE,
    **dict.fromkeys(("source_offsets", "target_offsets"), _offsets),
    "lacking": _WHOLE,
    "surplus": _WHOLE,
    "certain": _FLAG,
    "sentence": _text,
}
_PARTITION = _Shape(
    {
        **_WHERE,
        **_RECORDS,
        "offsets": _WHOLE,
        "verified": _WHOLE,
        "records": _VERDICT_COUNTS,
        "unverified": _each(
            _Shape({"offsets": _offsets, "why": _text}, required=("offsets", "why")), MOST_FINDINGS
        ),
        "verified_to": _nullable(_BOTH),
        "held": _WHOLE,
        "buckets": _WHOLE,
        "differing": _WHOLE,
        "not_compared": _nullable(_text),
    }
)
_LEFT_OUT_FIELDS: Mapping[str, _Check] = {
    "topic": _TOPIC,
    "partition": _nullable(_WHOLE),
    "records": _WHOLE,
    "why": _text,
    "later": _FLAG,
}
_BUCKET = _Shape({**_WHERE, **_RECORDS, "bucket_at": _text, "unverified": _FLAG})
_FIELDS: Mapping[str, _Check] = {
    "version": _WHOLE,
    "run": _text,
    "begun_at": JsonValue.moment,
    "ended_at": JsonValue.moment,
    "who": lambda one: one.text(300),
    "counts_only": _FLAG,
    "flow": lambda one: one.text(300),
    "plan": lambda one: one.text(64),
    "planned_at": JsonValue.moment,
    "topics": _WHOLE,
    "offsets": _BOTH,
    "bytes": _BOTH,
    "left_out": _some(_Shape(_LEFT_OUT_FIELDS, required=_LEFT_OUT_FIELDS), MOST_LEFT_OUT),
    "status": lambda one: one.whole(most=4),
    "coverage": _nullable(JsonValue.share),
    "not_due": _WHOLE,
    "records": _VERDICT_COUNTS,
    **_RECORDS,
    **dict.fromkeys(("findings", "expected", "unsettled"), _some(_FINDING, MOST_FINDINGS)),
    "not_read_again": _some(_Shape(_BLOCK_FIELDS, required=_BLOCK_FIELDS), MOST_FINDINGS),
    "partitions": _some(_verified, MOST_PARTITIONS),
    "nothing_new": _each(_TOPIC, MOST_PARTITIONS),
    "whole": _FLAG,
    "counts": _some(_BUCKET, MOST_ROWS, bucket_ms=_WHOLE, tells_unverified=_FLAG),
    "not_kept": _text,
}
FIELDS = frozenset(_FIELDS)
"""Fields of a run's document; the API schema has the same."""
