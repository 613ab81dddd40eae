"""What a killed command wrote and did not tell is told by the next one, with its status, and then no more."""

from __future__ import annotations

from contextlib import closing
from sqlite3 import connect

import pytest

from checksum.history.entries import RunRow
from fleet.errors import ConfigurationError, UnavailableError
from mirrorwatch.audits.earlier_runs import found_text
from mirrorwatch.checksums.counts import count_all
from mirrorwatch.checksums.results.reporting import NotReported
from tests.checksum.pretend_mirror import Mirrored
from tests.mirrorwatch.checksum_kept import LOST_AT, documents, kept_stage, killed_at, lossy, run
from tests.mirrorwatch.checksum_stage import CONFIG

TWO_FLOWS = CONFIG.replace("flows:", '  C: {bootstrap.servers: "c:1"}\nflows:\n  A->C: {topics: ".*"}')


@pytest.fixture
def stage(tmp_path, monkeypatch):
    return lambda mirrors=None, **more: kept_stage(tmp_path, monkeypatch, mirrors, **more)


def heard_by(stage, status=0):
    """Have an outlet take the documents that are told, and return the list of them."""
    heard = []
    outlet = lambda _session, document: heard.append(document) or status  # noqa: E731
    object.__setattr__(stage.session, "outlets", (outlet,))
    return heard


def test_the_next_run_reports_what_a_killed_one_wrote(stage, tmp_path):
    killed_at(tmp_path, "written")
    found = stage()
    heard, path = heard_by(found), tmp_path / "result.json"
    assert run(found, json_file=path) == 1
    early, document = heard
    assert (early["status"], early["runs"]) == (1, document["runs"][:1])
    assert found.read_json(path) == document
    first, second = document["runs"]
    assert first == documents(tmp_path)[0]
    assert [(one["status"], one["findings"]["count"]) for one in (first, second)] == [(1, 1), (0, 0)]
    assert document["status"] == 1
    assert "A->B: the run that ended " in found.said
    assert f"was not reported: 1 difference lost: orders [0]: record at offset {LOST_AT} on A" in found.said
    assert "FAILED: source and target differ; see the findings above." in found.said
    assert "each is reported once" not in found.said


def test_it_is_reported_once(stage, tmp_path):
    killed_at(tmp_path, "written")
    assert run(stage()) == 1
    again = stage()
    heard = heard_by(again)
    assert run(again) == 0
    assert [len(one["runs"]) for one in heard] == [1]
    assert "was not reported" not in again.said


def test_a_run_that_reported_is_not_reported_by_the_next(stage, tmp_path):
    assert run(stage()) == 1
    again = stage()
    assert run(again) == 0
    assert "found 1 difference; each is reported once" in again.said


def test_a_kill_before_the_outlets_have_it_leaves_it_to_the_next(stage, tmp_path):
    killed_at(tmp_path, "outlets")
    assert run(stage()) == 1


def test_it_is_reported_before_hours_of_work_and_again_where_those_end_as_the_first_did(stage, tmp_path):
    killed_at(tmp_path, "written")
    one = lossy()
    one.write(50)
    one.copy()
    one.flush()
    path = tmp_path / "result.json"
    for _ in range(2):
        found = stage({("orders", 0): one})
        heard = heard_by(found)
        found.digests_made.failing = [KeyboardInterrupt()]
        with pytest.raises(KeyboardInterrupt):
            run(found, json_file=path)
        assert [len(document["runs"]) for document in heard] == [1]
        assert found.read_json(path)["status"] == 1
    assert run(stage({("orders", 0): one})) == 1


def test_its_finding_outlives_a_cluster_that_is_away(stage, tmp_path):
    killed_at(tmp_path, "written")
    found = stage()
    found.connects.away = {"B"}
    heard = heard_by(found)
    assert run(found) == 1
    assert [one["status"] for one in heard[-1]["runs"]] == [1, 4]
    assert "A->B: nothing compared cluster B: no broker answers" in found.said
    away = stage()
    away.connects.away = {"B"}
    with pytest.raises(UnavailableError):  # nothing is left to tell
        run(away)


def test_its_finding_outlives_a_reading_that_fails(stage, tmp_path):
    killed_at(tmp_path, "written")
    one = lossy()
    one.write(50)
    one.copy()
    one.flush()
    found = stage({("orders", 0): one})
    found.digests_made.failing = [UnavailableError("Spark is gone")]
    assert run(found) == 1
    assert "Spark is gone" in found.said


def more_to_read():
    """Return what `lossy` does, with more records since, so that a run has something to plan."""
    one = lossy()
    one.write(50)
    one.copy()
    one.flush()
    return {("orders", 0): one}


