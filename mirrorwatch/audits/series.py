"""Checksum series of `/metrics`, rendered once after each run.

Tens of thousands of series that change once a night are not rendered for every scrape.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from checksum.compare.findings import RecordVerdict
from fleet.series import checksum as series
from lagmon.exposition.once import written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lagmon.exposition.format import Form
    from mirrorwatch.audits.flow_audit import FlowAudit, TopicAudit

    # Flow, source and target cluster, with the flow's topics.
    FlowTopics = tuple[tuple[str, str, str], Mapping[str, TopicAudit]]

MOST_SERIES = 100_000  # of a family


def audited_at(audit: FlowAudit | None) -> float | None:
    """Return the time (epoch s) of the oldest last complete checksum of a topic; None without topics.

    A topic that was never complete counts from the first known run that was to compare it, as alerts do: one
    that is new is not overdue at once.
    """
    if audit is None:
        return None
    oldest_first = audit.runs[::-1]
    return min(
        (
            next(run.topics[name].at for run in oldest_first if name in run.topics)
            if one.verified_at is None
            else one.verified_at
            for name, one in audit.topics.items()
        ),
        default=None,
    )


class ChecksumSeries:
    """The series of some flows: immutable, except that the rendered text is cached."""

    def __init__(self, flows: Sequence[FlowTopics], *, max_series: int = MOST_SERIES) -> None:
        """Create the series of these flows, without topics beyond the limit."""
        found = [
            ((*labels, name), topics[name])
            for labels, topics in sorted(flows, key=lambda one: one[0])
            for name in sorted(topics)
        ]
        most = max_series // len(RecordVerdict)
        self._told, self.left_out = found[:most], max(0, len(found) - most)
        self._texts: dict[Form, bytes] = {}

    def text(self, form: Form) -> bytes:
        """Return whole lines of the exposition format."""
        if form not in self._texts:
            self._texts[form] = self._written(form) if self._told else b""
        return self._texts[form]

    def _written(self, form: Form) -> bytes:
        # A ratio is written in thousandths, and rounded down so that only a complete one is 1.
        coverage = [(labels, math.floor(one.coverage * 1000) / 1000) for labels, one in self._told]
        success = [(labels, one.verified_at) for labels, one in self._told if one.verified_at is not None]
        records = [
            ((*labels, verdict.value), one.records.get(verdict, 0))
            for labels, one in self._told
            for verdict in RecordVerdict
        ]
        differing = [(labels, one.differing) for labels, one in self._told]
        return b"".join(
            (
                written(series.CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS, success, form),
                written(series.CHECKSUM_COVERAGE_RATIO, coverage, form),
                written(series.CHECKSUM_RECORDS, records, form),
                written(series.CHECKSUM_DIFFERING_RECORDS, differing, form),
            )
        )
