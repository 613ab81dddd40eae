"""Several flows in one command: one that would read more than it may is refused, and the others are worked on."""

from __future__ import annotations

import pytest

from fleet.errors import ConfigurationError, Problem
from mirrorwatch.checksums.counts import count_all
from mirrorwatch.checksums.plan import make_plans
from mirrorwatch.checksums.run import run_all
from tests.mirrorwatch.checksum_kept import KeptDigests, lossy
from tests.mirrorwatch.checksum_stage import Stage
from tests.mirrorwatch.checksums.test_counts import PretendCounting
from tests.mirrorwatch.checksums.test_run import TWO_FLOWS, mirrored

ONE_IS_BIG = TWO_FLOWS.replace('A->B: {topics: ".*"}', "A->B: {topics: small}").replace(
    'A->C: {topics: "orders"}', "A->C: {topics: big}"
)
MAX_BYTES = 20_000
TOO_MUCH = (
    r"the plan of A->C reads about .* of one side, more than max_bytes \(20 kB\); name fewer topics, or raise"
)


@pytest.fixture
def stage(tmp_path, monkeypatch):
    def made(work=run_all):
        mirrors = {("small", 0): lossy(), ("big", 0): mirrored(5000)}
        found = Stage(tmp_path, mirrors, monkeypatch, config=ONE_IS_BIG, max_bytes=MAX_BYTES)
        found.digests_made = KeptDigests(found) if work is run_all else PretendCounting(found)
        return found

    return made


@pytest.mark.parametrize("work", [run_all, count_all])
def test_one_flow_beyond_max_bytes_is_told_by_its_name_and_the_others_are_worked_on(stage, work):
    found = stage(work)
    path = found.folder / "result.json"
    assert work(found.session, found.chosen(), spark=found, json_file=path) == 2
    small, big = found.read_json(path)["runs"]
    assert (small["flow"], small["status"], small["findings"]["count"]) == ("A->B", 1, 1)
    assert (big["flow"], big["status"]) == ("A->C", 2)
    assert "the plan of A->C reads about" in big["failure"]
    assert f"A->C: nothing compared {found.config.path}: checksum.max_bytes: the plan of A->C" in found.said
    assert "FAILED: invalid configuration or input; see the reason above." in found.said


@pytest.mark.parametrize("topics", [(), ("small", "big")])
@pytest.mark.parametrize("work", [run_all, count_all])
def test_one_flow_whose_client_is_refused_is_told_and_the_others_are_worked_on(stage, work, topics):
    found = stage(work)
    admin = found.connects.admin

    async def refusing(alias, stack):
        if alias == "C":
            raise ConfigurationError([Problem("mm2.properties", "C.ssl.truststore.location", "is gone")])
        return await admin(alias, stack)

    found.connects.admin = refusing
    path = found.folder / "result.json"
    assert work(found.session, found.chosen(*topics), spark=found, json_file=path) == 2
    assert [(one["flow"], one["status"]) for one in found.read_json(path)["runs"]] == [
        ("A->B", 1),
        ("A->C", 2),
    ]
    assert "A->C: nothing compared mm2.properties: C.ssl.truststore.location: is gone" in found.said
    assert make_plans(found.session, found.chosen(), out=None, json_file=None) == 2


@pytest.mark.parametrize("work", [run_all, count_all])
def test_a_run_that_is_refused_is_over(stage, work):
    first = stage(work)
    assert work(first.session, first.chosen(), spark=first, json_file=None) == 2
    alone = stage(work)
    with pytest.raises(ConfigurationError, match=TOO_MUCH):  # no run of the flow is on
        work(alone.session, alone.chosen(flows=["A:C"]), spark=alone, json_file=None)
