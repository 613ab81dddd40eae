"""What flows delivered over a period, against their objectives. Pure: data in, report out.

tally       what one objective counts of a day: good and valid, and each minute that had something bad
arithmetic  SLI, budget, burn, coverage, exhaustion and the worst stretches, from tallies
report      the report of all objectives, with what is to be said first
wording     shares, times and sentences
markdown    the report as Markdown
document    the report as JSON
suggesting  targets that history supports
reconciling the same SLI asked of Prometheus, and how it differs
replay      what the alerts would have done with the same minutes
"""

from __future__ import annotations

from alerts.reports.arithmetic import Figures, Stretch, burn_of, figures_of
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
    "figures_of",
    "file_name",
    "markdown",
    "probe_tally",
    "value_tally",
]
