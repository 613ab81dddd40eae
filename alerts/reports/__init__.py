"""Reports on objectives over a period. Pure.

tally       counts of one objective for a day
arithmetic  SLI, budget, burn, coverage, exhaustion and the worst stretches
report      all objectives, with the summary
wording     shares, times and sentences
markdown    the report as Markdown
document    the report as JSON
suggesting  targets that history supports
reconciling comparison with Prometheus
replay      alerts replayed with stored minutes
"""

from __future__ import annotations

from alerts.reports.arithmetic import (
    Figures,
    Stretch,
    burn_of,
    expected_by_day,
    figures_of,
    observed_of,
)
from alerts.reports.document import document
from alerts.reports.markdown import markdown
from alerts.reports.report import POLICY, ObjectiveReport, Report, causes_of, file_name
from alerts.reports.tally import BadMinute, Tally, probe_tally, value_tally

__all__ = [
    "POLICY",
    "BadMinute",
    "Figures",
    "ObjectiveReport",
    "Report",
    "Stretch",
    "Tally",
    "burn_of",
    "causes_of",
    "document",
    "expected_by_day",
    "figures_of",
    "file_name",
    "markdown",
    "observed_of",
    "probe_tally",
    "value_tally",
]
