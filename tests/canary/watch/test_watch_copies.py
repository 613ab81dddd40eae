"""Copies that tell no probe any more, and probes that wait: what the watch keeps of them."""

from canary.tracker.stamp import Corrupted
from canary.watch.watch import Instant
from fleet.verdicts.evidence import FindingKind
from tests.canary.pretend_link import S
from tests.canary.watch.test_watch import Watched, changed

BEGAN_AT = 1_790_000_000.0
NAMELESS = Corrupted(None, "the value differs from the value sent")


def instant(at_s: float) -> Instant:
    return Instant(int(at_s * S), BEGAN_AT + at_s)


def test_copies_with_and_without_a_name_are_findings_of_their_own():
    watched = Watched()
    for number in range(2):
        watched.send(number, number / 10)
        watched.record(changed(number), 0.5)
        watched.record(NAMELESS, 0.6)
    found = watched.evidence(1).findings
    assert [(one.kind, one.named, one.count) for one in found] == [
        (FindingKind.ALTERED, True, 2),
        (FindingKind.ALTERED, False, 2),
    ]


def test_a_probe_waits_once_it_is_half_way_to_its_threshold_and_until_it_comes():
    watched = Watched()
    threshold_s = watched.watch.threshold_s
    watched.send(0, 0)
    assert not watched.watch.waits(instant(threshold_s / 2))
    assert watched.watch.waits(instant(threshold_s / 2 + 0.1))
    watched.arrive(0, threshold_s + 0.2)
    assert not watched.watch.waits(instant(threshold_s + 9))
