"""What the service gets in addition to the verdict: what is stalled, what moves, and the canary's topic."""

from __future__ import annotations

from fleet.verdicts.vocabulary import Cause, Verdict
from lagmon.mirrors.progress.movement import movement_document
from tests.lagmon.mirror_flows import Mirrored
from tests.lagmon.mirror_flows import told as judged

CANARY = "canary"


def told(mirrored, topic=CANARY):
    return movement_document(mirrored.flow, mirrored.snapshot(), canary_topic=topic)


def running(topics=None, **more):
    """A mirror that has copied for a minute; `each` lets it copy on."""
    mirrored = Mirrored(topics or {"orders": 2, CANARY: 2}, **more)

    def each():
        for topic, number in list(mirrored.ends):
            mirrored.write(1, topic, number)
            mirrored.commit(topic, number)

    mirrored.poll()
    return mirrored.go(60, each=each), each


def test_a_mirror_that_moves():
    mirrored, _ = running()
    found = told(mirrored)
    assert found["standing"] == []
    assert found["moved_ms"] == mirrored.now
    assert found["settles_s"] == 30.0
    assert found["canary"] == {"source_topic_id": None, "next_offsets": [[0, 60], [1, 60]]}


def test_stalled_topics_the_canarys_first():
    mirrored, _ = running({"orders": 2, CANARY: 2, "beta": 1})
    stood = mirrored.now

    def each():
        for topic, number in list(mirrored.ends):
            mirrored.write(1, topic, number, copied=topic == "beta")
        mirrored.commit("beta")

    mirrored.go(100, each=each)
    found = told(mirrored)
    assert found["standing"] == [CANARY, "orders"]
    assert found["moved_ms"] == mirrored.now
    assert told(mirrored, "beta")["standing"] == [CANARY, "orders"]
    assert told(mirrored, "beta")["moved_ms"] == stood


def test_the_canarys_own_topic_is_no_sign_of_others():
    mirrored, _ = running({CANARY: 1})
    assert told(mirrored)["moved_ms"] is None
    assert told(mirrored, "")["moved_ms"] == mirrored.now
    assert told(mirrored, "")["canary"] is None


def test_the_id_that_the_canarys_topic_has_comes_with_its_offsets():
    mirrored, _ = running()
    mirrored.flow.note_ids("A", {CANARY: "abc", "orders": "def"}, mirrored.now)
    assert told(mirrored)["canary"]["source_topic_id"] == "abc"


def test_offsets_that_are_no_words_of_the_mirror_itself_are_not_handed_on():
    mirrored, _ = running(lag_from="equal-offsets")
    assert told(mirrored)["canary"] is None


def test_an_offset_past_the_log_s_end_is_no_proof():
    mirrored, _ = running()
    mirrored.commit(CANARY, 0, to=10**15)
    mirrored.commit(CANARY, 1, to=61)  # newer than the last look, as it may be
    assert told(mirrored)["canary"]["next_offsets"] == []
    mirrored.write(1, CANARY, 1)
    mirrored.go(10)
    assert told(mirrored)["canary"]["next_offsets"] == [[1, 61]]


def test_what_retention_overtook_is_stalled():
    mirrored, _ = running()

    def each():
        for topic, number in list(mirrored.ends):
            mirrored.write(1, topic, number, copied=topic == CANARY)
        mirrored.commit(CANARY, 0)

    mirrored.go(60, each=each)
    mirrored.starts["orders", 0] = 100
    found = told(mirrored.go(60, each=each))
    assert found["standing"] == ["orders"]
    assert found["own_moved_ms"] == mirrored.now > found["moved_ms"]


def test_what_is_stalled_before_records_that_were_deleted_is_stalled_though_no_loss_is_proved():
    """The canary tells more of its own topic only where it is told that this one stands."""
    mirrored, _ = running({"orders": 2, CANARY: 1})

    def each():
        for topic, number in list(mirrored.ends):
            mirrored.write(1, topic, number, copied=topic != CANARY)
        mirrored.commit("orders", 0)
        mirrored.commit("orders", 1)

    mirrored.go(60, each=each)
    mirrored.starts[CANARY, 0] = 65
    mirrored.go(60, each=each)
    assert judged(mirrored) == (Verdict.STALLED, Cause.TASK_STUCK)
    assert not [one for one in mirrored.snapshot().findings if one.proved]
    assert told(mirrored)["standing"] == [CANARY]
