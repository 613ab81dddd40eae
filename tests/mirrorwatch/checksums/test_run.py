"""`checksum run` from the plan to the exit status: what is found is what was done, and nothing else."""

from __future__ import annotations

import pytest

from checksum.plan.shape import OutdatedPlanError
from fleet.errors import ConfigurationError, Problem, RefusedError, UnavailableError
from mirrorwatch.checksums.run import run_all
from runtime.kafka.admin import TopicDescription
from tests.checksum.pretend_mirror import MARKER, Mirrored
from tests.mirrorwatch.checksum_stage import Stage

LAG_MAX = 10


def mirrored(count=200, *, drop_at=None, alter_at=None):
    """Return a partition that was copied whole, or but for one record."""
    found = Mirrored(lag_max=LAG_MAX)
    found.write(count)
    at = drop_at if drop_at is not None else alter_at
    if at is not None:
        found.copy(at)
        found.copy(1, drop=drop_at is not None, alter=altered)
    found.copy()
    found.flush()
    return found


def altered(record):
    record.value = b"changed"
    return record


@pytest.fixture
def stage(tmp_path, monkeypatch):
    return lambda mirrors, **more: Stage(tmp_path, mirrors, monkeypatch, **more)


def run(stage, *topics, json_file=None, flows=()):
    return run_all(stage.session, stage.chosen(*topics, flows=flows), spark=stage, json_file=json_file)


def findings(stage):
    """Return what the document says of each finding: verdict, topic, partition, both offsets, the time."""
    path = stage.folder / "result.json"
    status = run(stage, json_file=path)
    document = stage.read_json(path)
    assert document["status"] == status
    (one,) = document["runs"]
    return status, [
        (
            each["verdict"],
            each["topic"],
            each["partition"],
            each["source_offsets"],
            each["target_offsets"],
            each["at"],
        )
        for each in one["findings"]["shown"]
    ]


def test_a_healthy_mirror_is_fine(stage):
    found = stage({("orders", 0): mirrored(), ("orders", 1): mirrored(77), ("audit", 0): mirrored(5)})
    status, told = findings(found)
    assert (status, told) == (0, [])
    (document,) = found.read_json(found.folder / "result.json")["runs"]
    assert (document["coverage"], document["source_records"], document["target_records"]) == (1.0, 282, 282)
    assert {name: count for name, count in document["records"].items() if count} == {"match": 282}
    assert "A->B: no difference in 282 records; 100 % of due offsets verified" in found.said
    assert "OK: the target holds every record that was compared." in found.said
    assert found.pauses == []  # nothing to look at twice


def test_a_lost_record_is_named_by_offset_and_time(stage):
    found = stage({("orders", 0): mirrored(), ("orders", 1): mirrored(drop_at=123)})
    at = "2026-09-21T14:13:20.868Z"  # 1,790,000,000,000 ms and 124 records at 7 ms
    assert findings(found) == (1, [("lost", "orders", 1, [123, 124], None, at)])
    with_failed_output = f"({at}) not found among the records compared on B"
    assert f"lost: orders [1]: record at offset 123 on A {with_failed_output}" in found.said
    assert found.pauses == [5.0]


def test_an_altered_record_is_named_with_what_differs(stage):
    found = stage({("orders", 0): mirrored(alter_at=60)})
    status, told = findings(found)
    assert (status, [one[:5] for one in told]) == (1, [("altered", "orders", 0, [60, 61], [60, 61])])
    assert "has another value at offset 60 on B (transformed)" in found.said


def test_what_somebody_wrote_to_the_target_is_extra(stage):
    one = mirrored(50)
    one.intrude()
    one.write(60)
    one.copy()
    one.flush()
    status, told = findings(stage({("orders", 0): one}))
    assert (status, [each[:5] for each in told]) == (1, [("extra", "orders", 0, None, [50, 51])])


def test_duplicates_are_told_and_change_nothing_under_at_least_once(stage):
    one = mirrored(50)
    one.repeat()
    one.write(60)
    one.copy()
    one.flush()
    found = stage({("orders", 0): one})
    assert findings(found) == (0, [])
    assert "Expected under at-least-once, not a finding (1)" in found.said
    assert "duplicated: orders [0]: record at offset 50 on B" in found.said


