"""What `/metrics` tells of checksums: nothing until a run has ended, then each topic as its last run left it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families

from checksum.compare.findings import RecordVerdict
from lagmon.exposition.format import Form
from mirrorwatch.audits.flow_audit import TopicAudit
from mirrorwatch.audits.series import ChecksumSeries, audited_at
from mirrorwatch.service.metrics import render
from tests.house.test_exposition import service

LABELS = ("A->B", "A", "B")


def topic(coverage=1.0, *, at=1_790_000_000.25, verified_at=1_790_000_000.25, **records):
    return TopicAudit(
        at, coverage, {RecordVerdict(name): count for name, count in records.items()}, verified_at
    )


def samples(series, form=Form.PLAIN):
    return {
        (sample.name.removeprefix("mirrorwatch_checksum_"), *list(sample.labels.values())[3:]): sample.value
        for family in text_string_to_metric_families(series.text(form).decode())
        for sample in family.samples
    }


def of_the_mirrors(text):
    """Return the lines of all families but the process's own, whose values change between two scrapes."""
    return [line for line in text.splitlines() if b"process_" not in line]


def test_every_verdict_of_a_topic_is_reported_those_of_no_record_too():
    told = samples(ChecksumSeries([(LABELS, {"orders": topic(match=7, lost=1)})]))
    assert told.pop(("last_success_timestamp_seconds", "orders")) == 1_790_000_000.25
    assert told.pop(("coverage_ratio", "orders")) == 1
    assert told.pop(("differing_records", "orders")) == 0
    assert {key[2]: value for key, value in told.items()} == dict.fromkeys(RecordVerdict, 0) | {
        RecordVerdict.MATCH: 7,
        RecordVerdict.LOST: 1,
    }


def test_what_was_never_verified_has_no_instant():
    told = samples(ChecksumSeries([(LABELS, {"orders": topic(0.5, verified_at=None)})]))
    assert ("last_success_timestamp_seconds", "orders") not in told
    assert told["coverage_ratio", "orders"] == 0.5


def audit(*nights):
    """Return the state after runs of these topics, one a night: whether each was verified."""
    summaries = []
    for night, verified in enumerate(nights, 1):
        at = night * 86_400.0
        topics = {name: topic(at=at, verified_at=at if whole else None) for name, whole in verified.items()}
        summaries.append(SimpleNamespace(topics=topics))
    names = {name for one in summaries for name in one.topics}
    last = {}
    for name in names:
        at = [one.topics[name].verified_at for one in summaries if name in one.topics]
        last[name] = topic(verified_at=max((one for one in at if one is not None), default=None))
    return SimpleNamespace(runs=tuple(summaries[::-1]), topics=last)


def test_a_topic_that_was_never_complete_is_as_old_as_what_is_known_of_it():
    assert audited_at(None) is None
    assert audited_at(audit({})) is None
    assert audited_at(audit({"orders": True}, {"orders": True, "payments": True})) == 2 * 86_400
    assert (
        audited_at(audit({"orders": True, "payments": False}, {"orders": True, "payments": False})) == 86_400
    )
    # A new topic is not overdue at once.
    assert audited_at(audit({"orders": True}, {"orders": True, "payments": False})) == 2 * 86_400


@pytest.mark.parametrize(
    ("coverage", "told"), [(1.0, 1.0), (1 - 1e-12, 0.999), (0.9995, 0.999), (0.0004, 0.0), (0.0, 0.0)]
)
def test_a_share_is_rounded_down_so_that_only_the_whole_is_1(coverage, told):
    series = ChecksumSeries([(LABELS, {"orders": topic(coverage)})])
    assert samples(series)["coverage_ratio", "orders"] == told


def test_topics_beyond_the_cap_are_left_out_whole_and_counted():
    topics, others = ({name: topic() for name in names} for names in ("abcdef", "ghijkl"))
    series = ChecksumSeries([(LABELS, topics), (("B->A", "B", "A"), others)], max_series=8 * 7 + 5)
    assert series.left_out == 5
    told = samples(series)
    assert sum(key[0] == "coverage_ratio" for key in told) == 7
    assert sum(key[0] == "records" for key in told) == 8 * 7


def test_it_stands_among_the_other_families_in_both_formats():
    plain, _ = render(service(), "")
    series = ChecksumSeries([(LABELS, {"orders": topic()})])
    whole = service(series)
    text, _ = render(whole, "")
    assert of_the_mirrors(text)[: len(of_the_mirrors(plain))] == of_the_mirrors(plain)
    names = {family.name for family in text_string_to_metric_families(text.decode())}
    assert {"mirrorwatch_checksum_records", "mirrorwatch_flow_verdict"} <= names
    text, content_type = render(whole, "application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    assert text.count(b"# EOF\n") == 1
    assert "mirrorwatch_checksum_coverage_ratio" in {one.name for one in openmetrics_families(text.decode())}


def test_without_a_run_there_is_no_series_and_no_header():
    assert ChecksumSeries([]).text(Form.PLAIN) == b""
    assert b"mirrorwatch_checksum" not in render(service(), "")[0]


def test_the_text_is_written_once():
    series = ChecksumSeries([(LABELS, {"orders": topic()})])
    assert series.text(Form.PLAIN) is series.text(Form.PLAIN)
    assert series.text(Form.OPENMETRICS) != b""