@pytest.mark.parametrize(
    ("topics", "settings", "said"),
    [
        (["nothing"], {}, "no topic on A matches 'nothing'"),
        ([], {"max_bytes": 10}, "the plan of A->B reads about"),
    ],
)
def test_a_command_that_is_refused_reports_it_with_its_refusal_and_none_reports_it_again(
    stage, tmp_path, topics, settings, said
):
    killed_at(tmp_path, "written")
    found, path = stage(more_to_read(), **settings), tmp_path / "result.json"
    heard = heard_by(found)
    assert run(found, *topics, json_file=path) == 2
    assert heard[-1] == found.read_json(path)
    late, refused = heard[-1]["runs"]
    assert (late["status"], late["findings"]["count"], refused["status"]) == (1, 1, 2)
    assert said in refused["failure"]
    again = stage(more_to_read(), **settings)
    heard = heard_by(again)
    with pytest.raises(ConfigurationError, match=said):
        run(again, *topics)
    assert (heard, again.said) == ([], "")


def test_a_command_that_is_refused_before_it_reported_it_leaves_it_to_the_next(stage, tmp_path):
    killed_at(tmp_path, "written")
    with pytest.raises(ConfigurationError, match=r"--json: folder .* does not exist"):
        run(stage(), json_file=tmp_path / "gone" / "result.json")
    assert run(stage()) == 1


def test_of_a_run_whose_differences_were_not_distinguished_the_next_one_shows_so(stage, tmp_path):
    assert run(stage()) == 1
    with closing(connect(tmp_path / "mirrorwatch.db")) as store, store:
        store.execute("UPDATE checksum_runs SET findings = 0")
    again = stage()
    assert run(again) == 0
    assert "found unresolved differences; each is reported once." in again.said


@pytest.mark.parametrize("step", ["service", "written"])
def test_the_service_hears_of_it_also_where_the_next_run_reports_none(stage, tmp_path, step):
    killed_at(tmp_path, step)
    heard = []

    def telling():
        found = stage()
        object.__setattr__(found.session, "service", heard.append)
        return found

    if step == "service":
        assert run(stage()) == 1
    assert run(telling()) == (0 if step == "service" else 1)
    assert [one["status"] for one in heard] == [1, 0]
    assert run(telling()) == 0
    assert len(heard) == 3


def test_a_service_that_is_away_then_is_owed_what_a_command_without_one_found(stage, tmp_path):
    killed_at(tmp_path, "written")
    found = stage()
    object.__setattr__(found.session, "service", lambda _document: NotReported("nobody is there"))
    assert run(found) == 1
    heard = []
    found = stage()
    object.__setattr__(found.session, "service", heard.append)
    assert run(found) == 0
    assert [one["status"] for one in heard] == [1, 0, 0]


def test_another_flow_s_run_does_not_report_it(stage, tmp_path):
    killed_at(tmp_path, "written")
    other = stage(config=TWO_FLOWS)
    object.__setattr__(other, "chosen", lambda *_topics: other.session.chosen(["A:C"], (), everything=True))
    assert run(other) == 1
    assert "A->B" not in other.said
    assert run(stage()) == 1


def test_a_count_leaves_it_to_the_next_run(stage, tmp_path):
    killed_at(tmp_path, "written")
    found = stage()
    count_all(found.session, found.chosen(), spark=found, json_file=None)
    assert "was not reported" not in found.said
    assert run(stage()) == 1


def test_of_a_document_that_cannot_be_read_the_status_is_reported(stage, tmp_path):
    killed_at(tmp_path, "written")
    with closing(connect(tmp_path / "mirrorwatch.db")) as store, store:
        store.execute("UPDATE checksum_runs SET document = x'00'")
    found = stage()
    heard = heard_by(found)
    assert run(found) == 1
    assert "was not reported, and cannot be read any more" in found.said
    assert [(one["status"], "run" in one) for one in heard[-1]["runs"]] == [(1, False), (0, True)]
    assert run(stage()) == 0


@pytest.mark.parametrize(
    ("status", "said"), [(0, "nothing new"), (3, "no difference in 0 records, but not everything")]
)
def test_a_run_that_compared_nothing_is_reported_as_one(status, said):
    row = RunRow("r", "A->B", "p", "", 0, 0, status, False, 1.0, 0, 0, 0)
    assert found_text(row).startswith(said)


def test_a_healthy_run_that_was_not_reported_shows_so(stage, tmp_path):
    killed_at(tmp_path, "written")
    with closing(connect(tmp_path / "mirrorwatch.db")) as store, store:
        store.execute("UPDATE checksum_runs SET status = 3, findings = 0")
    healthy = Mirrored(lag_max=10)
    healthy.write(200)
    healthy.copy()
    healthy.flush()
    found = stage({("orders", 0): healthy})
    assert run(found) == 3
    said = "was not reported: no difference in 200 records, but not everything could be verified"
    assert said in found.said
