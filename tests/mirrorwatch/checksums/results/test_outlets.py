"""A page and a service take what was found; an outlet that fails hides no finding."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from sqlite3 import connect

import pytest

from checksum.history.history import ChecksumHistory
from fleet.errors import ConfigurationError, UnavailableError
from mirrorwatch.checksums import flows as checksum_flows
from mirrorwatch.checksums.counts import count_all
from mirrorwatch.checksums.results import outlets as checksum_outlets
from mirrorwatch.checksums.results.outlets import Delivery, deliver, outlets, service_at
from mirrorwatch.checksums.results.reporting import NotReported, RunRejectedError
from mirrorwatch.checksums.run import run_all
from mirrorwatch.checksums.session import write_json
from tests.mirrorwatch.checksum_stage import Stage
from tests.mirrorwatch.checksums.test_counts import PretendCounting
from tests.mirrorwatch.checksums.test_run import TWO_FLOWS, mirrored
from tests.mirrorwatch.markup import Markup

URL = "http://127.0.0.1:9699"
TOKEN = {"MIRRORWATCH_TOKEN": "sesame"}


@pytest.fixture
def stage(tmp_path, monkeypatch):
    def made(*, page=None, url=None, drop_at=None):
        found = Stage(tmp_path, {("orders", 0): mirrored(drop_at=drop_at)}, monkeypatch)
        object.__setattr__(found.session, "outlets", outlets(page))
        object.__setattr__(found.session, "service", service_at(url, TOKEN))
        return found

    return made


@pytest.fixture
def told(monkeypatch):
    """What the service was told, and the error with which it answers."""
    heard, errors = [], []

    async def tell(url, document, environ):
        heard.append((url, document, dict(environ)))
        if errors:
            raise errors[0]

    monkeypatch.setattr(checksum_outlets, "tell", tell)
    return heard, errors


def run(stage):
    return run_all(stage.session, stage.chosen(), spark=stage, json_file=None)


def test_the_page_shows_what_was_found(stage, tmp_path):
    path = tmp_path / "page.html"
    found = stage(page=path, drop_at=10)
    assert run(found) == 1
    page = Markup(path.read_text())
    assert "FAILED: A → B, 1 lost in 200 records" in page.text
    assert "not found among the records compared on B" in page.text


@pytest.mark.parametrize(("drop_at", "status"), [(None, 4), (10, 1)])
def test_a_page_that_cannot_be_written_hides_nothing(stage, tmp_path, drop_at, status):
    path = tmp_path / "page.html"
    found = stage(page=path, drop_at=drop_at)
    path.mkdir()
    assert run(found) == status
    assert found.said.endswith("page.html: cannot write: is a directory. The result is printed above. ")


def test_the_service_is_told_of_each_run(stage, told):
    found = stage(url=URL, drop_at=10)
    assert run(found) == 1
    ((url, document, environ),) = told[0]
    assert (url, environ) == (URL, TOKEN)
    assert (document["flow"], document["status"], document["findings"]["count"]) == ("A->B", 1, 1)
    assert len(document["run"]) == 32


@pytest.mark.parametrize(("drop_at", "status"), [(None, 4), (10, 1)])
def test_a_service_that_cannot_be_told_is_the_last_line_and_hides_nothing(stage, told, drop_at, status):
    told[1].append(UnavailableError("cannot report the run: nothing listens there"))
    found = stage(url=URL, drop_at=drop_at)
    assert run(found) == status
    last = "A->B: cannot report the run: nothing listens there. The result is printed above. "
    assert found.said.endswith(last)


def test_a_flow_that_was_not_compared_is_none_to_tell_of(stage, told):
    found = stage(url=URL)
    document = {"version": 1, "status": 4, "runs": [{"flow": "A->C", "status": 4, "failure": "away"}]}
    assert deliver(found.session, None, document, 4) == (4, Delivery())
    assert told[0] == []


@pytest.mark.parametrize(
    ("page", "url", "environ", "sentence"),
    [
        ("/no/such/folder/page.html", None, TOKEN, "--page: folder /no/such/folder does not exist"),
        (None, "invalid address", TOKEN, "--post: "),
        (None, URL, {}, "MIRRORWATCH_TOKEN in the environment is not set"),
    ],
)
def test_what_could_never_be_used_is_refused_before_any_work(tmp_path, page, url, environ, sentence):
    with pytest.raises(ConfigurationError, match=sentence):
        (outlets(Path(page) if page else None), service_at(url, environ))


def test_a_run_that_cannot_be_told_leaves_the_others(stage, told, monkeypatch):
    found, heard = stage(url=URL), []

    async def tell(_url, document, _environ):
        heard.append(document["flow"])
        if document["flow"] != "A->C":
            raise UnavailableError(f"no flow {document['flow']} there")

    monkeypatch.setattr(checksum_outlets, "tell", tell)
    runs = [{"flow": flow, "run": flow, "status": 0} for flow in ("A->B", "A->C", "B->A")]
    told = {"version": 1, "status": 0, "runs": runs}
    assert deliver(found.session, None, told, 0) == (4, Delivery(frozenset({"A->C"}), away=True))
    assert heard == ["A->B", "A->C", "B->A"]
    object.__setattr__(found.session, "service", lambda _run: NotReported("is it running?"))
    deliver(found.session, None, told, 0, done={"B->A"})
    assert "A->C: is it running? The result is printed above." in found.said
    assert "A->B: no flow A->B there. The result is printed above." in found.said
    assert "B->A: no flow B->A there. The result is printed above." in found.said


def test_a_service_that_was_away_is_told_by_the_next_run_once_and_without_a_new_finding(stage, told):
    heard, errors = told
    errors.append(UnavailableError("cannot report the run: nothing listens there"))
    assert run(stage(url=URL, drop_at=10)) == 1
    lost = heard.pop()[1]
    again = stage(url=URL, drop_at=10)
    assert run(again) == 4  # still away: told of the oldest that it is owed, and of the newest
    assert [one["status"] for _, one, _ in heard] == [1, 0]
    heard.clear()
    silent = stage(drop_at=10)
    assert run(silent) == 0
    errors.clear()
    back = stage(url=URL, drop_at=10)
    assert run(back) == 0
    assert "not fine" not in back.said.lower()
    assert heard[0][1] == lost
    assert [one["status"] for _, one, _ in heard] == [1, 0, 0]
    assert back.said.count(" is posted to the service now; it was not at its end.") == 2
    heard.clear()
    assert run(stage(url=URL, drop_at=10)) == 0
    assert len(heard) == 1


def test_a_service_that_is_away_again_is_told_of_no_more_of_what_it_is_owed(stage, told):
    heard, errors = told
    errors.append(UnavailableError("nothing listens there"))
    for _ in range(2):
        run(stage(url=URL))
    heard.clear()

    found = stage(url=URL)
    assert run(found) == 4
    assert len(heard) == 2
    assert heard[0][1]["run"] != heard[1][1]["run"]
    assert "nothing listens there. A later run with --post posts it." in found.said


def test_a_service_that_comes_back_meanwhile_is_told_all_at_the_end(stage, told, monkeypatch):
    heard, errors = told
    errors.append(UnavailableError("nothing listens there"))
    for _ in range(2):
        run(stage(url=URL, drop_at=10))
    heard.clear()
    found = stage(url=URL, drop_at=10)
    plans_of = checksum_flows.plans_of
    monkeypatch.setattr(checksum_flows, "plans_of", lambda *a, **k: errors.clear() or plans_of(*a, **k))
    assert run(found) == 0
    assert [one["status"] for _, one, _ in heard] == [1, 0, 1, 0]  # in vain; then this run, and both before


def test_a_run_that_is_refused_for_good_keeps_the_service_from_no_other(stage, told):
    heard, errors = told
    errors.append(UnavailableError("nothing listens there"))
    for _ in range(3):
        run(stage(url=URL, drop_at=10))
    first = heard[0][1]["run"]
    heard.clear()

    async def tell(_url, document, _environ):
        if document["run"] == first:
            raise RunRejectedError("HTTP 400: version is 0, and this service reads 1")
        heard.append(document["run"])

    found = stage(url=URL, drop_at=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checksum_outlets, "tell", tell)
        assert run(found) == 4
        assert len(heard) == 3
        assert (
            "this service reads 1. Mirrorwatch will not report it again: fix the cause, then post"
            in found.said
        )
        assert run(stage(url=URL, drop_at=10)) == 0
    assert len(heard) == 4


def test_a_flow_that_the_service_has_not_keeps_it_from_no_other_flow(tmp_path, told, monkeypatch):
    heard, errors = told
    errors.append(UnavailableError("nothing listens there"))

    def made():
        found = Stage(tmp_path, {("orders", 0): mirrored(drop_at=10)}, monkeypatch, config=TWO_FLOWS)
        object.__setattr__(found.session, "service", service_at(URL, TOKEN))
        return found

    assert run(made()) == 1
    lost = {one["flow"]: one["run"] for _, one, _ in heard}

    async def tell(_url, document, _environ):
        if document["flow"] == "A->C":
            raise RunRejectedError("HTTP 404: there is no flow 'A->C' here")
        heard.append(document["run"])

    heard.clear()
    monkeypatch.setattr(checksum_outlets, "tell", tell)
    assert run(made()) == 4
    assert lost["A->B"] in heard
    heard.clear()
    again = made()
    assert run(again) == 4  # of its own run of A->C
    assert len(heard) == 1
    assert again.said.count("there is no flow 'A->C' here") == 1


def test_what_is_owed_is_told_also_where_the_flow_s_cluster_is_away(stage, told):
    heard, errors = told
    errors.append(UnavailableError("nothing listens there"))
    assert run(stage(url=URL, drop_at=10)) == 1
    heard.clear()
    errors.clear()
    found = stage(url=URL, drop_at=10)
    found.connects.away = {"B"}
    with pytest.raises(UnavailableError, match="cluster B: no broker answers"):
        run(found)
    assert [one["status"] for _, one, _ in heard] == [1]


def test_of_what_is_owed_one_document_is_read_at_a_time(stage, told, monkeypatch):
    told[1].append(UnavailableError("nothing listens there"))
    for _ in range(3):
        run(stage(url=URL))
    came = []
    read = ChecksumHistory.run_to_report

    async def reading(history, asked):
        came.append("read")
        return await read(history, asked)

    async def tell(_url, _document, _environ):
        came.append("told")

    monkeypatch.setattr(ChecksumHistory, "run_to_report", reading)
    run(stage(url=URL))
    assert came == ["read"]  # nobody is there, and no other one is looked for
    came.clear()
    monkeypatch.setattr(checksum_outlets, "tell", tell)
    run(stage(url=URL))
    assert came[:4] == ["read", "told"] * 2


def test_a_document_that_is_owed_and_cannot_be_read_is_said_once(stage, told, tmp_path):
    heard, errors = told
    errors.append(UnavailableError("nothing listens there"))
    run(stage(url=URL))
    errors.clear()
    heard.clear()
    with closing(connect(tmp_path / "mirrorwatch.db")) as store, store:
        store.execute("UPDATE checksum_runs SET document = x'00'")
    found = stage(url=URL)
    assert run(found) == 4
    assert " was not posted, and cannot be read any more. Mirrorwatch will not report it again" in found.said
    assert run(stage(url=URL)) == 0
    assert len(heard) == 2


def test_a_count_that_was_killed_before_it_told_the_service_is_told_by_the_next_run(stage, told):
    heard, errors = told
    errors.append(KeyboardInterrupt())
    found = stage(url=URL)
    found.digests_made = PretendCounting(found)
    with pytest.raises(KeyboardInterrupt):
        count_all(found.session, found.chosen(), spark=found, json_file=None)
    errors.clear()
    assert run(stage()) == 0
    heard.clear()
    assert run(stage(url=URL)) == 0
    assert [one["counts_only"] for _, one, _ in heard] == [True, False]


@pytest.mark.parametrize(("status", "expected"), [(0, 4), (1, 1), (2, 2), (3, 4), (4, 4)])
@pytest.mark.parametrize("lacking", ["json", "outlet"])
def test_what_is_lacking_somewhere_is_4_but_for_a_finding_and_a_mistake(
    stage, tmp_path, lacking, status, expected
):
    found, path = stage(), None
    if lacking == "json":
        path = tmp_path / "there"
        path.mkdir()
    else:
        object.__setattr__(found.session, "outlets", (lambda *_told: 4, lambda *_told: 0))
    assert write_json(found.session, path, {"runs": []}, status) == expected
