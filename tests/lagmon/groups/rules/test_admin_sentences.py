"""What is told of groups whose offsets the Admin API tells."""

from __future__ import annotations

import numpy as np

from lagmon.groups.rules.admin_sentences import with_members
from lagmon.groups.rules.policy import Policy
from lagmon.groups.rules.words import Reason
from lagmon.groups.sweep import sweep
from tests.lagmon.windows import NOW, arrays_of_positions, arrays_of_windows, position, window


def told(shape, where):
    """Return reason and sentence of one row."""
    rows = sweep(arrays_of_windows([shape]), arrays_of_positions([where]), now_ms=NOW, policy=Policy())
    asked = with_members(rows, np.array([where.members]))
    return Reason(int(asked.reason[0])), asked.sentence(0)


def test_the_offset_that_was_past_the_end_is_the_one_that_was_known_before_the_end_was_read():
    where = position(1200, seen_ago=0, head_ago=5, known_before=5000)
    reason, sentence = told(window((5000, 20, 0), (5100, 0, 0)), where)
    assert reason is Reason.BEYOND_END
    assert sentence == (
        "Lag unknown: offset 5000 of the group is beyond the log end offset 1200, read later. The log was "
        "truncated or the topic was re-created."
    )
    where = position(1200, seen_ago=5, head_ago=0)
    assert "offset 5100 of the group is beyond" in told(window((5000, 20, 0), (5100, 5, 0)), where)[1]
