"""Which lines a verdict leaves in the log, and how loud they are."""

from __future__ import annotations

import pytest

from fleet.verdicts.vocabulary import Also, Cause, FlowVerdict, Verdict
from mirrorwatch.service.event_log import Line, lines_of

V = Verdict
STALL = Also(V.STALLED, Cause.MIRROR_DOWN, "It stands.", 7.0)


def told(verdict, cause=None, also=None, sentence="So it is."):
    return FlowVerdict("A->B", verdict, cause, sentence, (), (), 5.0, also=also)


@pytest.mark.parametrize(
    ("verdict", "level"),
    [
        (V.LOSING, "error"),
        (V.ALTERED, "error"),
        (V.STALLED, "warning"),
        (V.REPEATING, "warning"),
        (V.LATE, "warning"),
        (V.UNKNOWN, "warning"),
    ],
)
def test_what_is_wrong_is_louder_than_what_is_well(verdict, level):
    line = Line(level, "So it is.", {"flow": "A->B", "verdict": verdict.value, "cause": "none"})
    assert lines_of(told(V.HEALTHY), told(verdict)) == (line,)
    (well,) = lines_of(told(verdict), told(V.HEALTHY))
    assert well.level == "info"


def test_a_start_without_data_is_no_warning_and_a_start_into_a_stall_is_one():
    assert [line.level for line in lines_of(None, told(V.UNKNOWN))] == ["info"]
    assert [line.level for line in lines_of(None, told(V.STALLED))] == ["warning"]


def test_another_cause_is_reported_and_other_words_are_not():
    before = told(V.STALLED, Cause.UNEXPLAINED)
    (line,) = lines_of(before, told(V.STALLED, Cause.MIRROR_DOWN))
    assert line.facts["cause"] == "mirror_down"
    assert lines_of(before, told(V.STALLED, Cause.UNEXPLAINED, sentence="It still is.")) == ()


def test_what_is_next_to_a_verdict_is_reported_when_it_begins_and_when_it_ends():
    alone, both = told(V.LOSING, Cause.FILTERED), told(V.LOSING, Cause.FILTERED, STALL)
    begun = Line("warning", "It stands.", {"flow": "A->B", "also": "stalled", "cause": "mirror_down"})
    assert lines_of(alone, both) == (begun,)
    assert lines_of(both, both) == ()
    over = Line(
        "info", "A->B is no longer stalled; its verdict is still losing.", {"flow": "A->B", "also": "none"}
    )
    assert lines_of(both, alone) == (over,)


def test_what_stood_with_a_verdict_and_becomes_it_has_not_ended():
    (line,) = lines_of(told(V.LOSING, Cause.FILTERED, STALL), told(V.STALLED, Cause.MIRROR_DOWN))
    assert line.facts["verdict"] == "stalled"


def test_both_are_reported_where_both_are_new():
    lines = lines_of(None, told(V.LOSING, Cause.FILTERED, STALL))
    assert [line.level for line in lines] == ["error", "warning"]
