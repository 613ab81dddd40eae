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
"""The verdicts on a record."""

CHECKSUM_LAST_SUCCESS_TIMESTAMP_SECONDS = Series(
    name="checksum_last_success_timestamp_seconds",
    kind=Kind.GAUGE,
    unit=Unit.EPOCH_SECONDS,
    group=Group.CHECKSUM,
    help="Time of the last complete checksum of the topic.",
    notes="A run is complete if it knows the fate of every offset in its range, whatever it found. "
    "Absent until the first.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
CHECKSUM_COVERAGE_RATIO = Series(
    name="checksum_coverage_ratio",
    kind=Kind.GAUGE,
    unit=Unit.RATIO,
    group=Group.CHECKSUM,
    help="Share of the offsets in its range that the last run verified.",
    notes="Rounded down to thousandths, so that only a complete run is 1.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)
CHECKSUM_RECORDS = Series(
    name="checksum_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.CHECKSUM,
    help="Records of the topic in the last run, by verdict.",
    notes="Duplicates, and extra records of aborted transactions, are normal with at-least-once delivery.",
    labels=(
        *FLOW_LABELS,
        TOPIC_LABEL,
        Label("verdict", "The verdict on the record.", RECORD_VERDICTS),
    ),
)
CHECKSUM_DIFFERING_RECORDS = Series(
    name="checksum_differing_records",
    kind=Kind.GAUGE,
    unit=Unit.RECORDS,
    group=Group.CHECKSUM,
    help="Least number of records that make the exit status of the last run 1.",
    notes="It also counts offsets that differ and that the run did not resolve to records. It counts neither "
    "duplicates nor, with at-least-once delivery, extra records of aborted transactions.",
    labels=(*FLOW_LABELS, TOPIC_LABEL),
)

CHECKSUM_CATALOGUE = tuple(bound for bound in tuple(vars().values()) if isinstance(bound, Series))
