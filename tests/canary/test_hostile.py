"""What other programs write into the canary's topic is counted, costs no probe and makes no verdict."""

import pytest

from bench.hostile import flood
from fleet.verdicts.vocabulary import Verdict

COUNT = 20_000


@pytest.mark.parametrize("on_source", [True, False])
def test_strange_records_between_probes_make_no_verdict(on_source):
    flow, _ = flood(COUNT, on_source=on_source, seed=3)
    books = flow.watch.counters
    assert flow.judged().verdict is Verdict.HEALTHY
    assert books.good == books.expected == COUNT // 100 + 3
    assert books.lost == books.overdue == books.duplicated == books.looped == books.misrouted == 0
    assert books.discrepancies() == []
    assert (books.corrupted > COUNT / 4) is not on_source  # what stands on the source was changed by nobody


def test_a_probe_that_is_dropped_among_them_is_lost_all_the_same():
    flow, _ = flood(500, on_source=False, seed=4)
    flow.probe(arrives=False)
    for _ in range(4):
        flow.probe()
    assert flow.watch.counters.lost == 1
    assert flow.judged().verdict is Verdict.ALTERED  # a strange copy may be what became of it
    clean, _ = flood(0, on_source=False, seed=4)
    clean.probe(arrives=False)
    for _ in range(4):
        clean.probe()
    assert clean.judged().verdict is Verdict.LOSING
