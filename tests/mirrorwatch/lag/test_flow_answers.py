"""What the lag monitor answers becomes evidence, and how long it is believed; the answers are its own."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from fleet.verdicts.judgement import beside, judge
from fleet.verdicts.vocabulary import Cause, Verdict
from fleet.verdicts.words import HOLD_S
from lagmon.mirrors.answers import rows as mirror_rows
from lagmon.mirrors.tasks.states import Start, Trouble
from mirrorwatch.lag.evidence import MOST_LISTED, evidence_of
from mirrorwatch.lag.flow_answers import COUNTED_S, STALE_S, FlowAnswers
from tests.fleet.offsets import seen
from tests.mirrorwatch.answered import CANARY, Answered

NS = 1_000_000_000


class Scene:
    """A flow and a book that takes in an answer each ten seconds."""

    def __init__(self, **more):
        self.flow = Answered(**more)
        self.book = FlowAnswers(["A->B"])
        self.incarnation = 1
        self.flow.poll()

    def go(self, seconds, each=None):
        for _ in range(seconds // 10):
            self.flow.go(10, each=each)
            self.answer()
        return self

    def answer(self, documents=None):
        self.book.take(
            self.flow.documents() if documents is None else documents,
            incarnation=self.incarnation,
            now_at=self.flow.now_at,
            now_ns=self.flow.now * 1_000_000,
        )

    def evidence(self, later_s=0.0):
        return self.book.evidence("A->B", now_ns=self.flow.now * 1_000_000 + int(later_s * NS))


@pytest.fixture
def running():
    scene = Scene()
    for _ in range(2):  # looks at rest, which tell where copies end
        scene.go(10, scene.flow.copy_all).go(30)
    return scene.go(40, scene.flow.copy_all)


def overtaken(scene):
    """Let the mirror stand, and its source delete the next 40 records of a partition."""
    scene.go(20).go(60, scene.flow.copy_none)  # with a look at rest, which tells just where its copy ends
    scene.flow.starts["orders", 0] = 100
    return scene.go(10, scene.flow.copy_none)


def test_a_mirror_that_moves(running):
    found = running.evidence()
    assert (found.verdict, found.cause, found.findings, found.rows) == (Verdict.HEALTHY, None, (), ())
    assert found.sentence == running.flow.document()["sentence"]
    assert (found.lag_s, found.standing, found.moved[-1]) == (0.0, (), running.flow.now_at)


def test_a_flow_that_is_not_watched_by_its_offsets_has_none(running):
    assert running.book.evidence("B->A", now_ns=0) is None


def test_when_other_topics_moved_is_known_for_as_long_as_all_of_a_mirror_may_take_to_come_back(running):
    now_at = running.flow.now_at
    assert running.evidence().moved == tuple(now_at - ago_s for ago_s in (30, 20, 10, 0))
    assert running.go(40, running.flow.copy_none).evidence().moved == (now_at,)
    running.go(10, running.flow.copy_all)
    assert running.evidence().moved == (now_at, now_at + 50)


def test_a_mirror_that_stands_with_rows_to_check_by_hand(running):
    running.go(100, running.flow.copy_none)
    found = running.evidence()
    assert (found.verdict, found.cause) == (Verdict.STALLED, Cause.MIRROR_DOWN)
    assert found.standing == (CANARY, "orders")
    assert sorted((one.part, one.topic, one.partition, one.source_offset) for one in found.rows) == [
        ("lag", topic, number, 60) for topic in (CANARY, "orders") for number in (0, 1)
    ]
    assert {one.target_offset for one in found.rows} == {60}
    assert {one.at for one in found.rows} == {running.flow.now_at - 100}


def test_what_retention_overtook_is_lost_by_partition_and_counted(running):
    (found,) = overtaken(running).evidence().findings
    (listed,) = running.flow.document()["findings"]
    assert (found.verdict, found.cause, found.topic, found.partition) == (
        Verdict.LOSING,
        Cause.OVERTAKEN,
        "orders",
        0,
    )
    assert (found.records, found.first_offset, found.last_offset) == (40, 60, 99)
    assert (found.at, found.sentence) == (running.flow.now_at, listed["sentence"])
    assert (running.evidence().verdict, running.evidence().cause) == (Verdict.STALLED, Cause.MIRROR_DOWN)


def test_of_what_no_task_carries_the_evidence_is_of_what_stands_and_not_of_topics_that_wait(running):
    flow = running.flow

    def copy_but_one():
        for topic, number in list(flow.ends):
            moves = topic != "new" and (topic, number) != ("orders", 1)
            flow.write(1, topic, number, copied=moves)
            if moves:
                flow.commit(topic, number)

    places = ",".join(f"{topic}-{number}" for topic, number in flow.ends if (topic, number) != ("orders", 1))
    said = {"properties": {"task.assigned.partitions": places}}
    for key, value in (
        (b"task-MirrorSourceConnector-0", said),
        (b"commit-MirrorSourceConnector", {"tasks": 1}),
    ):
        flow.flow.assignments.take(key, json.dumps(value).encode(), flow.now)
    flow.flow.assignments.caught_up()
    running.go(60, copy_but_one)
    flow.a.note_topics({**flow.a.topics, "new": 1}, flow.now)
    flow.ends["new", 0] = 0
    running.go(10, copy_but_one)
    found = running.evidence()
    assert (found.verdict, found.cause) == (Verdict.STALLED, Cause.NOT_MIRRORED)
    assert "new" in [one["topic"] for one in flow.document()["missing"]]
    assert {(row.topic, row.partition) for row in found.rows} == {("orders", 1)}


def test_of_a_topic_that_waits_the_evidence_is_no_partition_that_is_copied_without_its_offset(running):
    flow = running.flow

    def all_copied():
        for topic, number in list(flow.ends):
            flow.write(1, topic, number, copied=topic != "new")
            if (topic, number) != ("orders", 1) and topic != "new":
                flow.commit(topic, number)

    flow.a.note_topics({**flow.a.topics, "new": 1}, flow.now)
    flow.b.note_topics({**flow.b.topics, "A.new": 1}, flow.now)
    flow.ends["new", 0] = 0
    running.go(1000, all_copied)
    document, found = flow.document(), running.evidence()
    assert [row["partition"] for row in document["worst"] if row["offsets_not_committing"]] == [1]
    assert (found.verdict, found.cause) == (Verdict.STALLED, Cause.NOT_MIRRORED)
    assert {(row.topic, row.partition) for row in found.rows} == {("new", None)}


@pytest.mark.parametrize(
    ("state", "task", "cause"),
    [
        ("PAUSED", None, Cause.PAUSED),
        ("STOPPED", None, Cause.PAUSED),
        ("FAILED", 0, Cause.TASK_FAILED),
    ],
)
def test_what_keeps_a_mirror_from_moving_is_reported_on_once_retention_has_overtaken_it(
    running, state, task, cause
):
    halted = Trouble(task, state, running.flow.now, "", Start.SEEN)

    def stands():
        running.flow.flow.states.take_rest([halted], running.flow.now)
        running.flow.copy_none()

    running.go(70, stands)
    assert running.evidence().cause is cause
    running.flow.starts["orders", 0] = 100
    running.go(10, stands)
    found = running.evidence()
    assert (running.flow.document()["cause"], found.verdict, found.cause) == (
        Cause.OVERTAKEN,
        Verdict.STALLED,
        cause,
    )
    assert [one.cause for one in found.findings] == [Cause.OVERTAKEN]
    assert found.sentence.count(f"is {state} since") == 1
    assert "Records lost: retention on" in found.sentence
    flow = seen(offsets=found)
    worst = judge(flow, now_at=running.flow.now_at)
    assert (worst.verdict, worst.cause) == (Verdict.LOSING, Cause.OVERTAKEN)


def test_while_it_is_counted_again_it_is_still_reported(running):
    overtaken(running)
    running.go(10, running.flow.copy_all)
    running.answer([running.flow.document() | {"findings": []}])
    assert [one.records for one in running.evidence().findings] == [40]
    running.go(10, running.flow.copy_all)
    assert len(running.evidence().findings) == 1


def test_what_the_same_process_takes_back_is_found_no_more_after_a_while(running):
    overtaken(running)
    found = running.evidence().findings
    for seconds, expected in ((COUNTED_S, found), (1, ())):
        running.flow.now += int(seconds * 1000)
        running.answer([running.flow.document() | {"findings": []}])
        assert running.evidence().findings == expected


def test_an_answer_is_believed_for_a_while_only(running):
    assert running.evidence(STALE_S).verdict is Verdict.HEALTHY
    late = running.evidence(STALE_S + 1)
    assert (late.verdict, late.cause, late.lag_s) == (Verdict.UNKNOWN, None, None)
    assert late.sentence == "No answer from the lag monitor for 11 s."
    running.book.fall_silent("The lag monitor does not answer: it is gone.")
    assert running.evidence(STALE_S).verdict is Verdict.HEALTHY
    assert running.evidence(STALE_S + 1).sentence == "The lag monitor does not answer: it is gone."


def test_before_the_first_answer_nothing_is_known():
    found = Scene().evidence()
    assert (found.verdict, found.cause, found.sentence) == (
        Verdict.UNKNOWN,
        None,
        "No answer from the lag monitor yet.",
    )


def test_what_was_found_holds_while_the_monitor_is_silent_and_when_another_process_knows_nothing_of_it(
    running,
):
    overtaken(running)
    before = running.evidence().findings
    assert running.evidence(STALE_S + 1).findings == before
    blind = running.flow.document() | {"findings": []}
    running.incarnation = 2
    for seconds in (0, 2 * COUNTED_S):
        running.flow.now += int(seconds * 1000)
        running.answer([blind])
        assert running.evidence().findings == before
    running.flow.now += int(HOLD_S * 1000)
    running.answer([blind])
    assert running.evidence().findings == ()


def test_what_another_process_finds_again_is_reported_once(running):
    overtaken(running)
    running.incarnation = 2
    running.go(10, running.flow.copy_none)
    assert [one.records for one in running.evidence().findings] == [40]


def told(**more):
    said = {
        "code": "topic_recreated",
        "verdict": "losing",
        "topic": "orders",
        "partition": 1,
        "at_ms": 0,
        "sentence": "orders-1 was made anew.",
        "records": 7,
        "first_offset": 0,
        "records_most": None,
        "last_offset": 6,
        "side": "source",
        "proved": True,
    }
    return said | more


def test_findings_of_the_monitor_are_taken_over_where_they_are_proved(running):
    now_ms = running.flow.now
    found = [
        told(at_ms=now_ms),
        told(at_ms=now_ms, proved=False),
        told(at_ms=now_ms, side="target", code="retimed"),
    ]
    running.answer([running.flow.document() | {"findings": found}])
    first, second = running.evidence().findings
    assert (first.cause, first.records, first.first_offset, first.at) == (
        Cause.TOPIC_RECREATED,
        7,
        0,
        now_ms / 1000,
    )
    assert (second.cause, second.first_offset) == (Cause.RETIMED, None)


def test_what_the_monitor_found_a_while_ago_is_reported_no_more(running):
    old = told(at_ms=running.flow.now - int(HOLD_S * 1000) - 1)
    running.answer([running.flow.document() | {"findings": [old]}])
    assert running.evidence().findings == ()


def test_a_mirror_that_went_back_is_reported_for_a_while_after_it_has_caught_up(running):
    back = running.flow.document() | {
        "verdict": "repeating",
        "cause": "duplicating",
        "sentence": "It went back.",
    }
    running.answer([back])
    went_at = running.flow.now_at
    running.go(30, running.flow.copy_all)
    (found,) = running.evidence().findings
    assert (found.verdict, found.cause, found.at, found.sentence) == (
        Verdict.REPEATING,
        Cause.DUPLICATING,
        went_at,
        "It went back.",
    )
    assert running.evidence().verdict is Verdict.HEALTHY


def test_while_a_mirror_comes_back_task_by_task_none_of_them_is_called_stuck(running):
    running.go(100, running.flow.copy_none)
    assert running.evidence().cause is Cause.MIRROR_DOWN

    def first_task():
        for topic, number in list(running.flow.ends):
            running.flow.write(1, topic, number, copied=number == 0)
        running.flow.commit("orders", 0)
        running.flow.commit(CANARY, 0)

    running.go(10, first_task)
    assert running.flow.document()["cause"] == "task_stuck"
    assert running.evidence().cause is None
    running.go(40, first_task)
    assert running.evidence().cause is Cause.TASK_STUCK


@pytest.mark.parametrize("cause", ["task_stuck", "filtered", "unexplained"])
def test_why_some_stand_is_not_reported_before_all_of_a_mirror_had_the_time_to_come_back(running, cause):
    running.go(100, running.flow.copy_none)
    now_at = running.flow.now / 1000
    document = {**running.flow.document(), "verdict": "stalled", "cause": cause, "standstill": None}
    settles_s = document["settles_s"]
    told = [
        evidence_of(document, (), now_at=now_at, down_at=down_at).cause
        for down_at in (None, now_at - settles_s - 1, now_at - settles_s)
    ]
    assert told == [Cause(cause), Cause(cause), None]


def test_topics_that_the_mirror_lacks_are_rows_too(running):
    missing = [
        {"code": "not_mirrored", "topic": "new", "sentence": "It has no offset of new.", "since_ms": 5000},
        {"code": "partition_missing", "topic": "orders", "sentence": "It has fewer.", "since_ms": 6000},
    ]
    running.answer(
        [
            running.flow.document()
            | {"verdict": "stalled", "cause": "not_mirrored", "missing": missing, "sentence": "It has none."}
        ]
    )
    (row,) = running.evidence().rows
    assert (row.part, row.topic, row.at, row.sentence) == ("lag", "new", 5.0, "It has no offset of new.")


def test_the_canarys_offsets_are_handed_on_from_a_fresh_answer_with_an_id_only(running):
    assert running.book.canary_offsets("A->B") is None
    running.flow.flow.note_ids("A", {CANARY: "abc"}, running.flow.now)
    running.go(10, running.flow.copy_all)
    assert running.book.canary_offsets("A->B") == ("abc", {0: 70, 1: 70}, 30.0)
    running.book.fall_silent("It is gone.")
    assert running.book.canary_offsets("A->B") is None


def test_every_instant_moves_with_a_wall_clock_that_is_set(running):
    overtaken(running)
    before = running.evidence()
    running.book.move_instants(-3600.0)
    after = running.evidence()
    assert after.since_at == before.since_at - 3600
    assert after.moved == tuple(at - 3600 for at in before.moved)
    assert [one.at for one in after.findings] == [one.at - 3600 for one in before.findings]


def test_a_flow_that_an_answer_leaves_out_is_known_for_a_while_only(running):
    for _ in range(2):
        running.flow.now += 6_000
        running.answer([])
    found = running.evidence()
    assert (found.verdict, found.lag_s) == (Verdict.UNKNOWN, None)
    assert found.sentence == "No answer from the lag monitor about this flow for 12 s."


def test_a_flow_whose_answer_cannot_be_read_is_known_for_a_while_only(running):
    running.flow.now += int(STALE_S * 1000) + 1
    with pytest.raises(KeyError):
        running.answer([{"flow": "A->B"}])
    running.book.fall_silent("Its answer cannot be read.")
    assert (running.evidence().verdict, running.evidence().sentence) == (
        Verdict.UNKNOWN,
        "Its answer cannot be read.",
    )


def listing(scene, name, count=MOST_LISTED):
    """Let another process of the monitor list losses, all that one answer may hold of them."""
    scene.flow.now += 10_000
    scene.incarnation += 1
    found = [told(topic=f"{name}-{number}", at_ms=scene.flow.now) for number in range(count)]
    scene.answer([scene.flow.document() | {"findings": found}])


def test_of_too_many_findings_the_newest_are_kept_with_a_step_back(running):
    for name in ("one", "two", "three"):
        listing(running, name)
    back = {"verdict": "repeating", "cause": "duplicating", "sentence": "It went back."}
    running.answer([running.flow.document() | back])
    found = running.evidence()
    losses = [one for one in found.findings if one.verdict is Verdict.LOSING]
    assert {one.topic.split("-")[0] for one in losses} == {"two", "three"}
    assert [one.sentence for one in found.findings if one not in losses] == ["It went back."]
    assert found.more_found


def test_that_an_answer_lists_all_that_it_may_is_known(running):
    listing(running, "one", MOST_LISTED - 1)
    assert not running.evidence().more_found
    listing(running, "one")
    assert running.evidence().more_found
    assert running.evidence(STALE_S + 1).more_found
    assert MOST_LISTED == mirror_rows.LISTED


def test_where_retention_overtook_one_task_the_canary_s_own_offsets_report_that_another_moves(running):
    def copy_probes():
        for topic, number in list(running.flow.ends):
            running.flow.write(1, topic, number, copied=topic == CANARY)
            if topic == CANARY:
                running.flow.commit(topic, number)

    running.go(60, copy_probes)
    running.flow.starts["orders", 0] = 100
    found = running.go(60, copy_probes).evidence()
    assert (found.verdict, found.cause, found.standing) == (Verdict.STALLED, Cause.TASK_STUCK, ("orders",))
    told = seen(offsets=replace(found, since_at=running.flow.now_at - 3600))
    worst = judge(told, now_at=running.flow.now_at)
    right_now = beside(told, worst, now_at=running.flow.now_at)
    assert (worst.verdict, worst.cause) == (Verdict.LOSING, Cause.OVERTAKEN)
    assert (right_now.verdict, right_now.cause) == (Verdict.STALLED, Cause.TASK_STUCK)


def test_other_flows_leave_what_is_known_of_those_that_go_on(running):
    overtaken(running)
    before = running.evidence()
    assert before.findings
    running.book.watch(["C->D", "A->B"])
    assert running.evidence() == before
    assert running.book.evidence("C->D", now_ns=0).verdict is Verdict.UNKNOWN
    running.book.watch(["A->B"], anew=["A->B"])
    assert running.evidence().verdict is Verdict.UNKNOWN
    assert running.evidence().findings == ()
    running.book.watch([])
    assert running.evidence() is None