def test_a_difference_that_one_look_alone_saw_is_none(stage):
    one = mirrored(drop_at=100)
    found = stage({("orders", 0): one})
    healed = Mirrored(lag_max=LAG_MAX)
    healed.write(200)
    healed.copy()

    def heal(_seconds):
        # The digests and the first look saw it; the second finds the record where it belongs.
        one.source.records[100] = MARKER

    object.__setattr__(found.session, "pause", heal)
    assert findings(found) == (0, [])


def test_retention_during_the_run_is_no_difference(stage):
    one = mirrored(drop_at=20)
    found = stage({("orders", 0): one})
    object.__setattr__(found.session, "pause", lambda _seconds: one.expire(source=40))
    status, told = findings(found)
    assert (status, told) == (3, [])
    assert "retention deleted records during the comparison: the log now starts at 40 on A" in found.said
    assert "Incomplete: no difference found, but not everything could be verified." in found.said


@pytest.mark.parametrize("taken", [40, 200])
def test_what_retention_took_of_both_sides_before_it_was_read_is_not_verified(stage, taken):
    one = mirrored()
    found = stage({("orders", 0): one})
    digest = found.digests_made.digest

    def late(plan, side, folder):
        if not found.digests_made.asked:  # planned, and not read yet
            one.expire(source=taken, target=taken)
        return digest(plan, side, folder)

    found.digests_made.digest = late
    status, told = findings(found)
    assert (status, told) == (3, []), found.said
    assert f"the log now starts at {taken} on A and at {taken} on B" in found.said


def test_what_the_target_lacks_makes_it_incomplete(stage):
    found = stage({("orders", 0): mirrored(), ("new", 0): mirrored()})
    del found.clusters.b.topics["A.new"]
    assert run(found) == 3
    assert "new: 200 records: topic A.new does not exist on B: nothing was replicated" in found.said


def test_with_nothing_to_compare_spark_is_not_started(stage):
    found = stage({("orders", 0): Mirrored()})
    assert run(found) == 0
    assert found.started == 0
    assert "no new records in 1 topic, empty or compared before: orders" in found.said
    assert "A->B: no new records to compare" in found.said
    assert "No new records: nothing compared." in found.said
    assert "Fine" not in found.said


def test_more_than_max_bytes_is_refused_before_anything_is_read(stage):
    found = stage({("orders", 0): mirrored()}, max_bytes=100)
    with pytest.raises(ConfigurationError, match=r"the plan of A->B reads about .* max_bytes \(100 B\)"):
        run(found)
    assert found.digests_made.asked == []


@pytest.mark.parametrize(
    ("topics", "sentence"),
    [(["nothing.*"], "no topic on A matches 'nothing"), (["("], "a group is not closed")],
)
def test_topics_that_are_none_are_bad_configuration(stage, topics, sentence):
    found = stage({("orders", 0): mirrored()})
    with pytest.raises(ConfigurationError, match=sentence):
        run(found, *topics)


def test_nothing_named_is_bad_configuration(stage):
    found = stage({("orders", 0): mirrored()})
    with pytest.raises(ConfigurationError, match="missing; name topics here or in checksum"):
        found.session.chosen((), (), everything=False)


def test_a_cluster_that_is_away_ends_it(stage):
    found = stage({("orders", 0): mirrored()})
    found.connects.away = {"B"}
    with pytest.raises(UnavailableError, match="cluster B: no broker answers"):
        run(found)


def test_headers_that_the_plan_does_not_know_of_begin_it_anew_with_headers(stage):
    one = mirrored(1000)  # more than a plan reads of it
    one.source.records[803].headers = (("trace", b"1"),)  # the very object stands on the target, too
    found = stage({("orders", 0): one})
    found.digests_made.failing = [
        OutdatedPlanError("cluster A: 1 of the newest records of orders have headers")
    ]
    one.target.records[803] = altered_headers(one.target.records[803])
    status, told = findings(found)
    assert (status, [each[:4] for each in told]) == (1, [("altered", "orders", 0, [803, 804])])
    assert "have headers. Restarting with headers." in found.said
    assert found.digests_made.headers == [[False], [True], [True]]


def altered_headers(record):
    return type(record)(record.number, record.key, record.value, record.at_ms, (("trace", b"2"),))


def test_headers_twice_end_it(stage):
    found = stage({("orders", 0): mirrored()})
    found.digests_made.failing = [OutdatedPlanError("first"), OutdatedPlanError("again")]
    with pytest.raises(UnavailableError, match="again"):
        run(found)


