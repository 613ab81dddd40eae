"""What the intake makes of faults, of what is read again, and of what a producer could not deliver."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from canary.report import CollectorCounts
from canary.site.intake import Intake
from canary.site.probing import Tag
from canary.site.reader import Reader, alias_of
from canary.tracker.events import Acked, Refused, Scheduled, Sent, Skipped, TargetGap, TargetRead
from canary.tracker.plan import Attempt
from canary.tracker.stamp import Intact, Stamp, encode
from canary.watch.watch import Instant
from fleet.errors import RefusedError, UnavailableError
from runtime.kafka.sender import Delivered, NotDelivered, SenderFault
from runtime.kafka.tap import TapFault, TappedEnd, TappedRecord
from tests.runtime.fake_clock import FakeClock

ALIAS = "eu-tap-1"  # an alias may hold what parts the name of a tap


class Scene:
    """An intake of one cluster that is read and written; notes what it tells, in order."""

    def __init__(self):
        self.told, self.problems, self.settled, self.refusals = [], [], [], []
        self.told_target = []
        reader = Reader(SimpleNamespace(), alias=ALIAS, clock=FakeClock(), inbox=SimpleNamespace())
        reader.positions = {("c", 0): 0, ("d", 0): 0}
        self.tap = reader.tap_name
        self.counts = CollectorCounts()
        self.intake = Intake(
            "c",
            {ALIAS: SimpleNamespace(alias=ALIAS, reader=reader, counts=self.counts)},
            SimpleNamespace(
                by_source={},
                by_target={},
                deliver_to_source=self.deliver_to_source,
                deliver_to_target=lambda *told: self.told_target.append(told[:3]),
                now=lambda: Instant(0, FakeClock().wall_s()),
            ),
            SimpleNamespace(
                clear_refusal=lambda *_a: None,
                note_refusal=lambda *place: self.refusals.append(place),
                note_sent=lambda *_a: None,
                note_report=lambda *_a: None,
            ),
            reporter=SimpleNamespace(
                problem=lambda where, _sentence: self.problems.append(where), settled=self.settled.append
            ),
        )

    def deliver_to_source(self, _alias, event, _now):
        self.told.append(event)

    def fault(self, topic, error, *, tap=None):
        self.intake.take([TapFault(tap or self.tap, topic, error, lasting=False, at_ns=0)])

    def record(self, topic, offset):
        self.intake.take([TappedRecord(self.tap, topic, 0, offset, offset + 1, b"k", b"v", [], 0)])

    def end(self, topic, position):
        self.intake.take([TappedEnd(self.tap, topic, 0, position, 0)])


def test_the_name_of_a_tap_tells_its_cluster():
    assert alias_of(Scene().tap) == ALIAS


def test_where_nothing_was_complained_of_nothing_is_settled():
    scene = Scene()
    for offset in range(1000):
        scene.record("c", offset)
    scene.end("c", 1000)
    assert scene.settled == []
    assert scene.counts.last_success_at["tap"] == FakeClock().wall_s()


def test_headers_that_a_flow_adds_by_design_do_not_make_its_records_altered():
    scene = Scene()
    given = []
    flow = SimpleNamespace(name="A->B", source="A", added_headers=frozenset({"trace-id"}))
    scene.intake._dispatch.by_target[ALIAS, "c"] = [SimpleNamespace(flow=flow)]
    scene.intake._dispatch.deliver_to_flow = lambda _watched, seen, _now: given.append(seen.reading)
    sent = encode(Stamp("i", "0123456789abcdef", 0, "AAAA", "c", 0, 0))
    headers = [*sent.headers, ("trace-id", b"x")]
    scene.intake.take([TappedRecord(scene.tap, "c", 0, 0, 1, sent.key, sent.value, headers, 0)])
    assert [type(reading) for reading in given] == [Intact]


def test_records_that_are_no_probes_are_counted_and_probes_of_whatever_shape_are_not():
    scene = Scene()
    for offset in range(3):
        scene.record("c", offset)
    scene.record("d", 0)
    sent = encode(Stamp("i", "0123456789abcdef", 0, "AAAA", "c", 0, 0))
    probe = TappedRecord(scene.tap, "c", 0, 3, 4, sent.key, sent.value, list(sent.headers), 0)
    changed = TappedRecord(scene.tap, "c", 0, 4, 5, sent.key, b"another", list(sent.headers), 0)
    scene.intake.take([probe, changed])
    assert scene.counts.foreign_records == 4
    assert scene.problems == []


@pytest.mark.parametrize(
    ("offset", "deleted"), [(10, False), (11, False), (12, True), (50, True)], ids=lambda value: f"{value}"
)
@pytest.mark.parametrize("first", ["record", "end"])
def test_what_was_deleted_before_it_was_read_is_a_gap_whether_a_record_or_the_end_comes_first(
    first, offset, deleted
):
    """A step over one offset is a transaction's marker, and what waits for its proof goes on waiting."""
    scene = Scene()
    for number in range(10):
        scene.record("d", number)
    scene.told_target.clear()
    getattr(scene, first)("d", offset)
    gaps = [(ALIAS, "d", TargetGap(0, 0))] if deleted else []
    read = [(ALIAS, "d", TargetRead(0, offset, offset))] if first == "end" else []
    assert scene.told_target == gaps + read  # the gap first: the end would prove the absence of what is gone
    scene.told_target.clear()
    scene.record("d", offset + 1)
    assert scene.told_target == []


