"""Checksum results, their coverage and their age."""

from __future__ import annotations

from dashboards.panel import Board, Form, Panel, Query
from dashboards.promql import FLOW, flows, of, smallest
from fleet.series.checksum import (
    CHECKSUM_COVERAGE_RATIO,
    CHECKSUM_DIFFERING_RECORDS,
    CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS,
    CHECKSUM_RECORDS,
)

_LABELS = "flow, topic"
_NAME = "{{flow}} {{topic}}"
_LAST = f"max by ({_LABELS}) ({of(CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS, FLOW)})"
_DIFFERENT = 'verdict!="match"'
_RUNS = (
    Panel(
        title="Findings",
        description="Least number of records that differ in the last run of each topic. Empty means none.",
        form=Form.TABLE,
        queries=(Query(f"max by ({_LABELS}) ({of(CHECKSUM_DIFFERING_RECORDS, FLOW)}) > 0"),),
        columns=("records",),
        may_be_empty=True,
    ),
    Panel(
        title="Records by verdict",
        description="Records of the last run that do not match, by verdict. Duplicates and extra records of"
        " aborted transactions are normal with at-least-once delivery.",
        form=Form.TABLE,
        queries=(Query(f"max by ({_LABELS}, verdict) ({of(CHECKSUM_RECORDS, FLOW, _DIFFERENT)}) > 0"),),
        columns=("records",),
        may_be_empty=True,
    ),
    Panel(
        title="Coverage",
        description="Share of offsets that the last run verified; the twenty lowest.",
        unit="percentunit",
        maximum=1.0,
        queries=(Query(smallest(20, _LABELS, of(CHECKSUM_COVERAGE_RATIO, FLOW)), _NAME),),
    ),
    Panel(
        title="Age of the last complete run",
        description="Time since the last complete checksum of each topic; the twenty oldest.",
        unit="s",
        queries=(Query(f"topk(20, time() - {_LAST})", _NAME),),
    ),
)

CHECKSUMS = Board(
    uid="mirrorwatch-checksums",
    title="Mirrorwatch / Checksums",
    description="Checksum results, their coverage and their age.",
    variables=(flows(many=True),),
    alerts=FLOW,
    rows=(("Last runs", _RUNS),),
)