def test_what_spark_found_silent_is_looked_at(stage):
    found = stage({("orders", 0): mirrored()})
    found.digests_made.empty_ranges = (("orders", 0, 40, 60),)
    with pytest.raises(
        UnavailableError, match=r"Spark returned no record of orders-0 from 40 to 59, .* at 40"
    ):
        run(found)
    quiet = stage({("orders", 0): mirrored()})
    quiet.clusters.mirrors["orders", 0].source.records[40:60] = [MARKER] * 20
    quiet.clusters.mirrors["orders", 0].target.records[40:60] = [MARKER] * 20
    quiet.digests_made.empty_ranges = (("orders", 0, 40, 60),)
    assert run(quiet) == 0


@pytest.mark.parametrize("side", ["source", "target"])
def test_a_topic_that_was_made_anew_meanwhile_ends_it(stage, side):
    found = stage({("orders", 0): mirrored()})
    admin, name = (found.clusters.a, "orders") if side == "source" else (found.clusters.b, "A.orders")
    digest = found.digests_made.digest

    def anew(plan, which, folder):
        admin.topics[name] = TopicDescription(name, "another", (1,))
        return digest(plan, which, folder)

    found.digests_made.digest = anew
    with pytest.raises(UnavailableError, match=f"{name} was re-created after the plan was made"):
        run(found)


def test_a_topic_that_was_made_anew_between_the_looks_ends_it(stage):
    found = stage({("orders", 0): mirrored(drop_at=10)})
    anew = TopicDescription("A.orders", "another", (1,))
    object.__setattr__(
        found.session, "pause", lambda _seconds: found.clusters.b.topics.__setitem__("A.orders", anew)
    )
    with pytest.raises(UnavailableError, match=r"A\.orders was re-created after the plan was made"):
        run(found)


def meanwhile(path, digest):
    """Digest as before, after a folder was made at a path."""

    def digest_there(*asked):
        path.mkdir(exist_ok=True)
        return digest(*asked)

    return digest_there


def test_a_document_that_cannot_be_written_hides_no_finding(stage, monkeypatch):
    found = stage({("orders", 0): mirrored(drop_at=10)})
    path = found.folder / "there"
    fine = stage({("orders", 0): mirrored()})
    for each in (found, fine):
        monkeypatch.setattr(each.digests_made, "digest", meanwhile(path, each.digests_made.digest))
    assert run(found, json_file=path) == 1
    assert "cannot write: is a directory. The result is printed above." in found.said
    path.rmdir()
    assert run(fine, json_file=path) == 4
    with pytest.raises(ConfigurationError, match="does not exist"):
        run(fine, json_file=found.folder / "nowhere" / "result.json")


TWO_FLOWS = """\
mirror_version: "4.3"
clusters:
  A: {bootstrap.servers: "a:1"}
  B: {bootstrap.servers: "b:1"}
  C: {bootstrap.servers: "c:1"}
flows:
  A->B: {topics: ".*"}
  A->C: {topics: "orders"}
"""


def test_one_flow_that_cannot_be_reached_does_not_blind_the_other(stage):
    found = stage({("orders", 0): mirrored(drop_at=10)}, config=TWO_FLOWS)
    found.connects.away = {"C"}
    assert run(found) == 1
    assert "A->C: nothing compared cluster C: no broker answers" in found.said
    fine = stage({("orders", 0): mirrored()}, config=TWO_FLOWS)
    fine.connects.away = {"C"}
    path = fine.folder / "result.json"
    assert run(fine, json_file=path) == 4
    assert [one["status"] for one in fine.read_json(path)["runs"]] == [0, 4]


def test_a_failure_while_one_of_two_flows_is_read_leaves_the_other(stage):
    found = stage({("orders", 0): mirrored()}, config=TWO_FLOWS)
    found.digests_made.failing = [RefusedError("cluster A: no permission to read the topics")]
    assert run(found, flows=()) == 4
    assert "A->B: nothing compared cluster A: no permission" in found.said
    assert "A->C: no difference in 200 records" in found.said


