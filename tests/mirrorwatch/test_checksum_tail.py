"""`checksum run` at the end of the source's log, and after a source topic was re-created: all that is due counts."""

from __future__ import annotations

import pytest

from mirrorwatch.checksums.run import run_all
from tests.checksum.pretend_mirror import Mirrored
from tests.mirrorwatch.checksum_stage import CONFIG, Stage

MM2 = """\
clusters = A, B
A.bootstrap.servers = a:1
B.bootstrap.servers = b:1
A->B.enabled = true
A->B.topics = .*
B.offset.flush.interval.ms = 5000
{more}"""
FILTER = """\
transforms = quiet
transforms.quiet.type = org.apache.kafka.connect.transforms.Filter
"""
FROM_FILE = 'mm2: mm2.properties\nmirror_version: "4.3"\ncanary: {{mode: off, threshold: 1s, horizon: 15s}}\n'
LOST = 5


@pytest.fixture
def stage(tmp_path, monkeypatch):
    def made(mirrors, *, transforms=""):
        (tmp_path / "mm2.properties").write_text(MM2.format(more=transforms))
        return Stage(tmp_path, mirrors, monkeypatch, config=FROM_FILE.format())

    return made


def mirrored(count=50, *, tail=LOST):
    """Return a partition whose last records the mirror has not copied."""
    found = Mirrored(lag_max=10)
    found.write(count)
    found.copy()
    found.flush()
    found.write(tail)
    return found


def flowing(count=30):
    found = Mirrored(lag_max=10)
    found.write(count)
    found.copy()
    found.flush()
    return found


def goes_on(one):
    def step():
        one.write(3)
        one.copy()
        one.flush()

    return step


def result(stage):
    path = stage.folder / "result.json"
    status = run_all(stage.session, stage.chosen(), spark=stage, json_file=path)
    (run,) = stage.read_json(path)["runs"]
    return status, run


def counted(run):
    return {name: count for name, count in run["records"].items() if count}


def test_what_a_filter_drops_at_the_end_of_the_log_is_lost(stage):
    other = flowing()
    mirrors = {("orders", number): mirrored() for number in range(3)} | {("other", 0): other}
    for number in range(3):
        mirrors["orders", number].copy(drop=True)
    found = stage(mirrors, transforms=FILTER)
    found.while_waiting = [goes_on(other)] * 3
    status, run = result(found)
    assert (status, run["coverage"]) == (1, 1.0)
    assert counted(run) == {"match": 3 * 50 + other.source.end, "lost": 3 * LOST}
    assert {one["cause"] for one in run["findings"]["shown"]} == {"filtered"}
    assert [one["source_offsets"] for one in run["findings"]["shown"][:2]] == [[50, 51], [51, 52]]
    # The horizon and one offset flush.
    assert "A->B: Waiting up to 20 s for MirrorMaker to replicate 3 partitions." in found.said


def test_a_tail_that_comes_after_the_plan_was_made_is_not_lost(stage):
    other, late = flowing(), mirrored()
    found = stage({("orders", 0): late, ("other", 0): other}, transforms=FILTER)
    found.while_waiting = [goes_on(other)]
    digests = found.digests_made.digest

    def digest(plan, side, folder):
        yield from digests(plan, side, folder)
        late.copy()  # its task was slow, and is done with it now

    found.digests_made.digest = digest
    status, run = result(found)
    assert (status, counted(run).get("lost", 0), run["coverage"]) == (0, 0, 1.0)


@pytest.mark.parametrize(
    ("alive", "transforms", "why"),
    [
        (False, FILTER, "wrote no offset sync of any partition meanwhile: it is stopped, hung or idle"),
        (True, "", "is still at source offset 49 and replicates other partitions"),
    ],
)
def test_what_a_mirror_merely_owes_is_not_replicated_and_not_lost(stage, alive, transforms, why):
    other = flowing()
    found = stage({("orders", 0): mirrored(), ("other", 0): other}, transforms=transforms)
    found.while_waiting = [goes_on(other)] if alive else []
    status, run = result(found)
    assert status == 3
    assert "lost" not in counted(run)
    (left,) = [one for one in run["left_out"]["shown"] if not one["later"]]
    assert (left["topic"], left["records"]) == ("orders", LOST)
    assert why in left["why"]
    assert run["coverage"] == pytest.approx(1 - LOST / (50 + LOST + other.source.end))


