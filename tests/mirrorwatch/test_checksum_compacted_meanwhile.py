"""A topic that is set to be compacted while it is compared: what the cleaner takes then is not lost."""

from __future__ import annotations

from functools import partial

import pytest

from fleet.errors import UnavailableError
from tests.checksum.pretend_mirror import MARKER, Mirrored
from tests.mirrorwatch.checksum_kept import documents, kept_stage, run


@pytest.fixture
def stage(tmp_path, monkeypatch):
    return partial(kept_stage, tmp_path, monkeypatch, {("orders", 0): mirrored()})


def mirrored():
    """Return a partition whose 200 records are of five keys."""
    one = Mirrored(lag_max=10)
    for number in range(200):
        one.write(key=b"k%d" % (number % 5))
    one.copy()
    one.flush()
    return one


def compact(stage, *, side="target", cleaned=150):
    """Set a topic to be compacted on one side, and have that side's cleaner pass."""
    clusters = stage.clusters
    admin, name = (clusters.a, "orders") if side == "source" else (clusters.b, "A.orders")
    admin.settings[name] = {"cleanup.policy": "compact,delete"}
    orders = clusters.mirrors["orders", 0]
    log = orders.source if side == "source" else orders.target
    log.records[:cleaned] = [MARKER] * cleaned


def at_the_digest_of(stage, which, act):
    digest = stage.digests_made.digest

    def acting(plan, side, folder):
        if side == which:
            act()
        return digest(plan, side, folder)

    stage.digests_made.digest = acting


@pytest.mark.parametrize(("side", "name"), [("source", "A: topic orders"), ("target", r"B: topic A\.orders")])
def test_meanwhile_it_ends_the_run_and_the_next_one_plans_anew(stage, tmp_path, side, name):
    found = stage()
    at_the_digest_of(found, "target", lambda: compact(found, side=side))
    told = (
        rf"cluster {name} became compacted after the plan was made \(cleanup\.policy=compact,delete\);"
        " plan again"
    )
    with pytest.raises(UnavailableError, match=told):
        run(found)
    assert run(found) == 0
    assert "resuming plan" not in found.said
    assert documents(tmp_path)[-1]["records"]["lost"] == 0


def test_between_the_looks_it_ends_the_run(stage):
    found = stage()
    found.clusters.mirrors["orders", 0].target.records[40] = MARKER
    object.__setattr__(found.session, "pause", lambda _seconds: compact(found, cleaned=60))
    with pytest.raises(UnavailableError, match="became compacted after the plan was made"):
        run(found)


def test_before_a_run_is_typed_again_it_has_it_plan_again(stage, tmp_path):
    found = stage()

    def killed():
        raise KeyboardInterrupt

    at_the_digest_of(found, "target", killed)
    with pytest.raises(KeyboardInterrupt):
        run(found)
    compact(found)
    del found.digests_made.digest
    assert run(found) == 0
    assert "resuming plan" not in found.said
    assert documents(tmp_path)[-1]["records"]["match"] == 200


def test_what_was_planned_for_as_compacted_may_stay_so(stage):
    found = stage()
    compact(found)
    assert run(found) == 0