def test_what_is_named_may_be_of_one_flow_only(stage):
    found = stage({("orders", 0): mirrored(), ("audit", 0): mirrored()}, config=TWO_FLOWS)
    path = found.folder / "result.json"
    assert run(found, "audit", json_file=path) == 0
    assert [one["flow"] for one in found.read_json(path)["runs"]] == ["A->B"]
    with pytest.raises(ConfigurationError, match="no topic on A matches 'nothing'"):
        run(found, "audit", "nothing")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("A-", r"invalid flow 'A-': the shell took '>' of A->B as a redirection; write A:B"),
        ("B:A", r"unknown flow 'B:A'; the flows are A:B"),
    ],
)
def test_a_flow_that_is_none_is_told(stage, name, sentence):
    found = stage({("orders", 0): mirrored()})
    with pytest.raises(ConfigurationError, match=sentence):
        found.chosen(flows=[name])


def test_a_flow_is_written_with_a_colon_or_an_arrow(stage):
    found = stage({("orders", 0): mirrored()}, config=TWO_FLOWS)
    assert [one.name for one in found.chosen(flows=["A:C", "A->B", "A:B"]).flows] == ["A->C", "A->B"]


def refusing(stage, at):
    """Have the digests of one flow be refused as a mistake of the configuration."""
    digest = stage.digests_made.digest

    def refused(plan, side, folder):
        if plan.flow == at:
            raise ConfigurationError([Problem("cluster C", "", "Kafka's Java client rejects its properties")])
        return digest(plan, side, folder)

    stage.digests_made.digest = refused


@pytest.mark.parametrize("refused", ["A->B", "A->C"])
def test_a_mistake_in_one_of_two_flows_leaves_the_other_and_is_status_2(stage, refused):
    found = stage({("orders", 0): mirrored(drop_at=10)}, config=TWO_FLOWS)
    refusing(found, refused)
    path, heard = found.folder / "result.json", []
    object.__setattr__(found.session, "outlets", (lambda _session, document: heard.append(document) or 0,))
    assert run(found, json_file=path) == 2
    document = found.read_json(path)
    assert [(one["flow"], one["status"]) for one in document["runs"]] == [
        (flow, 2 if flow == refused else 1) for flow in ("A->B", "A->C")
    ]
    assert heard == [document]
    assert f"{refused}: nothing compared cluster C: Kafka's Java client rejects its properties" in found.said
    assert found.said.rstrip().endswith("invalid configuration or input; see the reason above.")
    assert found.logs_kept == 0


def test_a_mistake_in_the_only_flow_ends_it(stage):
    found = stage({("orders", 0): mirrored()})
    refusing(found, "A->B")
    with pytest.raises(ConfigurationError):
        run(found)


def test_what_java_said_is_kept_where_one_of_two_flows_fails(stage):
    found = stage({("orders", 0): mirrored()}, config=TWO_FLOWS)
    found.digests_made.failing = [UnavailableError("Spark lost it")]
    assert run(found) == 4
    assert found.logs_kept == 1


@pytest.mark.parametrize(("names", "others"), [(["orders"], 1), (["orders", "audit"], 1)])
def test_named_topics_of_a_flow_are_compared_though_another_one_s_cluster_is_away(stage, names, others):
    found = stage({("orders", 0): mirrored(drop_at=10), ("audit", 0): mirrored()}, config=TWO_FLOWS)
    found.connects.away = {"C"}
    path = found.folder / "result.json"
    assert run(found, *names, json_file=path) == 1
    assert [(one["flow"], one["status"]) for one in found.read_json(path)["runs"]] == [
        ("A->B", others),
        ("A->C", 4),
    ]
    assert "A->C: nothing compared cluster C: no broker answers" in found.said


def test_a_name_is_unknown_only_where_every_flow_could_be_asked(stage):
    found = stage({("orders", 0): mirrored()}, config=TWO_FLOWS)
    found.connects.away = {"C"}
    assert run(found, "nothing") == 4  # it may be a topic of A->C
    found.connects.away = set()
    with pytest.raises(ConfigurationError, match="no topic on A matches 'nothing'"):
        run(found, "nothing")


@pytest.mark.parametrize(("pattern", "sentence"), [("(", "a group is not closed"), (" ", "empty pattern")])
def test_a_pattern_that_is_none_is_refused_before_any_cluster_is_asked(stage, pattern, sentence):
    found = stage({("orders", 0): mirrored()}, config=TWO_FLOWS)
    found.connects.away = {"A", "B", "C"}
    with pytest.raises(ConfigurationError, match=f"--topic: .*{sentence}"):
        found.chosen(pattern)