def test_a_mirror_that_is_behind_owes_what_it_has_not_copied_yet(stage):
    slow = mirrored(tail=40)
    found = stage({("orders", 0): slow}, transforms=FILTER)
    found.while_waiting = [lambda: slow.copy(1)] * 30
    status, run = result(found)
    assert status == 3
    (left,) = [one for one in run["left_out"]["shown"] if not one["later"]]
    assert "MirrorMaker is behind" in left["why"]
    assert "lost" not in counted(run)


@pytest.mark.parametrize("behind", ["markers", "new"])
def test_what_is_benign_at_the_end_is_no_finding(stage, behind):
    one = flowing(50)
    if behind == "markers":
        one.mark()
        one.mark()
    found = stage({("orders", 0): one}, transforms=FILTER)
    if behind == "new":
        one.write(1)  # what is due, and is copied meanwhile
        found.while_waiting = [lambda: (one.copy(), one.flush(), one.write(7))]
    status, run = result(found)
    assert (status, run["coverage"], counted(run)) == (0, 1.0, {"match": 50 + (behind == "new")})
    assert run["not_due"] == (7 if behind == "new" else 0)
    assert ("; 7 records not due yet" in found.said) is (behind == "new")


def test_a_partition_of_which_nothing_was_ever_copied_is_lost_where_a_filter_may_drop_it(stage):
    other, never = flowing(), Mirrored(lag_max=10)
    never.write(20)
    never.copy(drop=True)
    found = stage({("orders", 0): never, ("other", 0): other}, transforms=FILTER)
    found.while_waiting = [goes_on(other)]
    status, run = result(found)
    assert (status, counted(run)["lost"], run["coverage"]) == (1, 20, 1.0)


@pytest.mark.parametrize("ids", [True, False])
def test_what_a_mirror_skips_of_a_re_created_topic_is_lost(stage, ids):
    """The row of the cases: 630 records of each partition, as N was 629 when the mirror was stopped."""
    mirrors = {}
    for number in range(3):
        one = mirrors["orders", number] = Mirrored()
        one.write(630)
        one.copy()
        one.flush()
        one.remake_source()
        one.write(900)
        one._begin()  # the mirror is started, and goes on at 630
        one.copy()
        one.flush()
        if not ids:
            one.pairs = [pair._replace(source_topic_id=None, target_topic_id=None) for pair in one.pairs]
    found = stage(mirrors)
    status, run = result(found)
    assert (status, run["coverage"]) == (1, 1.0)
    assert counted(run) == {"match": 3 * 270, "lost": 3 * 630}
    assert {one["cause"] for one in run["findings"]["shown"]} == {"topic_recreated"}
    assert "the topic was re-created on A" in run["findings"]["shown"][0]["sentence"]


def test_what_the_mirror_copied_of_the_new_topic_before_its_first_offset_sync_is_not_lost(stage):
    one = Mirrored()
    one.write(630)
    one.copy()
    one.flush()
    one.remake_source()
    one.write(900)
    one.copy()  # it was never stopped, so that its next offset sync comes after 100 records
    one.flush()
    status, run = result(stage({("orders", 0): one}))
    assert (status, counted(run)) == (1, {"match": 270, "lost": 630})


def test_the_usual_configuration_waits_for_the_horizon_and_the_worker_s_flush(tmp_path, monkeypatch):
    stage = Stage(tmp_path, {("orders", 0): mirrored()}, monkeypatch, config=CONFIG)
    (flow,) = stage.config.topology.flows
    assert stage.session.wait_policy(flow).longest_s == 60.0 + 60.0
