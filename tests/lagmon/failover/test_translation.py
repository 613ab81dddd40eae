"""Translated offsets against a mirror that is played through."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lagmon.failover.places import runs_of
from lagmon.failover.readiness import Checkpoint
from lagmon.failover.translation import Basis, translate_offset
from tests.lagmon.failover.mirror import STEPS, played
from tests.lagmon.failover.test_readiness import EQUAL, FACTS


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        pytest.param({}, (150, Basis.EXACT, 0), id="between two pairs"),
        pytest.param({"committed": 205}, (201, Basis.SAFE, 39), id="after the last pair"),
        pytest.param({"in_transactions": True}, (101, Basis.SAFE, 99), id="transactions"),
        pytest.param(
            {"committed": 205, "target_start": 230}, (230, Basis.SAFE, 10), id="retention on the target"
        ),
        pytest.param({"target_start": 230}, (230, Basis.EARLIEST, 0), id="all of it was deleted"),
        pytest.param({"runs": []}, (101, Basis.CHECKPOINT, None), id="no pairs"),
        pytest.param({"runs": [FACTS.runs[0][2:]]}, (101, Basis.CHECKPOINT, None), id="before all pairs"),
        pytest.param(
            {"runs": [FACTS.runs[0][2:]], "target_start": 120}, None, id="a checkpoint that was deleted"
        ),
        pytest.param({"runs": [], "checkpoint": None}, None, id="nothing"),
        pytest.param({"committed": None}, (101, Basis.CHECKPOINT, None), id="source not known"),
        pytest.param({"target_end": None}, None, id="not replicated"),
        pytest.param(
            {"runs": [], "committed": 149}, None, id="set back since the checkpoint, which is after it"
        ),
        pytest.param({"replicated": 261}, None, id="the source log is shorter than what was replicated"),
        pytest.param({"target_end": 200}, None, id="the target log is shorter than what was replicated"),
        pytest.param(
            {"committed": None, "committed_least": 150}, (150, Basis.SAFE, 90), id="at least so far"
        ),
        pytest.param({**EQUAL, "committed": 300}, (240, Basis.SAFE, 60), id="further than the mirror"),
        pytest.param({**EQUAL, "committed": 240}, (240, Basis.EXACT, 0), id="as far as the mirror"),
        pytest.param({"committed": 0, "checkpoint": None}, (0, Basis.EXACT, 0), id="the first record"),
    ],
)
def test_rule_table(changes, found):
    translated = translate_offset(replace(FACTS, **changes))
    assert (translated and (translated.offset, translated.basis, translated.again_most)) == found


@given(STEPS, st.data())
def test_nothing_is_missed_and_no_more_is_read_again_than_said(steps, data):
    mirror, end = played(steps)
    committed = data.draw(st.integers(0, end))
    facts = replace(
        FACTS,
        committed=committed,
        source_end=end,
        replicated=mirror.next_offset,
        runs=runs_of(mirror.pairs),
        checkpoint=None,
        target_start=0,
        target_end=len(mirror.log),
    )
    found = translate_offset(facts)
    if found is None:
        return
    assert mirror.skipped(found.offset, committed) == 0
    assert mirror.read_again(found.offset, committed) <= found.again_most


def test_a_checkpoint_beyond_the_target_is_no_offset():
    assert translate_offset(replace(FACTS, runs=[], checkpoint=Checkpoint(1, 999, 0))) is None
