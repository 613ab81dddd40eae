"""What the checksum found, how much it covered, and how old it is."""

from __future__ import annotations

from dashboards.panel import Board, Form, Panel, Query
from dashboards.promql import FLOW, flows, of
from fleet.series.checksum import (
    CHECKSUM_COVERAGE_RATIO,
    CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS,
    CHECKSUM_RECORDS,
)

_NAME = "{{flow}} {{topic}}"
_DIFFERENT = 'verdict!="match"'
_RUNS = (
    Panel(
        title="Findings",
        description="Records of the last run that are not a match, by what became of them. Empty is good.",
        form=Form.TABLE,
        width=24,
        queries=(Query(f"{of(CHECKSUM_RECORDS, FLOW, _DIFFERENT)} > 0"),),
        columns=("records",),
        may_be_empty=True,
    ),
    Panel(
        title="Coverage",
        description="The share of offsets whose fate the last run knows; the twenty topics with least.",
        unit="percentunit",
        maximum=1.0,
        queries=(Query(f"bottomk(20, {of(CHECKSUM_COVERAGE_RATIO, FLOW)})", _NAME),),
    ),
    Panel(
        title="Age of the last complete run",
        description="How long ago each topic was last compared completely; the twenty oldest.",
        unit="s",
        queries=(Query(f"topk(20, time() - {of(CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS, FLOW)})", _NAME),),
    ),
)

CHECKSUMS = Board(
    uid="mirrorwatch-checksums",
    title="Mirrorwatch / Checksums",
    description="What the checksum found, how much it covered, and how old it is.",
    variables=(flows(many=True),),
    alerts=FLOW,
    rows=(("Last runs", _RUNS),),
)
