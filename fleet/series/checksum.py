"""Series of checksums of whole topics: a part of the catalogue."""

from __future__ import annotations

from fleet.series.kinds import Group, Kind, Label, Series, Unit
from fleet.series.labels import FLOW_LABELS
from fleet.series.lag import TOPIC_LABEL

RECORD_VERDICTS = (
    "match",
    "lost",
    "misrouted",
    "altered",
    "reordered",
    "extra",
    "duplicated",
    "unverifiable",
)
"""What can have become of a record."""

CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS = Series(
    name="checksum_last_success_timestamp_seconds",
    kind=Kind.GAUGE,
    unit=Unit.EPOCH_SECONDS,
    group=Group.CHECKSUM,
    help="When a run last ended that knew the fate of every offset that it was to compare of the topic, "
    "whatever it found; absent until one has.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
CHECKSUM_COVERAGE_RATIO = Series(
    name="checksum_coverage_ratio",
    kind=Kind.GAUGE,
    unit=Unit.RATIO,
    group=Group.CHECKSUM,
    help="The share of offsets whose fate is known, of those that the last run was to compare of the topic; "
    "rounded down to thousandths, so that only the whole is 1.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
CHECKSUM_RECORDS = Series(
    name="checksum_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.CHECKSUM,
    help="Records of the last run that compared the topic, by what became of them. Duplicates, and extra "
    "records of aborted transactions, are expected of a mirror that delivers at least once.",
    labels=(
        *FLOW_LABELS,
        TOPIC_LABEL,
        Label("verdict", "What became of the record.", RECORD_VERDICTS),
    ),
)

CHECKSUM_CATALOGUE = tuple(bound for bound in tuple(vars().values()) if isinstance(bound, Series))