def test_the_markers_of_many_transactions_are_no_gap():
    scene = Scene()
    for number in range(0, 100, 2):
        scene.record("d", number)
        scene.end("d", number + 2)
    assert [one for *_, one in scene.told_target if isinstance(one, TargetGap)] == []


def test_an_older_tap_tells_of_no_gap():
    scene = Scene()
    scene.intake.take([TappedEnd(f"{ALIAS}-tap-7", "d", 0, 50, 0)])
    assert scene.told_target == []


@pytest.mark.parametrize("again", ["record", "end"])
def test_a_topic_that_is_read_again_is_settled_once_and_no_other(again):
    scene = Scene()
    scene.fault("c", UnavailableError("no leader"))
    scene.fault("d", RefusedError("not allowed"))
    assert scene.problems == [f"{ALIAS}: reading c", f"{ALIAS}: reading d"]
    assert scene.refusals == [(ALIAS, "d", "not allowed")]
    assert scene.counts.errors["tap"] == 2
    for offset in range(3):
        getattr(scene, again)("c", offset)
    assert scene.settled == [f"{ALIAS}: reading c"]
    scene.record("d", 0)
    assert scene.settled == [f"{ALIAS}: reading c", f"{ALIAS}: reading d"]


def test_a_fault_of_the_whole_tap_is_over_with_the_first_record_and_may_come_again():
    scene = Scene()
    for offset in range(2):
        scene.fault("", UnavailableError("no answer"))
        scene.record("d", 2 * offset)
        scene.record("d", 2 * offset + 1)
    assert scene.problems == scene.settled == [f"{ALIAS}: reading"] * 2


def test_what_an_older_tap_complains_of_is_no_complaint():
    scene = Scene()
    scene.fault("c", UnavailableError("no leader"), tap=f"{ALIAS}-tap-7")
    scene.record("c", 0)
    assert (scene.problems, scene.settled, scene.counts.errors["tap"]) == ([], [], 0)


@pytest.mark.parametrize(
    ("in_doubt", "ended", "told", "errors"),
    [
        (False, False, [Refused("id", 0, 5, "too large")], 1),
        (True, False, [], 1),  # the source's tap may still show it
        (False, True, [], 0),  # given up by ourselves
        (True, True, [], 0),
    ],
)
def test_only_what_is_certainly_not_in_the_log_is_told_as_refused(in_doubt, ended, told, errors):
    scene = Scene()
    error = RefusedError("too large")
    scene.intake.take([NotDelivered(Tag(ALIAS, "id", 0, 5), error, in_doubt, ended, 0)])
    assert scene.told == told
    assert scene.counts.errors["sender"] == errors
    assert scene.problems == [f"{ALIAS}: writing c"] * errors


def test_what_is_delivered_is_told_and_settles_writing_once_if_it_was_complained_of():
    scene = Scene()
    delivered = Delivered(Tag(ALIAS, "id", 0, 5), 9, 77)
    scene.intake.take([delivered])
    assert (scene.told, scene.settled) == ([Acked("id", 0, 5, 9, 77)], [])
    assert scene.counts.last_success_at["sender"] == FakeClock().wall_s()
    scene.intake.take([SenderFault(ALIAS, RefusedError("fenced"), 0), delivered, delivered])
    assert scene.problems == scene.settled == [f"{ALIAS}: writing c"]


def test_a_retry_of_what_was_written_already_is_left_to_the_source_s_tap():
    scene = Scene()
    scene.intake.take([SenderFault(ALIAS, RefusedError("fenced"), 0)])
    scene.intake.take([Delivered(Tag(ALIAS, "id", 0, 5), None, 77)])
    assert scene.told == []
    assert scene.settled == [f"{ALIAS}: writing c"]


@pytest.mark.parametrize(
    ("sent_ns", "ended"), [(70, Sent("id", 3, 5, 70)), (None, Skipped("id", 3, 5))], ids=["sent", "skipped"]
)
def test_an_attempt_is_a_probe_that_was_due_and_then_sent_or_skipped(sent_ns, ended):
    scene = Scene()
    scene.intake.take([Attempt(ALIAS, "id", 3, 5, 60, 1_790_000_000_000, sent_ns)])
    assert scene.told == [Scheduled("id", 3, 5, 60, 1_790_000_000_000), ended]
