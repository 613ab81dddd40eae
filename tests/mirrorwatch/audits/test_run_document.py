"""A run's document as others may send it: read whole, or refused with everything that is wrong with it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from checksum.compare.findings import RecordVerdict
from checksum.report.result_document import MOST_FINDINGS
from fleet.verdicts.vocabulary import Cause
from mirrorwatch.api.checksums import SCHEMAS
from mirrorwatch.audits import run_document
from mirrorwatch.audits.run_document import MOST_PROBLEMS, InvalidRunError, RunDocument, read_run, read_runs
from tests.mirrorwatch.told_runs import ENDED_AT, block, counted, finding, left, partition, run

FULL = run(
    partitions=(partition(hidden=10, lost=1), partition("payments", 2)),
    findings=(finding(), finding(RecordVerdict.EXTRA, aborted=True, topic="payments", offset=5)),
    expected=(finding(RecordVerdict.DUPLICATED),),
    blocks=(block(lacking=3),),
    left_out=(left(), left("payments", 1, later=True)),
    nothing_new=("quiet",),
)


def copied(document):
    return json.loads(json.dumps(document))


def problems(document):
    with pytest.raises(InvalidRunError) as refused:
        read_run(document)
    return refused.value.problems


def changed(path, value):
    document = copied(FULL)
    at = document
    *way, last = path
    for step in way:
        at = at[step]
    at[last] = value
    return document


def test_what_a_run_writes_is_read():
    told = read_run(copied(FULL))
    assert (told.run, told.flow, told.status, told.counts_only) == ("r1", "A->B", 1, False)
    assert (told.begun_at, told.ended_at) == (ENDED_AT - 600, ENDED_AT)
    assert told.coverage == 190 / 250
    assert told.records[RecordVerdict.LOST] == 1
    lost, extra = told.findings
    assert (lost.verdict, lost.source_offset, lost.target_offset) == (RecordVerdict.LOST, 41, None)
    assert lost.sentence.startswith("orders [0]: record at offset 41 on A")
    assert (extra.cause, extra.source_offset, extra.target_offset) == (Cause.ABORTED_TRANSACTION, None, 5)
    assert (told.findings_count, told.expected_count, told.blocks_count) == (2, 1, 1)
    assert (told.blocks[0].lacking, told.blocks[0].certain) == (3, True)
    assert [(one.topic, one.offsets, one.verified) for one in told.partitions] == [
        ("orders", 100, 90),
        ("payments", 100, 100),
    ]
    assert [(one.topic, one.records, one.later) for one in told.left_out] == [
        ("orders", 50, False),
        ("payments", 50, True),
    ]
    assert told.nothing_new == ("quiet",)


def test_records_that_no_one_could_look_up_are_reported_and_a_document_without_them_is_read_as_well():
    unsettled = [
        finding(RecordVerdict.UNVERIFIABLE, source=None, offset=at, number=at)
        for at in range(MOST_FINDINGS + 1)
    ]
    document = copied(run(unsettled=unsettled))
    assert (document["status"], document["unsettled"]["count"]) == (3, MOST_FINDINGS + 1)
    assert len(document["unsettled"]["shown"]) == MOST_FINDINGS
    assert document["unsettled"]["shown"][41]["sentence"] == (
        "orders [0]: record at offset 41 on B (2026-09-21T11:26:40.000Z) is a duplicate or was never on A: its"
        " log there does not reach back far enough, or is too long to read"
    )
    told = read_run(document)
    assert (told.findings, told.status) == ((), 3)
    del document["unsettled"]  # a run of an older release
    assert read_run(document) == told


def test_a_document_without_whole_is_of_some_topics():
    document = copied(run(whole=True))
    assert read_run(document).whole is True
    del document["whole"]  # a run of an older release
    assert read_run(document).whole is False


def test_a_pass_over_counts_is_read_for_what_it_is():
    told = read_run(counted())
    assert (told.run, told.counts_only, told.findings, told.partitions) == ("c1", True, (), ())


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (["run"], "a/b", "run: must consist of letters, digits, '.', '_' and '-', at most 64"),
        (["run"], 7, "run: must consist of letters, digits, '.', '_' and '-', at most 64"),
        (["flow"], "A\x1b[2JB", "flow: must be text of 1 to 300 printable characters"),
        (["plan"], "p" * 65, "plan: must be text of 1 to 64 printable characters"),
        (["begun_at"], "2030-01-01T00:00:00Z", "begun_at: must not be later than ended_at"),
        (["ended_at"], "yesterday", "ended_at: must be a time such as 2026-01-31T23:00:00.000Z"),
        (["ended_at"], "2026-09-21T13:33:20", "ended_at: must be a time such as 2026-01-31T23:00:00.000Z"),
        (["ended_at"], None, "ended_at: must be a time such as 2026-01-31T23:00:00.000Z"),
        (["status"], 5, "status: must be a whole number from 0 to 4"),
        (["status"], True, "status: must be a whole number from 0 to 4"),
        (["coverage"], 1.5, "coverage: must be a number from 0 to 1"),
        (["coverage"], None, "coverage: must be a number from 0 to 1"),
        (["counts_only"], 1, "counts_only: must be true or false"),
        (["records"], [], "records: must be an object"),
        (["records", "lost"], -1, f"records.lost: must be a whole number from 0 to {2**62}"),
        (["source_records"], "10", f"source_records: must be a whole number from 0 to {2**62}"),
        (["findings"], None, "findings: must be an object"),
        (["findings", "count"], 1, "findings: count 1 is less than the 2 shown"),
        (["findings", "shown"], {}, "findings.shown: must be a list of at most 10000 entries"),
        (["findings", "shown", 1], 7, "findings.shown[1]: must be an object"),
        (
            ["findings", "shown", 0, "verdict"],
            "gone",
            "findings.shown[0].verdict: must be one of altered, duplicated, extra, lost, match,",
        ),
        (["findings", "shown", 0, "cause"], ["filtered"], "findings.shown[0].cause: must be one of"),
        (["findings", "shown", 0, "topic"], "no topic", "findings.shown[0].topic: must be a topic name"),
        (
            ["findings", "shown", 0, "source_offsets"],
            [1],
            "findings.shown[0].source_offsets: must be a pair of offsets",
        ),
        (
            ["findings", "shown", 0, "source_offsets"],
            [1.5, 2],
            f"findings.shown[0].source_offsets[0]: must be a whole number from 0 to {2**62}",
        ),
        (
            ["not_read_again", "shown", 0, "certain"],
            None,
            "not_read_again.shown[0].certain: must be true or false",
        ),
        (
            ["partitions", "shown", 0, "verified"],
            1 << 63,
            "partitions.shown[0].verified: must be a whole number",
        ),
        (["left_out", "shown", 0, "later"], "no", "left_out.shown[0].later: must be true or false"),
        (["nothing_new"], [3], "nothing_new[0]: must be a topic name"),
    ],
)
def test_each_thing_that_is_wrong_is_shown_with_its_place(path, value, sentence):
    (said,) = problems(changed(path, value))
    assert said.startswith(sentence)


@pytest.mark.parametrize(
    "name", ["run", "flow", "plan", "begun_at", "status", "coverage", "records", "findings"]
)
def test_what_is_missing_is_shown_once(name):
    document = copied(FULL)
    del document[name]
    assert problems(document) == [f"{name}: missing"]


def test_all_problems_are_shown_at_once_and_no_more_than_can_be_read():
    document = changed(["status"], 9)
    document["findings"] = {"count": 200, "shown": [{} for _ in range(200)]}
    said = problems(document)
    assert len(said) == MOST_PROBLEMS + 1
    assert said[-1] == f"and {1601 - MOST_PROBLEMS} more"


def test_unknown_fields_are_counted_and_only_some_are_named():
    document = copied(FULL) | {f"{number}" * 200: 0 for number in range(20_000)}
    with pytest.raises(InvalidRunError) as refused:
        read_run(document, posted=True)
    assert refused.value.problems[MOST_PROBLEMS:] == [f"and {20_000 - MOST_PROBLEMS} more"]
    assert max(map(len, refused.value.problems)) < 700


def test_of_a_file_no_more_runs_are_read_than_until_no_more_problems_are_reported(monkeypatch):
    good, bad = copied(FULL), changed(["status"], 9)
    bad["findings"] = {"count": 40, "shown": [{} for _ in range(4)]}
    read = []
    monkeypatch.setattr(run_document, "read_run", lambda one, **how: read.append(one) or read_run(one, **how))
    with pytest.raises(InvalidRunError) as refused:
        read_runs({"runs": [good, bad, bad, *[bad] * 50]})
    assert len(read) == 3
    assert refused.value.problems[0].startswith("runs[1]: status: must")
    assert refused.value.problems[MOST_PROBLEMS:] == [f"and {2 * 33 - MOST_PROBLEMS} more"]
    bad["findings"] = {"count": 200, "shown": [{} for _ in range(200)]}
    with pytest.raises(InvalidRunError) as refused:
        read_runs({"runs": [bad]})
    assert refused.value.problems[MOST_PROBLEMS:] == [f"and {1601 - MOST_PROBLEMS} more"]


def posted_problems(document):
    with pytest.raises(InvalidRunError) as refused:
        read_run(document, posted=True)
    return refused.value.problems


def test_what_a_command_writes_can_be_posted():
    for document in (FULL, counted(), FULL | {"not_kept": "the store is away"}):
        assert read_run(copied(document), posted=True).run == document["run"]


SHAPE = SCHEMAS["ChecksumDocument"]["properties"]
ROWS = [name for name, shape in SHAPE.items() if "shown" in shape.get("properties", {})]


@pytest.mark.parametrize(
    "path",
    [
        *((name,) for name in SHAPE),
        *((name, part) for name in ("offsets", "bytes") for part in ("source", "target")),
        *(
            (name, "shown", 0, part)
            for name in ROWS
            for part in SHAPE[name]["properties"]["shown"]["items"]["properties"]
        ),
        ("partitions", "shown", 0, "unverified", 0, "why"),
        ("partitions", "shown", 0, "verified_to", "source"),
        ("findings", "shown", 0, "source_offsets", 1),
        ("findings", "shown", 0, "found_in", 0),
        ("findings", "shown", 0, "found_in", 1),
        ("counts", "bucket_ms"),
        *(("counts", "shown", 0, part) for part in ("topic", "bucket_at", "source_records", "unverified")),
    ],
)
def test_every_field_of_the_schema_is_checked_where_it_is_posted(path):
    document = copied(FULL)
    row = {"topic": "orders", "partition": 0, "bucket_at": "now", "source_records": 1, "target_records": 1}
    document["counts"] = {"count": 1, "bucket_ms": 60_000, "tells_unverified": True, "shown": [row]}
    document["findings"]["shown"][0]["found_in"] = ["payments", 3]
    document["unsettled"] = document["findings"]
    document["partitions"]["shown"][0]["verified_to"] = {"source": 1, "target": 1}
    assert read_run(document, posted=True).run == "r1"
    at = document
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = {"no": ["such", "thing"]}
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]
    assert any(one.startswith(f"{place}") for one in posted_problems(document))


@pytest.mark.parametrize(
    "path", [("findings", "shown", 0), ("partitions", "shown", 0), ("bytes",), ("records",)]
)
def test_an_unknown_field_within_is_refused_where_it_is_posted(path):
    document = changed((*path, "no_such"), 1)
    place = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)[1:]
    assert posted_problems(document) == [f"{place}: unknown field 'no_such'"]
    assert read_run(document).run == "r1"


def test_no_more_than_all_is_verified():
    document = changed(["partitions", "shown", 0, "verified"], 101)
    assert posted_problems(document) == ["partitions.shown[0].verified: must not be more than offsets"]


CLEAN = run(partitions=(partition(),))


@pytest.mark.parametrize(
    ("document", "status", "sentence"),
    [
        (FULL, 0, "0 contradicts the findings; it must be 1"),
        (FULL, 3, "3 contradicts the findings; it must be 1"),
        (run(blocks=(block(),)), 3, "3 contradicts the findings; it must be 1"),
        (CLEAN, 1, "1 without a finding"),
        (counted(), 1, "1 without a finding"),
        (run(blocks=(block(certain=False),)), 0, "0, but not everything was verified"),
        (run(partitions=(partition(hidden=1),)), 0, "0, but not everything was verified"),
        (run(unsettled=(finding(RecordVerdict.UNVERIFIABLE),)), 0, "0, but not everything was verified"),
        (counted() | {"findings": {"count": 1, "shown": []}}, 0, "0, but not everything was verified"),
        (counted() | {"left_out": {"count": 1, "shown": [FULL["left_out"]["shown"][0]]}}, 0, "0, but not"),
    ],
)
def test_a_status_that_contradicts_the_rest_is_refused_where_it_is_posted(document, status, sentence):
    (said,) = posted_problems(copied(document) | {"status": status})
    assert said.startswith(f"status: {sentence}")
    assert read_run(copied(document) | {"status": status}).status == status


@pytest.mark.parametrize("status", [3, 4])
def test_a_run_that_its_store_did_not_take_may_be_worse_than_its_findings(status):
    assert read_run(copied(CLEAN) | {"status": status}, posted=True).status == status


@pytest.mark.parametrize(("version", "told"), [(2, "2"), (None, "none"), (True, "none"), ("1", "none")])
def test_of_another_version_nothing_else_is_shown(version, told):
    assert problems({"version": version}) == [
        f"version: {told} is not supported (this service reads 1); use one release for both"
    ]


@pytest.mark.parametrize("document", [None, [], 7, "run"])
def test_what_is_no_document(document):
    assert problems(document) == ["the document: must be a JSON object"]


def test_keys_and_verdicts_of_another_release_are_left_alone():
    document = changed(["records", "vanished"], 3) | {"weather": "fine"}
    assert read_run(document).records.keys() == set(RecordVerdict)


SCALARS = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5)
ANY = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner)
)
PATHS = [
    (),
    *((name,) for name in FULL),
    *((name, "shown") for name in ("findings", "partitions", "left_out", "not_read_again", "expected")),
    *(("findings", "shown", 0, name) for name in FULL["findings"]["shown"][0]),
    *(("partitions", "shown", 0, name) for name in FULL["partitions"]["shown"][0]),
]


@given(st.sampled_from(PATHS), ANY)
def test_whatever_stands_there_it_is_read_or_refused_in_words(path, value):
    document = value if not path else changed(path, value)
    refused = None
    try:
        assert isinstance(read_run(document), RunDocument)
    except InvalidRunError as error:
        refused = error
    if refused is not None:
        assert refused.problems
        assert all(refused.problems)
        assert str(refused)
