"""A page and a service take what was found; an outlet that fails hides no finding."""

from __future__ import annotations

from pathlib import Path

import pytest

from fleet.errors import ConfigurationError, UnavailableError
from mirrorwatch import checksum_outlets
from mirrorwatch.checksum_desk import write_json
from mirrorwatch.checksum_outlets import hand_over, outlets, service_at
from mirrorwatch.checksum_run import run_all
from tests.mirrorwatch.checksum_stage import Stage
from tests.mirrorwatch.markup import Markup
from tests.mirrorwatch.test_checksum_run import mirrored

URL = "http://127.0.0.1:9699"
TOKEN = {"MIRRORWATCH_TOKEN": "sesame"}


@pytest.fixture
def stage(tmp_path, monkeypatch):
    def made(*, page=None, url=None, drop_at=None):
        found = Stage(tmp_path, {("orders", 0): mirrored(drop_at=drop_at)}, monkeypatch)
        object.__setattr__(found.desk, "outlets", outlets(page))
        object.__setattr__(found.desk, "service", service_at(url, TOKEN))
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
    return run_all(stage.desk, stage.chosen(), spark=stage, json_file=None)


def test_the_page_shows_what_was_found(stage, tmp_path):
    path = tmp_path / "page.html"
    found = stage(page=path, drop_at=10)
    assert run(found) == 1
    page = Markup(path.read_text())
    assert "Not fine: A → B, 1 lost in 200 records" in page.text
    assert "is not among the copies that were compared on B" in page.text


@pytest.mark.parametrize(("drop_at", "status"), [(None, 4), (10, 1)])
def test_a_page_that_cannot_be_written_hides_nothing(stage, tmp_path, drop_at, status):
    path = tmp_path / "page.html"
    found = stage(page=path, drop_at=drop_at)
    path.mkdir()
    assert run(found) == status
    assert found.said.endswith(
        "page.html could not be written: is a directory. What was found stands above. "
    )


def test_the_service_is_told_of_each_run(stage, told):
    found = stage(url=URL, drop_at=10)
    assert run(found) == 1
    ((url, document, environ),) = told[0]
    assert (url, environ) == (URL, TOKEN)
    assert (document["flow"], document["status"], document["findings"]["count"]) == ("A->B", 1, 1)
    assert len(document["run"]) == 32


@pytest.mark.parametrize(("drop_at", "status"), [(None, 4), (10, 1)])
def test_a_service_that_cannot_be_told_is_the_last_line_and_hides_nothing(stage, told, drop_at, status):
    told[1].append(UnavailableError("the run was not told: nothing listens there"))
    found = stage(url=URL, drop_at=drop_at)
    assert run(found) == status
    last = "A->B: the run was not told: nothing listens there. What was found stands above. "
    assert found.said.endswith(last)


def test_a_flow_that_was_not_compared_is_none_to_tell_of(stage, told):
    found = stage(url=URL)
    document = {"version": 1, "status": 4, "runs": [{"flow": "A->C", "status": 4, "failure": "away"}]}
    assert hand_over(found.desk, None, document, 4) == (4, frozenset())
    assert told[0] == []


@pytest.mark.parametrize(
    ("page", "url", "environ", "sentence"),
    [
        ("/no/such/folder/page.html", None, TOKEN, "--page: there is no folder /no/such/folder"),
        (None, "no address", TOKEN, "--tell: "),
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
    assert hand_over(found.desk, None, told, 0) == (4, {"A->B", "B->A"})
    assert heard == ["A->B", "A->C", "B->A"]
    object.__setattr__(found.desk, "service", lambda _run: "is it running?")
    hand_over(found.desk, None, told, 0)
    assert "A->C: is it running? What was found stands above." in found.said
    assert "A->B: no flow A->B there. What was found stands above." in found.said
    assert "B->A: no flow B->A there. What was found stands above." in found.said


def test_a_service_that_was_away_is_told_by_the_next_run_once_and_without_a_new_finding(stage, told):
    heard, errors = told
    errors.append(UnavailableError("the run was not told: nothing listens there"))
    assert run(stage(url=URL, drop_at=10)) == 1
    lost = heard.pop()[1]
    again = stage(url=URL, drop_at=10)
    assert run(again) == 4  # still away: asked once more of the newest run, and not of those before it
    assert [one["flow"] for _, one, _ in heard] == ["A->B"]
    heard.clear()
    silent = stage(drop_at=10)
    assert run(silent) == 0
    errors.clear()
    back = stage(url=URL, drop_at=10)
    assert run(back) == 0
    assert "not fine" not in back.said.lower()
    newest, *owed = [document for _, document, _ in heard]
    assert owed[0] == lost
    assert [one["status"] for one in (newest, *owed)] == [0, 1, 0]
    assert back.said.count(" was told to the service now; then it could not be.") == 2
    heard.clear()
    assert run(stage(url=URL, drop_at=10)) == 0
    assert len(heard) == 1


def test_a_service_that_is_away_again_is_told_of_no_more_of_what_it_is_owed(stage, told):
    heard, errors = told
    errors.append(UnavailableError("nothing listens there"))
    for _ in range(2):
        run(stage(url=URL))
    heard.clear()

    answers = iter([False, True])  # to this run; of the first one that is owed

    async def tell(_url, document, _environ):
        heard.append(document["run"])
        if next(answers):
            raise UnavailableError("nothing listens there")

    found = stage(url=URL)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(checksum_outlets, "tell", tell)
        assert run(found) == 4
    assert len(heard) == 2
    assert "nothing listens there. It is told by the next run that has --tell." in found.said


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
        object.__setattr__(found.desk, "outlets", (lambda *_told: 4, lambda *_told: 0))
    assert write_json(found.desk, path, {"runs": []}, status) == expected
